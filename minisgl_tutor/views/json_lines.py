"""Steps as JSON Lines: a line that opens the scene, one for each step, one that closes it."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from ..trace.play import Play


def write_play(out: BinaryIO, title: str, play: Play, from_step: int = 1) -> None:
    """The same play gives the same bytes on every machine."""
    opening = {"scene": title, "gaps": list(play.gaps), "header": msgspec.to_builtins(play.header)}
    closing = {
        "findings": [
            {
                "uid": finding.uid,
                "component": finding.component,
                "gap": finding.gap,
                "claims": list(finding.claims),
                "note": finding.note,
            }
            for finding in play.findings
        ],
        "steps": len(play.steps),
    }
    for line in (opening, *play.steps[from_step - 1 :], closing):
        out.write(msgspec.json.encode(line) + b"\n")
