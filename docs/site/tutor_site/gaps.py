"""The page of the gaps."""

from __future__ import annotations

from html import escape

from minisgl_tutor.cli.gaps import FOUND_BY
from minisgl_tutor.gaps import GAPS
from minisgl_tutor.language import Tongue

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
        seen = f'<a href="{address}">{say(trace.title)}</a> · `minisgl-tutor trace --gap {gap.name}`'
        ids = ", ".join(f'<a href="{page.to_root}{claims}#{claim}">{claim}</a>' for claim in gap.claims)
        lines += [f"## {gap.name}", "", say(gap.summary), ""]
        lines += [f"{paragraph}\n" for paragraph in say(gap.explanation).split("\n")]
        facts = {
            "see": seen,
            "found by": say(FOUND_BY[gap.shown_by]),
            "claims": ids,
            "code": f"`minisgl_tutor/{gap.code}`",
        }
        lines += [f"- **{words[what]}** {fact}" for what, fact in facts.items()] + [""]
    return "\n".join(lines)
