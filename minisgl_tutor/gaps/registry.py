"""The named gaps, and how a class gets them.

A gap restores the reference's shape of some methods, as a mixin over the correct
class. Mixins compose: each differs from the correct class only in its own gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Gap:
    """What the reference leaves open, or does not do.

    ``claims`` are the ids of the claims that state it; ``mixins`` name, by the
    class they go over, the mixin classes in ``minisgl_tutor.gaps``.
    """

    name: str
    claims: tuple[str, ...]
    summary: str
    mixins: dict[str, str]

    @property
    def code(self) -> str:
        """The file that restores it, below the package."""
        return f"gaps/{self.name.replace('-', '_')}.py"


GAPS: tuple[Gap, ...] = (
    Gap(
        "early-break",
        ("C5.158", "C5.122", "C5.157"),
        "the cleanup stands after the loop of wait_for_ack, and its callers leave the loop before it ends",
        {"FrontendManager": "early_break:EarlyBreak"},
    ),
    Gap(
        "blind-collect",
        ("C5.159", "C5.160"),
        "a request without streaming never looks whether its client is still there",
        {"FrontendManager": "blind_collect:BlindCollect"},
    ),
    Gap(
        "late-abort",
        ("C5.134", "C5.138", "C5.156"),
        "a cancel waits a fixed 0.1 s in a background task before anything is told",
        {"FrontendManager": "late_abort:LateAbort"},
    ),
    Gap(
        "forgotten-decode",
        ("C5.161", "C5.162"),
        "an abort never reaches the detokenizer, which keeps the decode state",
        {"Scheduler": "forgotten_decode:ForgottenDecode"},
    ),
    Gap(
        "silent-drop",
        ("C5.163", "C5.164"),
        "an over-long prompt is dropped with a log line, and its client waits for ever",
        {"Scheduler": "silent_drop:SilentDrop"},
    ),
    Gap(
        "endless-backlog",
        ("C5.168", "C5.170"),
        "the replies that a slow reader leaves unread pile up without a bound",
        {"FrontendManager": "endless_backlog:EndlessBacklog"},
    ),
    Gap(
        "reference-wire",
        ("C5.11", "C5.35", "C5.43", "C5.45", "C5.46", "C5.89", "C5.90", "C5.95", "C2.39"),
        "ids, token counts, reasons and headers are the reference's; what a request asks for is ignored",
        {"FrontendManager": "reference_wire:ReferenceWire"},
    ),
)

NAMES: tuple[str, ...] = tuple(gap.name for gap in GAPS)

REFERENCE: tuple[str, ...] = tuple(name for name in NAMES if name != "reference-wire")
"""The cleanup gaps that the chapters name: all that the reference has and this server repairs."""


class UnknownGap(ValueError):
    """A gap name that is not known."""


def resolve(names: Iterable[str]) -> tuple[str, ...]:
    """Gap names in the registry's order; ``reference`` stands for all cleanup gaps that the chapters name.

    Raises:
        UnknownGap: a name is not known.
    """
    wanted: set[str] = set()
    for name in names:
        if name == "reference":
            wanted.update(REFERENCE)
        elif name in NAMES:
            wanted.add(name)
        else:
            known = ", ".join(("reference", *NAMES))
            raise UnknownGap(f"there is no gap named {name!r}; the gaps are: {known}")
    return tuple(name for name in NAMES if name in wanted)


def with_gaps(cls: T, names: Iterable[str]) -> T:
    """``cls`` with the mixins of the named gaps over it; ``cls`` itself when none concerns it."""
    chosen = resolve(names)
    mixins = []
    for gap in GAPS:
        if gap.name in chosen and cls.__name__ in gap.mixins:
            module, _, name = gap.mixins[cls.__name__].partition(":")
            mixins.append(getattr(import_module(f"{__package__}.{module}"), name))
    if not mixins:
        return cls
    return type(cls)(cls.__name__, (*mixins, cls), {})
