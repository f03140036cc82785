"""Figure 5.1: the same answer as a stream and in one piece, in the same time (K5.69).

The scene was recorded as a stream. Its recording is played a second time with a client that
does not ask for one: the engine takes the same steps, and what differs is the way back.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import NamedTuple

from minisgl_tutor.trace.steps import Step

from .paper import BODY, SMALL, Language, Palette, Paper
from .plays import asked_in_one_piece, chunks, played, recording_of

NAME, CHAPTER, SCENE = "timelines", 5, "normal-end"
TOP, BOTTOM = 92, 92
"""What is above the time 0 and below the end."""
SCALE = 1.85
"""Pixels a millisecond."""
AXIS, ENGINE, STREAM, WHOLE = 74, 110, 222, 424
TICK_MS = 50
LINE = 16.5
"""How close the texts of two pieces may come; one that would be closer is moved down a little."""
ANSWER_WIDTH = 20


class Words(NamedTuple):
    title: str
    description: str
    engine: str
    stream: str
    whole: str
    ask: str
    first_text: str
    nothing: str
    end: str
    passes: str


WORDS: dict[Language, Words] = {
    "en": Words(
        title="The same answer as a stream and in one piece",
        description="Time runs down. The engine makes {passes} tokens. As a stream the first text is there "
        "after {stream:.0f} ms and each piece follows when it exists; in one piece all of it comes after "
        "{whole:.0f} ms, when the stream ends too.",
        engine="engine",
        stream="as a stream",
        whole="in one piece",
        ask="asks",
        first_text="to the first text",
        nothing="nothing to read yet",
        end="end: {mark}",
        passes="{passes} forward passes, the same for both",
    ),
    "zh": Words(
        title="同一个回答：流式返回与一次返回",
        description="时间自上而下。引擎生成 {passes} 个 token。"
        "流式：{stream:.0f} 毫秒后就有第一段文字，之后有一段给一段；"
        "一次返回：到 {whole:.0f} 毫秒才一并给出，此时流也结束。",
        engine="引擎",
        stream="流式",
        whole="一次返回",
        ask="请求",
        first_text="后见到第一段文字",
        nothing="还没有可读的内容",
        end="结束：{mark}",
        passes="前向 {passes} 次，两种方式都一样",
    ),
}


@dataclass(frozen=True)
class Timelines:
    """All times in microseconds. ``passes`` are the engine's steps up to the last token of the answer."""

    asked: int
    passes: list[tuple[int, int]]
    pieces: list[tuple[int, str]]
    stream_end: int
    answer: str
    answered: int

    @property
    def until_text(self) -> tuple[float, float]:
        """From the question to the first text, in milliseconds: of the stream, and of the whole answer."""
        return (self.pieces[0][0] - self.asked) / 1000, (self.answered - self.asked) / 1000


def observed() -> Timelines:
    recording = recording_of(CHAPTER, SCENE)
    return timelines(played(recording), played(asked_in_one_piece(recording)))


def timelines(stream: list[Step], whole: list[Step]) -> Timelines:
    end = _first(stream, "completed").t_us
    answer = json.loads(_first(whole, "chunk").content[0]["text"])["choices"][0]["message"]["content"]
    passes: list[tuple[int, int]] = []
    for step in stream:
        if step.kind == "call" and step.ended_us is not None and step.ended_us <= end:
            passes.append((max(step.t_us, passes[-1][1] if passes else 0), step.ended_us))
    return Timelines(
        asked=_first(stream, "request").t_us,
        passes=passes,
        pieces=[(step.t_us, text) for step in stream for text in chunks(step) if text],
        stream_end=end,
        answer=answer,
        answered=_first(whole, "completed").t_us,
    )


def _first(steps: list[Step], title: str) -> Step:
    return next(step for step in steps if step.title == title)


def draw(data: Timelines, language: Language, palette: Palette) -> str:
    words = WORDS[language]
    stream_ms, whole_ms = data.until_text
    facts = {"passes": len(data.passes), "stream": stream_ms, "whole": whole_ms}
    height = _y(data.answered) + BOTTOM
    paper = Paper(height, language, palette, words.title, words.description.format(**facts))
    for x, head in ((STREAM, words.stream), (WHOLE, words.whole)):
        paper.text(x - 6, 34, head, bold=True)
    paper.text(ENGINE, 34, words.engine, anchor="middle", bold=True)
    paper.note(STREAM - 6, 54, '"stream": true', mono=True)
    paper.note(WHOLE - 6, 54, '"stream": false', mono=True)
    _axis(paper, data)
    for begin, end in data.passes:
        paper.box(
            ENGINE - 11, _y(begin) + 1, 22, _y(end) - _y(begin) - 2, fill="data", radius=3, opacity=0.55
        )
    _stream(paper, words, data)
    _in_one_piece(paper, words, data)
    paper.note(ENGINE - 11, height - 20, words.passes.format(**facts))
    return paper.svg()


def _axis(paper: Paper, data: Timelines) -> None:
    """The moments that count across all columns, and the ticks that do not come too close to them."""
    moments = [data.pieces[0][0], data.answered]
    for moment in moments:
        paper.line([(AXIS, _y(moment)), (584, _y(moment))], "faint", dashed=True, width=1)
        label = f"{moment / 1000:.0f} ms"
        paper.text(AXIS - 8, _y(moment) + 4.5, label, size=SMALL, anchor="end", bold=True)
    for ms in range(0, data.answered // 1000, TICK_MS):
        if all(abs(ms * 1000 - moment) * SCALE / 1000 > 2 * SMALL for moment in moments):
            paper.line([(AXIS - 4, _y(ms * 1000)), (AXIS, _y(ms * 1000))], "muted")
            paper.note(AXIS - 8, _y(ms * 1000) + 4.5, str(ms), anchor="end")
    paper.line([(AXIS, _y(0)), (AXIS, _y(data.answered))], "muted")


def _stream(paper: Paper, words: Words, data: Timelines) -> None:
    paper.line([(STREAM, _y(data.asked)), (STREAM, _y(data.stream_end))], "data", width=2)
    _wait(paper, STREAM - 22, data.asked, data.pieces[0][0])
    paper.dot(STREAM, _y(data.asked))
    paper.note(STREAM + 14, _y(data.asked) + 5, words.ask)
    _waited(paper, words, STREAM, _y(data.asked) + 24, data.until_text[0])
    lowest = 0.0
    for moment, piece in data.pieces:
        lowest = max(_y(moment), lowest + LINE)
        paper.dot(STREAM, _y(moment))
        paper.text(STREAM + 14, lowest + 5, piece.strip(), mono=True)
    paper.dot(STREAM, _y(data.stream_end), radius=6)
    paper.note(STREAM + 14, _y(data.stream_end) + 22, words.end.format(mark="[DONE]"))


def _in_one_piece(paper: Paper, words: Words, data: Timelines) -> None:
    begin, end = _y(data.asked), _y(data.answered)
    paper.line([(WHOLE, begin), (WHOLE, end)], "faint", dashed=True, width=2)
    _wait(paper, WHOLE - 22, data.asked, data.answered)
    paper.dot(WHOLE, begin)
    paper.note(WHOLE + 14, begin + 5, words.ask)
    middle = (begin + end) / 2
    paper.note(WHOLE + 14, middle - 24, words.nothing)
    _waited(paper, words, WHOLE, middle, data.until_text[1])
    paper.dot(WHOLE, end, radius=6)
    for place, line in enumerate(textwrap.wrap(data.answer, ANSWER_WIDTH)):
        paper.text(WHOLE - 6, end + 24 + place * 18, line, size=BODY, mono=True)


def _wait(paper: Paper, x: float, begin: int, end: int) -> None:
    """How long somebody waits for a first text, as an arrow between two strokes."""
    for moment in (begin, end):
        paper.line([(x - 5, _y(moment)), (x + 5, _y(moment))], "event", width=2)
    paper.arrow([(x, _y(begin)), (x, _y(end))], "event")


def _waited(paper: Paper, words: Words, x: float, y: float, ms: float) -> None:
    paper.text(x + 14, y, f"{ms:.0f} ms", tone="event", bold=True)
    paper.text(x + 14, y + 16, words.first_text, size=SMALL, tone="event")


def _y(t_us: float) -> float:
    return TOP + t_us * SCALE / 1000
