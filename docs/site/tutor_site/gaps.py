"""The page of the gaps."""

from __future__ import annotations

from html import escape

from minisgl_tutor.gaps import GAPS
from minisgl_tutor.language import Sentence, Tongue

from .pages import Page
from .traces import Traces
from .words import WORDS


def gaps_page(traces: Traces, page: Page, claims: str) -> str:
    """A section for each. ``claims`` is the address of their table, from the folder of all languages."""
    words, say = WORDS[page.language], Tongue(page.language)
    lines = [f"# {words['gaps']}", "", words["gaps intro"], ""]
    for gap in GAPS:
        trace = traces.of_gap(gap.name)
        address = escape(page.to_root + trace.address(page.language, (gap.name,)))
        seen = f'<a href="{address}">{trace.title}</a>, `minisgl-tutor trace --gap {gap.name}`'
        ids = ", ".join(f'<a href="{page.to_root}{claims}#{claim}">{claim}</a>' for claim in gap.claims)
        lines += [f"## {gap.name}", "", say(Sentence(str(gap.summary))), ""]
        lines += [f"{paragraph}\n" for paragraph in say(Sentence(str(gap.explanation))).split("\n")]
        lines += ["| | |", "|---|---|", f"| {words['see']} | {seen} |"]
        lines += [f"| {words['found by']} | {words[f'found by {gap.shown_by}']} |"]
        lines += [f"| {words['claims']} | {ids} |", f"| {words['code']} | `{gap.code}` |", ""]
    return "\n".join(lines)
