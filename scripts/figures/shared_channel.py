"""Figure 5.2: one link for all replies, a list and an event for each request (C5.179 to C5.181).

What is filed is the first message of the scene that has replies of several requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from minisgl_tutor.trace.steps import Step

from .paper import SMALL, Language, Palette, Paper, tag_width
from .plays import chunks, played, recording_of

NAME, CHAPTER, SCENE = "shared-channel", 5, "interleaved"
HEIGHT = 642
LEFT = (44, 316)
"""Where the column of a request begins; each is as wide as the other."""
COLUMN, HALF = 240, 112
TONES = ("first", "second")
RADIUS = {"first": 12, "second": 3}
"""The corners tell the requests apart as well as the colours do."""


class Words(NamedTuple):
    title: str
    description: str
    sender: str
    link: str
    server: str
    receiver: str
    append: str
    sets: str
    wakes: str
    take: str
    is_set: str
    is_clear: str
    client: str
    no_text: str
    data: str
    event: str


WORDS: dict[Language, Words] = {
    "en": Words(
        title="One link for all replies, a list and an event for each request",
        description="Replies of two requests come over one link. listen appends each to the list of its uid, "
        "then sets that uid's event, which wakes wait_for_ack; it takes the list and writes to its client.",
        sender="detokenizer",
        link="one link for all replies, in the order in which they come",
        server="API server: one process, one thread",
        receiver="the only one who receives",
        append="append",
        sets="set",
        wakes="wakes",
        take="take all",
        is_set="set",
        is_clear="clear",
        client="client of uid {uid}",
        no_text="half a character: no text yet",
        data="data; from the detokenizer over ZeroMQ, to the clients over HTTP",
        event="an asyncio.Event is set, and wakes: within the process, no data",
    ),
    "zh": Words(
        title="一条共享的回复链路，每个请求各有一个列表和一个事件",
        description="两个请求的回复从同一条链路回来。"
        "listen 按 uid 把回复追加到各自的列表，再置位这个 uid 的事件；"
        "事件唤醒 wait_for_ack，它取走列表，写给自己的客户端。",
        sender="解码进程",
        link="所有回复共用一条链路，按到达先后排列",
        server="API server：一个进程，一个线程",
        receiver="唯一的接收者",
        append="追加",
        sets="置位",
        wakes="唤醒",
        take="全部取走",
        is_set="已置位",
        is_clear="未置位",
        client="uid {uid} 的客户端",
        no_text="只有半个字符，还没有文本",
        data="数据：从解码进程来走 ZeroMQ，到客户端走 HTTP",
        event="asyncio.Event 的置位与唤醒：只在本进程内，不带数据",
    ),
}


@dataclass(frozen=True)
class Arrival:
    """A message of the detokenizer: when the API server took it in, and the texts in it by uid."""

    t_us: int
    texts: dict[int, str]


@dataclass(frozen=True)
class Channel:
    """``filed`` is the place among ``arrivals`` of the one that is shown on its way through.

    By uid: how many replies lie in the list then, whether the event is set, and what is written next.
    """

    arrivals: list[Arrival]
    filed: int
    unread: dict[int, int]
    is_set: dict[int, bool]
    written: dict[int, str]


def observed() -> Channel:
    return channel(played(recording_of(CHAPTER, SCENE)))


def channel(steps: list[Step]) -> Channel:
    replies = [step for step in steps if (step.source, step.target) == ("detokenizer", "api")]
    filed = next(place for place, step in enumerate(replies) if len(step.uids) > 1)
    step = replies[filed]
    held = step.after["api"]
    written: dict[int, str] = {}
    for later in steps[step.number :]:
        if later.title == "chunk":
            for text in chunks(later):
                written.setdefault(later.uids[0], text)
    return Channel(
        arrivals=[
            Arrival(
                each.arrived_us or each.t_us,
                {reply["uid"]: reply["incremental_output"] for reply in each.content},
            )
            for each in replies
        ],
        filed=filed,
        unread={uid: held[uid]["ack_map"] for uid in step.uids},
        is_set={uid: held[uid]["event_map"] > 0 for uid in step.uids},
        written={uid: written[uid] for uid in step.uids},
    )


def draw(data: Channel, language: Language, palette: Palette) -> str:
    words = WORDS[language]
    paper = Paper(HEIGHT, language, palette, words.title, words.description)
    middle = _link(paper, words, data)
    paper.box(20, 152, 560, 304, stroke="faint", radius=10)
    paper.note(36, 176, words.server, bold=True)
    paper.box(LEFT[0], 192, LEFT[1] + COLUMN - LEFT[0], 36, fill="surface", stroke="muted")
    paper.text(LEFT[0] + 16, 215, "listen", mono=True, bold=True)
    paper.note(LEFT[0] + 82, 215, words.receiver)
    paper.arrow([(middle, 120), (middle, 192)])
    paper.mark(middle, 138, 1)
    for left, tone, uid in zip(LEFT, TONES, data.unread, strict=True):
        _request(paper, words, data, left, tone, uid)
    for y, tone, what in ((598, "data", words.data), (622, "event", words.event)):
        paper.arrow([(36, y - 5), (84, y - 5)], tone, dashed=tone == "event")
        paper.note(96, y, what)
    return paper.svg()


def _link(paper: Paper, words: Words, data: Channel) -> float:
    """The link with its messages; the middle of the one that is being filed."""
    paper.box(20, 18, 112, 34, fill="surface", stroke="muted")
    paper.text(76, 40, words.sender, size=SMALL, anchor="middle")
    paper.note(148, 40, words.link)
    paper.line([(48, 52), (48, 102), (540, 102)], "data", width=2)
    x, middle_of_filed = 96.0, 0.0
    for place, arrival in enumerate(data.arrivals):
        labels = {uid: f"{uid} {_quoted(text)}" for uid, text in arrival.texts.items()}
        width = sum(tag_width(label) + 6 for label in labels.values()) + 6
        filed = place == data.filed
        paper.box(x, 84, width, 36, fill="surface" if filed else "ground", stroke="ink" if filed else "faint")
        inner = x + 6
        for uid, label in labels.items():
            inner += 6 + paper.tag(inner, 102, label, _tone(data, uid), RADIUS[_tone(data, uid)])
        middle, time = x + width / 2, f"{arrival.t_us / 1000:.1f} ms"
        paper.text(
            middle, 76, time, size=SMALL, anchor="middle", tone="ink" if filed else "muted", bold=filed
        )
        middle_of_filed = middle if filed else middle_of_filed
        x += width + 14
    return middle_of_filed


def _request(paper: Paper, words: Words, data: Channel, left: float, tone: str, uid: int) -> None:
    """What one request has, from its list down to its client."""
    list_x, event_x, middle = left + HALF / 2, left + COLUMN - HALF / 2, left + COLUMN / 2

    def box(x: float, y: float, width: float, height: float) -> None:
        paper.box(x, y, width, height, fill="surface", stroke=tone, radius=RADIUS[tone])

    def data_arrow(x: float, y: float, number: int, what: str = "") -> None:
        paper.arrow([(x, y), (x, y + 56)])
        paper.mark(x, y + 24, number)
        paper.note(x + 16, y + 29, what)

    def event_arrow(y: float, number: int, what: str) -> None:
        paper.arrow([(event_x, y), (event_x, y + 56)], "event", dashed=True)
        paper.mark(event_x, y + 24, number, "event")
        paper.note(event_x + 16, y + 29, what)

    data_arrow(list_x, 228, 2, words.append)
    event_arrow(228, 3, words.sets)
    box(left, 284, HALF, 62)
    paper.text(list_x, 303, f"ack_map[{uid}]", size=SMALL, anchor="middle", mono=True)
    filed = _quoted(data.arrivals[data.filed].texts[uid])
    paper.tag(list_x - tag_width(filed) / 2, 326, filed, tone, RADIUS[tone])
    box(left + COLUMN - HALF, 284, HALF, 62)
    paper.text(event_x, 303, f"event_map[{uid}]", size=SMALL, anchor="middle", mono=True)
    state = words.is_set if data.is_set[uid] else words.is_clear
    paper.text(event_x, 331, state, anchor="middle", tone="event", bold=True)

    event_arrow(346, 4, words.wakes)
    data_arrow(list_x, 346, 5, words.take)
    box(left, 402, COLUMN, 36)
    paper.text(middle, 425, f"wait_for_ack({uid})", anchor="middle", mono=True, bold=True)
    paper.arrow([(middle, 438), (middle, 502)])
    paper.mark(middle, 479, 6)
    box(left, 502, COLUMN, 58)
    paper.text(middle, 525, words.client.format(uid=uid), anchor="middle", bold=True)
    text = data.written[uid]
    paper.text(middle, 548, _quoted(text) if text else words.no_text, size=SMALL, anchor="middle", tone=tone)


def _tone(data: Channel, uid: int) -> str:
    return dict(zip(data.unread, TONES, strict=True))[uid]


def _quoted(text: str) -> str:
    return f'"{text}"'
