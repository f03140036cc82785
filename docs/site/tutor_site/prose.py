"""Changes of Markdown that leave its code alone."""

from __future__ import annotations

import re
from collections.abc import Callable

FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!--.*?-->\n|<!--.*?-->", re.MULTILINE | re.DOTALL)
OTHER_LANGUAGE = re.compile(r"^\*\*\[(?:中文|中文说明|English)\]\([^)]+\)\*\*(?: · )?", re.MULTILINE)
PICTURE = re.compile(
    r'<picture>\s*<source\s+media="\(prefers-color-scheme: dark\)"\s+srcset="(?P<dark>[^"]+)"\s*/?>'
    r'\s*<img\s+src="(?P<light>[^"]+)"\s+alt="(?P<alt>[^"]*)"[^>]*>\s*</picture>'
)
SPAN = r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
# The site itself says behind a link that it leads to another language.
LINK = r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)(?:（英文）)?"
LINK_OR_CODE = re.compile(f"{LINK}|{SPAN}", re.DOTALL)
WIDE = "\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef‘’“”—…"
ROW = re.compile(r"^\|.*", re.MULTILINE)
EXERCISE = re.compile(r"(?<=\| )exercise-\w+(?= \|)")
CODE = re.compile(SPAN, re.DOTALL)
LONGEST_NAME = 27
"""In characters. A longer one may be broken in a table."""

FOLDED_LINE = re.compile(rf"(?<=[{WIDE}])\n(?=[{WIDE}])")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """``text`` with all but its fenced blocks changed."""
    return "".join(part if part.lstrip().startswith("```") else change(part) for part in FENCED.split(text))


def without_comments(prose: str) -> str:
    """Neither ids and markers, nor the link to the other language, which every page of the site has."""
    return OTHER_LANGUAGE.sub("", COMMENT.sub("", prose))


def with_pictures(prose: str) -> str:
    """Each pair of pictures as two images, of which the theme shows the one that fits."""

    def images(found: re.Match[str]) -> str:
        alt = re.sub(r"([\[\]\\])", r"\\\1", found["alt"])
        return " ".join(f"![{alt}]({found[kind]}){{.only-{kind}}}" for kind in ("light", "dark"))

    return PICTURE.sub(images, prose)


def unfolded_lines(prose: str) -> str:
    """Without the line ends within Chinese, which a browser would show as spaces."""
    return FOLDED_LINE.sub("", prose)


def with_long_names(prose: str) -> str:
    """With long code in tables marked, as it may have to be broken there."""

    def marked(code: re.Match[str]) -> str:
        return code[0] + ("{.long}" if len(code["code"]) > LONGEST_NAME else "")

    return ROW.sub(lambda row: CODE.sub(marked, row[0]), prose)


def with_exercises(prose: str) -> str:
    """With the cells of tables that name an exercise as code, which is what is linked."""
    return ROW.sub(lambda row: EXERCISE.sub(r"`\g<0>`", row[0]), prose)


def with_links(prose: str, link: Callable[[str, str], str], code: Callable[[str], str | None]) -> str:
    """Each link as ``link(text, target)``, each piece of code as ``code(content)``, or as it is for None."""

    def changed(found: re.Match[str]) -> str:
        if found["code"] is not None:
            return code(found["code"]) or found[0]
        return found[0] if found["image"] else link(found["text"], found["target"])

    return LINK_OR_CODE.sub(changed, prose)
