"""Steps as JSON Lines: a line that opens the scene, one for each step, one that closes it. In English.

The same play gives the same bytes on every machine.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from ..language import Sentence
from ..recording import Header
from ..trace.play import Play
from ..trace.steps import Step, encoded


def write_opening(out: BinaryIO, title: Sentence, gaps: tuple[str, ...], header: Header) -> None:
    _write(out, {"scene": title, "gaps": list(gaps), "header": msgspec.to_builtins(header)})


def write_step(out: BinaryIO, step: Step) -> None:
    _write(out, step)


def write_closing(out: BinaryIO, play: Play) -> None:
    findings = [
        {
            "uid": finding.uid,
            "component": finding.component,
            "gap": finding.gap,
            "claims": list(finding.claims),
            "note": finding.note,
        }
        for finding in play.findings
    ]
    _write(out, {"findings": findings, "steps": play.count})


def _write(out: BinaryIO, line: object) -> None:
    out.write(encoded(line) + b"\n")
