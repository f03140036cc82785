"""The named gaps, and how a class gets them.

A gap restores the reference's shape of some methods, as a mixin over the correct
class. Mixins compose: each differs from the correct class only in its own gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, TypeVar

from ..language import Sentence, joined

T = TypeVar("T", bound=type)


Source = Literal["chapter", "reference", "this project"]


@dataclass(frozen=True)
class Gap:
    """A fault that this server does not have.

    ``claims`` are the ids of the claims that state it or that it breaks; ``mixins``
    name, by the class they go over, the mixin classes in ``minisgl_tutor.gaps``.
    ``source`` says who has it: ``chapter`` names it, or runs of the ``reference``
    showed it, or it is a mistake that lies near. ``shown_by`` is what finds it:
    ``auditor`` from outside, the scheduler's ``books`` (``check_integrity``), or the
    ``answer`` held against its tokens, or what is sent on the ``wire`` against that.
    ``scene`` is the scene of chapter 5 that shows it; without one it has its own.
    """

    name: str
    claims: tuple[str, ...]
    summary: Sentence
    mixins: dict[str, str]
    source: Source = "chapter"
    shown_by: Literal["auditor", "books", "answer", "wire"] = "auditor"
    scene: str = ""

    @property
    def code(self) -> str:
        """The file that restores it, below the package."""
        return f"gaps/{self.name.replace('-', '_')}.py"

    @property
    def explanation(self) -> Sentence:
        """What the file that restores it says of it, a paragraph a line."""
        module = import_module(f"{__package__}.{self.name.replace('-', '_')}")
        return joined("\n", map(Sentence, paragraphs(module.__doc__ or "")))


GAPS: tuple[Gap, ...] = (
    Gap(
        "early-break",
        ("C5.158", "C5.122", "C5.157"),
        Sentence(
            "the cleanup stands after the loop of wait_for_ack, and its callers leave the loop before it ends"
        ),
        {"FrontendManager": "early_break:EarlyBreak"},
        scene="normal-end",
    ),
    Gap(
        "blind-collect",
        ("C5.159", "C5.160"),
        Sentence("a request without streaming never looks whether its client is still there"),
        {"FrontendManager": "blind_collect:BlindCollect"},
        scene="non-streaming-client-leaves",
    ),
    Gap(
        "late-abort",
        ("C5.134", "C5.138", "C5.156"),
        Sentence("a cancel waits a fixed 0.1 s in a background task before anything is told"),
        {"FrontendManager": "late_abort:LateAbort"},
        scene="client-leaves",
    ),
    Gap(
        "forgotten-decode",
        ("C5.161", "C5.162"),
        Sentence("an abort never reaches the detokenizer, which keeps the decode state"),
        {"Scheduler": "forgotten_decode:ForgottenDecode"},
        scene="client-leaves",
    ),
    Gap(
        "silent-drop",
        ("C5.163", "C5.164"),
        Sentence("an over-long prompt is dropped with a log line, and its client waits for ever"),
        {"Scheduler": "silent_drop:SilentDrop"},
        scene="over-long-prompt",
    ),
    Gap(
        "endless-backlog",
        ("C5.168", "C5.170"),
        Sentence("the replies that a slow reader leaves unread pile up without a bound"),
        {"FrontendManager": "endless_backlog:EndlessBacklog"},
        scene="slow-reader",
    ),
    Gap(
        "reference-wire",
        ("C5.11", "C5.35", "C5.43", "C5.45", "C5.46", "C5.89", "C5.90", "C5.95", "C2.39"),
        Sentence(
            "ids, token counts, reasons and headers are the reference's; what a request asks for is ignored"
        ),
        {"FrontendManager": "reference_wire:ReferenceWire"},
        shown_by="wire",
        scene="normal-end",
    ),
    Gap(
        "double-free",
        ("C5.117", "C5.145"),
        Sentence(
            "an abort while the last token is in flight gives the slot back twice, and two requests share it"
        ),
        {"Scheduler": "double_free:DoubleFree"},
        "reference",
        "books",
    ),
    Gap(
        "freed-and-cached",
        ("C5.117", "C5.149"),
        Sentence(
            "an abort while the last of a prompt is computed leaves its pages both free and in the prefix "
            "cache"
        ),
        {"Scheduler": "freed_and_cached:FreedAndCached"},
        "reference",
        "books",
    ),
    Gap(
        "dangling-page",
        ("C2.83",),
        Sentence(
            "the prefix cache frees pages that it has in duplicate, and a page table still points to them"
        ),
        {"Scheduler": "dangling_page:DanglingPage"},
        "this project",
        "books",
    ),
    Gap(
        "early-slot",
        ("C5.149",),
        Sentence("a slot is given to another request while the step in flight still writes to it"),
        {"Scheduler": "early_slot:EarlySlot"},
        "reference",
        "books",
    ),
    Gap(
        "overtaking-abort",
        ("C5.146",),
        Sentence("with several tokenizers an abort overtakes its request, which then runs for nobody"),
        {"FrontendManager": "overtaking_abort:OvertakingAbort"},
        "reference",
    ),
    Gap(
        "early-length",
        ("C2.70",),
        Sentence("with overlap can_decode is read after the next launch, and answers end a token too early"),
        {"Scheduler": "early_length:EarlyLength"},
        "reference",
        "answer",
    ),
    Gap(
        "unordered-running",
        ("C5.147",),
        Sentence("the running requests have no order, so batches differ from run to run"),
        {"Scheduler": "unordered_running:UnorderedRunning"},
        "reference",
        "books",
    ),
    Gap(
        "fragile-worker",
        ("C2.19",),
        Sentence("one request that cannot be tokenized ends the tokenizer for all, and nobody notices"),
        {
            "TokenizeManager": "fragile_worker:FragileTokenizeManager",
            "TokenizeWorker": "fragile_worker:FragileWorker",
        },
        "reference",
    ),
    Gap(
        "lost-tail",
        ("C2.57",),
        Sentence("an answer that ends within a character loses the end of its text"),
        {"DetokenizeManager": "lost_tail:LostTail"},
        "reference",
        "answer",
    ),
    Gap(
        "token-by-token",
        ("C2.55", "C2.59"),
        Sentence("every token is decoded by itself, and characters of several tokens are lost"),
        {"DetokenizeManager": "token_by_token:TokenByToken"},
        "this project",
        "answer",
    ),
    Gap(
        "leaked-stop",
        ("C5.45",),
        Sentence("the beginning of a stop string is shown before it is known for one"),
        {"DetokenizeManager": "leaked_stop:LeakedStop"},
        "this project",
        "answer",
    ),
    Gap(
        "forget-first",
        ("C5.137", "C5.138"),
        Sentence("the state of a request is deleted before its abort is sent, so none is sent"),
        {"FrontendManager": "forget_first:ForgetFirst"},
        "this project",
    ),
)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring, a line each."""
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


NAMES: tuple[str, ...] = tuple(gap.name for gap in GAPS)

REFERENCE: tuple[str, ...] = tuple(
    gap.name for gap in GAPS if gap.source == "chapter" and gap.shown_by != "wire"
)
"""The cleanup gaps that the chapters name; their scenes were recorded with these on."""

OBSERVED: tuple[str, ...] = tuple(gap.name for gap in GAPS if gap.source != "this project")
"""All that the reference has, by its chapters or by what runs of it showed."""

SETS: dict[str, tuple[str, ...]] = {"reference": REFERENCE, "observed": OBSERVED}


def claims_of(name: str) -> tuple[str, ...]:
    """The claims of the gap of that name; none if there is no such gap."""
    return next((gap.claims for gap in GAPS if gap.name == name), ())


class UnknownGap(ValueError):
    """A gap name that is not known."""


def resolve(names: Iterable[str]) -> tuple[str, ...]:
    """Gap names in the registry's order.

    ``reference`` stands for all cleanup gaps that the chapters name, ``observed`` for
    all gaps that the reference has.

    Raises:
        UnknownGap: a name is not known.
    """
    wanted: set[str] = set()
    for name in names:
        if name in SETS:
            wanted.update(SETS[name])
        elif name in NAMES:
            wanted.add(name)
        else:
            known = ", ".join((*SETS, *NAMES))
            raise UnknownGap(
                Sentence("there is no gap named {name!r}; the gaps are: {known}", name=name, known=known)
            )
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
