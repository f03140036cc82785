"""A play in the trace format of Chrome, which Perfetto and chrome://tracing open.

Each component of a scene is a process. A message is a short slice where it was
sent and one where it was taken in, joined by a flow; a request is an asynchronous
slice from its first step to its last; a step of the engine is a slice of its own
length; what a component holds is a counter, and a finding an instant. It is a file for
a tool, and so in English.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ..trace.steps import Held, Step, encoded
from .shown import CLIENT, ENGINE, ShownScene, rank

Event = dict[str, Any]

PIDS_OF_A_SCENE = 100
THREAD = 1
SHORT_US = 1
"""The length of a slice that only marks a moment: whole microseconds never overlap in part."""


def write_perfetto(out: BinaryIO, scenes: Iterable[ShownScene]) -> None:
    """One event a line. Scenes stand side by side, each from its own time 0 on."""
    out.write(b'{"displayTimeUnit":"ms","traceEvents":[')
    separator = b"\n"
    for place, scene in enumerate(scenes):
        for event in _SceneEvents(scene, place).events():
            out.write(separator + encoded(event))
            separator = b",\n"
    out.write(b"\n]}\n")


class _SceneEvents:
    """The events of one scene, whose processes are numbered from ``place * PIDS_OF_A_SCENE`` on."""

    def __init__(self, scene: ShownScene, place: int) -> None:
        self._scene = scene
        self._place = place
        self._pids: dict[str, int] = {}
        self._lives: dict[int, tuple[int, int]] = {}  # by uid, from its first step to its last
        self._held: dict[str, dict[int, dict[str, int]]] = {}  # by component and time, how much of what
        self._busy_until_us = 0  # the engine, which runs one step after the other

    def events(self) -> Iterator[Event]:
        for step in self._scene.steps:
            self._note(step)
            if not step.target:
                yield self._moment(step)
            elif step.kind == "call":
                yield from self._engine_step(step)
            else:
                yield from self._message(step)
        yield from self._requests()
        yield from self._counters()
        yield from self._names()

    def _pid(self, component: str) -> int:
        return self._pids.setdefault(component, self._place * PIDS_OF_A_SCENE + len(self._pids) + 1)

    def _event(self, ph: str, component: str, ts: int, **fields: Any) -> Event:
        return {"ph": ph, "ts": ts, "pid": self._pid(component), "tid": THREAD, **fields}

    def _slice(self, component: str, ts: int, duration: int, name: str, step: Step) -> Event:
        args = {"step": step.number, "uids": step.uids, "content": step.content, "where": step.where}
        return self._event("X", component, ts, dur=duration, name=name, cat=step.kind, args=args)

    def _flow(self, step: Step, source: tuple[str, int], target: tuple[str, int]) -> Iterator[Event]:
        fields: Event = {"id": f"{self._place}.{step.number}", "name": step.title, "cat": "flow"}
        yield self._event("s", *source, **fields)
        yield self._event("f", *target, bp="e", **fields)

    def _message(self, step: Step) -> Iterator[Event]:
        yield self._slice(step.source, step.t_us, SHORT_US, step.title, step)
        arrived_us = step.t_us if CLIENT in (step.source, step.target) else step.arrived_us
        if arrived_us is not None:
            yield self._slice(step.target, arrived_us, SHORT_US, step.title, step)
            yield from self._flow(step, (step.source, step.t_us), (step.target, arrived_us))

    def _engine_step(self, step: Step) -> Iterator[Event]:
        """From its call, or from the end of the step before it, until its tokens were read."""
        begin_us = max(step.t_us, self._busy_until_us)
        self._busy_until_us = max(begin_us + SHORT_US, step.ended_us or 0)
        phases = " and ".join(dict.fromkeys(row["type"] for row in step.content))
        name = f"{phases}, {len(step.content)} rows"
        yield self._slice(step.source, step.t_us, SHORT_US, step.title, step)
        yield self._slice(ENGINE, begin_us, self._busy_until_us - begin_us, name, step)
        yield from self._flow(step, (step.source, step.t_us), (ENGINE, begin_us))

    def _moment(self, step: Step) -> Event:
        """What happened at one component alone: a finding, say."""
        args = {"step": step.number, "uids": step.uids, "note": step.note, "claims": step.claims}
        name = f"{step.kind}: {step.gap or step.title}"
        return self._event("i", step.source, step.t_us, s="p", name=name, cat=step.kind, args=args)

    # -- what can only be told at the end

    def _note(self, step: Step) -> None:
        seen_us = step.t_us if step.arrived_us is None else step.arrived_us
        for uid in step.uids if step.kind != "gap" else ():
            first, last = self._lives.get(uid, (step.t_us, seen_us))
            self._lives[uid] = (min(first, step.t_us), max(last, seen_us))
        for component, amounts in _totals(step.after).items():
            self._held.setdefault(component, {})[seen_us] = amounts

    def _requests(self) -> Iterator[Event]:
        for uid, (first, last) in self._lives.items():
            fields = {"id": f"{self._place}.{uid}", "name": f"request {uid}", "cat": "request"}
            yield self._event("b", "requests", first, **fields)
            yield self._event("e", "requests", last, **fields)

    def _counters(self) -> Iterator[Event]:
        """At each time at which the amounts differ from those before; what is gone counts 0 from then on."""
        for component, amounts_at in self._held.items():
            last: dict[str, int] = {}
            for ts in sorted(amounts_at):
                amounts = dict.fromkeys(last, 0) | amounts_at[ts]
                if amounts != last:
                    yield self._event("C", component, ts, name="held", args=amounts)
                    last = amounts

    def _names(self) -> Iterator[Event]:
        for order, component in enumerate(sorted(self._pids, key=lambda name: (rank(name), name))):
            title = f"{self._scene.name}: {component}"
            yield self._event("M", component, 0, name="process_name", args={"name": title})
            order += self._place * PIDS_OF_A_SCENE
            yield self._event("M", component, 0, name="process_sort_index", args={"sort_index": order})
            thread = "steps" if component == ENGINE else "messages"
            yield self._event("M", component, 0, name="thread_name", args={"name": thread})


def _totals(held: Held) -> dict[str, dict[str, int]]:
    """How much of what each component holds, over all requests."""
    totals: dict[str, dict[str, int]] = {}
    for component, parts in held.items():
        amounts = totals.setdefault(component, {})
        for kept in parts.values():
            for what, amount in kept.items():
                amounts[what] = amounts.get(what, 0) + amount
    return totals
