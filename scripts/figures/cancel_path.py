"""The path of a cancel: who hears of it when, and who lets go of what (C5.128, C5.148 to C5.154, K5.44).

Below it, what is computed until the scheduler knows: here, and with the gaps that the scene was recorded
with, those of the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from minisgl_tutor.trace.steps import Step

from .paper import SMALL, Language, Palette, Paper
from .plays import chunks, played, recording_of

NAME, CHAPTER, SCENE = "path-of-a-cancel", 5, "client-leaves"
LANES = {"client": 112, "api": 190, "detokenizer": 280, "tokenizer": 366, "scheduler": 497, "engine": 565}
"""Where the line of each runs. Between two that hold something no name has to be written across a third."""
FIRST_ROW, ROW = 104, 46
PAUSE = 34
"""What is added where the step under way is waited for."""
WAITED_US = 100
"""Below a message that lay there for longer stands when it was taken in."""
PANEL = 186
BAR_LEFT, BAR_WIDTH = 36, 528
GAP_OF_BARS = 1.5


class Words(NamedTuple):
    title: str
    description: str
    lanes: tuple[str, ...]
    step: str
    closes: str
    taken: str
    finished: str
    under_way: str
    late: str
    holds: str
    computes: str
    compare: str
    here: str
    reference: str
    until: str


WORDS: dict[Language, Words] = {
    "en": Words(
        title="The path of a cancel",
        description="The client closes its connection. AbortMsg goes to the tokenizer, AbortBackendMsg to "
        "the scheduler, which lets go after {here:.2f} ms. The step under way ends, then a finished "
        "message with the reason abort goes to the detokenizer and to the API server, where it is dropped. "
        "As the reference does it, 0.1 s late, the scheduler lets go after {reference:.0f} ms.",
        lanes=("client", "API server", "detokenizer", "tokenizer", "scheduler", "engine"),
        step="a step",
        closes="closes",
        taken="taken in: {when}",
        finished="finished: abort",
        under_way="the step under way runs to its end",
        late="late: dropped",
        holds="holds something for uid {uid}",
        computes="the engine computes a step",
        compare="forward passes from the moment the client leaves",
        here="here",
        reference="as the reference does it",
        until="{name}: the scheduler lets go after {ms}; {passes}",
    ),
    "zh": Words(
        title="取消走过的路",
        description="客户端断开连接。AbortMsg 发给分词进程，AbortBackendMsg 发给调度器，"
        "调度器在 {here:.2f} 毫秒后撤下请求。"
        "已经开始的一步跑完，随后带着 abort 原因的结束消息经解码进程回到 API server，在那里丢弃。"
        "按参考实现的做法，取消晚 0.1 秒才发出，调度器要到 {reference:.0f} 毫秒后才撤下请求。",
        lanes=("客户端", "API server", "解码进程", "分词进程", "调度器", "引擎"),
        step="算一步",
        closes="断开",
        taken="{when} 时取走",
        finished="结束：abort",
        under_way="已经开始的一步会跑完",
        late="来晚了：丢弃",
        holds="为 uid {uid} 留着状态",
        computes="引擎在算一步",
        compare="从客户端离开算起的前向计算",
        here="本项目",
        reference="参考实现",
        until="{name}：调度器 {ms} 后撤下请求；{passes}",
    ),
}
PASSES: dict[Language, tuple[str, str]] = {
    "en": ("only the pass under way", "{count} passes for nobody"),
    "zh": ("只有已经开始的那次", "白算 {count} 次"),
}


@dataclass(frozen=True)
class Waste:
    """What the engine computed from the client's leaving until the scheduler knew; microseconds from then."""

    heard: int
    passes: list[tuple[int, int]]


@dataclass(frozen=True)
class Cancel:
    """``steps`` begin with the last call of the engine before the client left at ``left_us``.

    ``released`` says of each component which step was the first after which it held nothing.
    """

    uid: int
    left_us: int
    steps: list[Step]
    released: dict[str, int]
    here: Waste
    reference: Waste


def observed() -> Cancel:
    recording = recording_of(CHAPTER, SCENE)
    return cancel(played(recording), played(recording, tuple(recording.header.gaps)))


def cancel(steps: list[Step], late: list[Step]) -> Cancel:
    left = _left(steps)
    call = next(step for step in reversed(steps[: left.number]) if step.kind == "call")
    shown = [step for step in steps if step.number >= call.number and step.kind != "gap"]
    (uid,) = call.uids
    released = {
        component: next(step.number for step in shown if not step.after[component])
        for component in ("api", "scheduler", "detokenizer")
    }
    return Cancel(uid, left.t_us, shown, released, _waste(steps), _waste(late))


def _left(steps: list[Step]) -> Step:
    return next(step for step in steps if step.title == "left")


def _waste(steps: list[Step]) -> Waste:
    left = _left(steps).t_us
    abort = next(step for step in steps if step.title == "AbortBackendMsg")
    heard = abort.arrived_us or abort.t_us
    passes: list[tuple[int, int]] = []
    previous = left
    for step in steps:
        if step.kind == "call" and step.t_us <= heard and (step.ended_us or 0) > left:
            passes.append((max(step.t_us, previous) - left, (step.ended_us or 0) - left))
            previous = step.ended_us or previous
    return Waste(heard - left, passes)


def draw(data: Cancel, language: Language, palette: Palette) -> str:
    words = WORDS[language]
    facts = {"here": data.here.heard / 1000, "reference": data.reference.heard / 1000}
    rows = _rows(data)
    bottom = max(rows.values()) + 44
    paper = Paper(bottom + PANEL, language, palette, words.title, words.description.format(**facts))
    for lane, name in zip(LANES, words.lanes, strict=True):
        paper.text(_x(lane), 34, name, size=SMALL, anchor="middle")
        paper.line([(_x(lane), 46), (_x(lane), bottom - 12)], "faint", dashed=True, width=1)
    _bars(paper, data, rows)
    for step in data.steps:
        _step(paper, words, data, step, rows[step.number])
    legend = (("first", words.holds.format(uid=data.uid)), ("data", words.computes))
    for x, (tone, what) in zip((BAR_LEFT, 300), legend, strict=True):
        paper.box(x, bottom + 2, 8, 18, fill=tone, radius=2)
        paper.note(x + 18, bottom + 16, what)
    _compare(paper, words, language, data, bottom + 62)
    return paper.svg()


def _rows(data: Cancel) -> dict[int, float]:
    """The height of each step; more lies before the one that waits for the engine."""
    rows: dict[int, float] = {}
    y = float(FIRST_ROW)
    for step in data.steps:
        y += PAUSE if step.number == data.released["detokenizer"] else 0
        rows[step.number] = y
        y += ROW
    return rows


def _bars(paper: Paper, data: Cancel, rows: dict[int, float]) -> None:
    """What each component holds, and the step of the engine that is under way when the client leaves."""
    for component, number in data.released.items():
        paper.box(_x(component) - 4, 58, 8, rows[number] - 58, fill="first", radius=2)
    call = data.steps[0]
    ended = next(step for step in data.steps if step.t_us == call.ended_us)
    begin = rows[call.number]
    paper.box(_x("engine") - 4, begin, 8, rows[ended.number] - begin, fill="data", radius=2)


def _step(paper: Paper, words: Words, data: Cancel, step: Step, y: float) -> None:
    after_us = step.t_us - data.left_us
    tone = "ink" if after_us == 0 else "muted"
    paper.text(84, y + 4.5, _time(after_us), size=SMALL, anchor="end", tone=tone)
    begin, end = _x(step.source), _x(step.target)
    side = 1 if end > begin else -1
    tone = "data" if after_us < 0 else "event"
    dropped = step is data.steps[-1]
    target = end - side * (18 if dropped else 6)
    paper.arrow([(begin + side * 6, y), (target, y)], tone, dashed=step.title == "left")
    label, mono = _label(words, step)
    paper.text(_label_x(step), y - 8, label, size=SMALL, anchor="middle", tone=tone, mono=mono, halo=True)
    if step.arrived_us is not None and step.arrived_us - step.t_us > WAITED_US:
        taken = words.taken.format(when=_time(step.arrived_us - data.left_us))
        paper.note(_label_x(step), y + 19, taken, anchor="middle", halo=True)
    if step.number == data.released["detokenizer"]:
        paper.note(_label_x(step), y + 19, words.finished, anchor="middle", halo=True)
        paper.note(_x("engine") - 12, y - 42, words.under_way, anchor="end", halo=True)
    if dropped:
        for slope in (-1, 1):
            paper.line([(end - 6, y - 6 * slope), (end + 6, y + 6 * slope)], tone, width=2.5)
        paper.note(end, y + 24, words.late, anchor="middle", halo=True)


def _time(after_us: int) -> str:
    """In milliseconds from the moment of leaving."""
    return f"{after_us / 1000:+.2f} ms".replace("-", "−") if after_us else "0 ms"


def _label(words: Words, step: Step) -> tuple[str, bool]:
    """What is written on an arrow, and whether it is a name of the code."""
    if step.kind == "call":
        return words.step, False
    if step.title == "left":
        return words.closes, False
    if step.title == "chunk":
        return f'"{"".join(chunks(step))}"', True
    return step.title, True


def _compare(paper: Paper, words: Words, language: Language, data: Cancel, y: float) -> None:
    """Both ways on one scale, from the moment of leaving."""
    longest = max(end for waste in (data.here, data.reference) for _, end in waste.passes)
    scale = BAR_WIDTH / longest
    under_way, wasted = PASSES[language]
    paper.text(BAR_LEFT, y, words.compare, size=SMALL, bold=True)
    for place, (waste, name) in enumerate(((data.here, words.here), (data.reference, words.reference))):
        top = y + 16 + place * 52
        for begin, end in waste.passes:
            width = (end - begin) * scale - GAP_OF_BARS
            paper.box(BAR_LEFT + begin * scale, top, width, 18, fill="data", radius=3, opacity=0.55)
        heard = BAR_LEFT + waste.heard * scale
        paper.line([(heard, top - 5), (heard, top + 23)], "event", width=2.5)
        many = len(waste.passes) - 1
        passes = wasted.format(count=many) if many else under_way
        ms = f"{waste.heard / 1000:.1f} ms"
        note = words.until.format(name=name, ms=ms, passes=passes)
        paper.note(BAR_LEFT, top + 38, note)


def _label_x(step: Step) -> float:
    """The middle between the sender and the next line on the way."""
    source, target = _x(step.source), _x(step.target)
    towards = [x for x in LANES.values() if min(source, target) <= x <= max(source, target) and x != source]
    return (source + min(towards, key=lambda x: abs(x - source))) / 2


def _x(component: str) -> float:
    return LANES[component.removesuffix("-0")]
