"""What is wrong with a built site: dead links, and whatever a browser would fetch from elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

FETCHED = {
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("iframe", "data-src"),
    ("object", "data"),
    ("embed", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("image", "href"),
}
"""Elements and attributes by which a browser loads something without being asked."""

IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
TRACES = "traces"
DATA = re.compile(r'<script type="application/json" id="data">(.+?)</script>', re.DOTALL)


@dataclass
class Seen(HTMLParser):
    """What a page refers to, and what in it can be referred to."""

    fetched: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in FETCHED:
                self.fetched.append(value.split()[0] if name == "srcset" else value)
            elif tag == "a" and name == "href":
                self.links.append(value)
            elif name == "style":
                self.fetched += in_style(value)

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.fetched += in_style(data)


def in_style(text: str) -> list[str]:
    return [found[1] or found[2] for found in IN_STYLE.finditer(text)]


@cache
def seen(file: Path) -> Seen:
    page = Seen()
    page.feed(file.read_text("utf-8"))
    return page


def faults(site: Path) -> list[str]:
    """A sentence for each fault; nothing, if the site is whole and needs nobody else."""
    found: list[str] = []
    for file in sorted(site.rglob("*.html")):
        here = file.relative_to(site)
        page = seen(file)
        found += [f"{here} loads {each} from elsewhere" for each in page.fetched if _outside(each)]
        for each in [*page.fetched, *page.links]:
            if not _outside(each) and (why := _dead(file, each)):
                found.append(f"{here}: {each}: {why}")
    for file in sorted(site.rglob("*.css")):
        outside = filter(_outside, in_style(file.read_text("utf-8")))
        found += [f"{file.relative_to(site)} loads {each} from elsewhere" for each in outside]
    return found


def _outside(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme not in ("", "data")


def _dead(file: Path, address: str) -> str:
    """Why it leads nowhere."""
    parts = urlsplit(address)
    if parts.scheme:
        return ""
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        return "there is no such file"
    if not parts.fragment or target.suffix != ".html":
        return ""
    if target.parent.name == TRACES:
        return _dead_step(target, parse_qs(parts.fragment))
    return "" if unquote(parts.fragment) in seen(target).anchors else "there is no such place on the page"


def _dead_step(trace: Path, place: dict[str, list[str]]) -> str:
    totals = _totals(trace)
    scene, step = place["scene"][0], int(place["step"][0])
    if scene not in totals:
        return "there is no such scene"
    return "" if step <= totals[scene] else f"the scene has {totals[scene]} steps"


@cache
def _totals(trace: Path) -> dict[str, int]:
    """How many steps each scene of a page has."""
    found = DATA.search(trace.read_text("utf-8"))
    assert found, f"{trace} is no page of a trace"
    return {scene["name"]: scene["total"] for scene in json.loads(found[1])["scenes"]}
