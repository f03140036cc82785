"""Chapter 5, exercise 14: a stop string ends the answer however it is cut into tokens (C5.45, C2.55)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from types import ModuleType
from typing import Any

import msgspec

from ...message import DetokenizeMsg, ErrorReply, StopStringsMsg, Usage, UserReply
from ...recording import Recording
from ...tokenizer.detokenize import DetokenizeManager
from ..drill import Drill, Found, Reader, Say
from ..reader_file import the_class
from .scene import Client, Scene, SceneMaker, told
from .stage import LAST_US, StageJob, StageSeen, name_of, on_stage

LEAKED, RUNS_ON, ENDS_EARLY, WRONG_TEXT = "leaked", "runs-on", "ends-early", "wrong-text"
REASON, HELD_BACK, AFTER_THE_END, KEPT, CLIENT = "reason", "held-back", "after-the-end", "kept", "client"


class Answer(msgspec.Struct, frozen=True):
    """What the model writes, in pieces that are tokenized each by itself, and the stop strings asked for."""

    pieces: tuple[str, ...]
    stop: tuple[str, ...]

    @property
    def slack(self) -> int:
        """Characters that may be held back at any time: fewer tell whether a stop string comes."""
        return max((len(each.encode()) for each in self.stop), default=0)


class Case(msgspec.Struct, frozen=True):
    """Answers that come by turns, a token each. ``on_stage``: of the whole server."""

    check: str
    answers: tuple[Answer, ...]
    on_stage: bool = False


class TokensJob(msgspec.Struct, frozen=True, tag=True):
    """By answer its tokens, the last one the end, and its stop strings."""

    answers: list[tuple[list[int], tuple[str, ...]]]


class Shown(msgspec.Struct, frozen=True):
    """What a reply showed: ``text`` and, if it was the last one, why."""

    token: int
    text: str
    finished: bool
    reason: str | None


class Seen(msgspec.Struct):
    """By answer the replies to its tokens; ``kept`` are the answers of which something was still held."""

    replies: list[list[Shown]] = []
    kept: list[int] = []
    stage: StageSeen | None = None


class StopStringDrill(Drill[Case, TokensJob | StageJob, Seen]):
    """Gives tokens to a subclass of ``DetokenizeManager``, and looks at what each reply shows."""

    job_type = TokensJob | StageJob
    seen_type = Seen
    checks = (
        "one-token",
        "two-tokens",
        "many-tokens",
        "false-start",
        "falls-back",
        "at-the-end",
        "several",
        "bytes",
        "none",
        "two-requests",
        "whole-server",
        "at-random",
    )
    faults = (LEAKED, RUNS_ON, ENDS_EARLY, WRONG_TEXT, REASON, AFTER_THE_END, HELD_BACK, KEPT, CLIENT)

    def prepare(self) -> None:
        assert self._maker.tokens

    def find(self, module: ModuleType, file: str) -> type[DetokenizeManager]:
        return the_class(module, DetokenizeManager, file, ("_stop_finder",))

    def cases(self, rng: random.Random) -> Sequence[Case]:
        return [*_fixed(), *(_random_case(rng) for _ in range(40))]

    def job(self, case: Case) -> TokensJob | StageJob:
        if case.on_stage:
            return StageJob(self._maker.recording(self._scene(case)))
        return TokensJob([(self._tokens(answer), answer.stop) for answer in case.answers])

    def play(self, reader: Reader, job: TokensJob | StageJob) -> Seen:
        if isinstance(job, StageJob):
            return Seen(stage=on_stage(job.recording, self._maker.tokenizer, reader))
        return _play(reader.found(self._maker.tokenizer), job)

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if seen.stage is not None:
            yield from _on_stage(seen.stage, self._maker.own(self._scene(case)))
            return
        job = self.job(case)
        assert isinstance(job, TokensJob)
        own = _play(DetokenizeManager(self._maker.tokenizer), job)
        whole = _play(
            DetokenizeManager(self._maker.tokenizer), TokensJob([(tokens, ()) for tokens, _ in job.answers])
        )
        for index, answer in enumerate(case.answers):
            for fault, token, values in _faults(
                answer, seen.replies[index], own.replies[index], whole.replies[index]
            ):
                yield Found(fault, {"request": name_of(index), **values}, index, (token + 2) * 100_000)
            if index in seen.kept:
                yield Found(KEPT, {"request": name_of(index)}, index)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        return say("sentence end").join(
            say(
                "writes",
                request=name_of(index),
                pieces=" ".join(map(repr, answer.pieces)),
                stop=" ".join(map(repr, answer.stop)) or "-",
            )
            for index, answer in enumerate(case.answers)
        )

    def size(self, case: Case) -> tuple[int, ...]:
        pieces = [piece for answer in case.answers for piece in answer.pieces]
        stops = [stop for answer in case.answers for stop in answer.stop]
        return len(case.answers), len(stops), len(pieces), sum(map(len, [*pieces, *stops]))

    def smaller(self, case: Case) -> Iterator[Case]:
        answers = case.answers
        for index in range(len(answers) if len(answers) > 1 else 0):
            yield msgspec.structs.replace(case, answers=answers[:index] + answers[index + 1 :])
        for index, answer in enumerate(answers):
            for less in _smaller(answer):
                yield msgspec.structs.replace(case, answers=(*answers[:index], less, *answers[index + 1 :]))

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        return self._maker.recording(self._scene(case)), "2.3"

    @cached_property
    def _maker(self) -> SceneMaker:
        return SceneMaker()

    def _tokens(self, answer: Answer) -> list[int]:
        encode = self._maker.tokenizer.encode
        return [token for piece in answer.pieces for token in encode(piece, add_special_tokens=False)]

    def _scene(self, case: Case) -> Scene:
        clients = []
        for index, answer in enumerate(case.answers):
            tokens = tuple(self._tokens(answer))
            clients.append(Client(tokens, stop=answer.stop[:4], start=index, stream=index % 2 == 0))
        return Scene(tuple(clients))


def _play(manager: DetokenizeManager, job: TokensJob) -> Seen:
    seen = Seen(replies=[[] for _ in job.answers])
    by_answer = [
        [_message(uid, place, tokens) for place in range(len(tokens))]
        for uid, (tokens, _) in enumerate(job.answers)
    ]
    for place, turn in enumerate(zip_longest(*by_answer)):
        for msg in (each for each in turn if each is not None):
            msgs: list[StopStringsMsg | DetokenizeMsg | ErrorReply] = [msg]
            stop = job.answers[msg.uid][1]
            if place == 0 and stop:
                msgs.insert(0, StopStringsMsg(msg.uid, stop, Usage(4, 0, 0)))
            seen.replies[msg.uid] += [_reply(place, reply) for reply in manager.detokenize(msgs)]
    seen.kept = sorted(uid for uid in manager.decode_map if uid < len(job.answers))
    return seen


def _reply(place: int, reply: UserReply | ErrorReply) -> Shown:
    if isinstance(reply, ErrorReply):
        return Shown(place, "", True, reply.message)
    return Shown(place, reply.incremental_output, reply.finished, reply.finish_reason)


def _message(uid: int, place: int, tokens: list[int]) -> DetokenizeMsg:
    last = place == len(tokens) - 1
    usage = Usage(4, len(tokens), 0) if last else None
    return DetokenizeMsg(uid, tokens[place], last, "length" if last else None, usage)


Fault = tuple[str, int, dict[str, Any]]


def _faults(answer: Answer, replies: list[Shown], own: list[Shown], whole: list[Shown]) -> Iterator[Fault]:
    """``own``: what is right; ``whole``: the same without stop strings."""
    due = "".join(reply.text for reply in own)
    end = own[-1]
    shown, written = "", ""
    for each in whole:
        written += each.text
        at_once = [reply for reply in replies if reply.token == each.token]
        shown += "".join(reply.text for reply in at_once)
        reply = at_once[-1] if at_once else None
        values = {"due": repr(due), "got": repr(shown), "token": each.token + 1}
        finished = reply is not None and reply.finished
        if each.token == end.token and not finished:
            yield RUNS_ON, each.token, values
            return
        if not due.startswith(shown):
            # What the model wrote, but more of it than may be seen; or what it never wrote.
            yield LEAKED if written.startswith(shown) else WRONG_TEXT, each.token, values
            return
        if finished and each.token < end.token:
            yield ENDS_EARLY, each.token, values
            return
        if each.token == end.token:
            if shown != due:
                yield WRONG_TEXT, each.token, values
            elif reply is not None and reply.reason != end.reason:
                yield REASON, each.token, {**values, "reason": end.reason, "other": str(reply.reason)}
            later = [other for other in replies if other.token > end.token]
            if later:
                yield AFTER_THE_END, later[0].token, {**values, "count": len(later)}
            return
        if len(shown) < len(written) - answer.slack:
            yield HELD_BACK, each.token, {**values, "written": repr(written)}
            return


def _on_stage(seen: StageSeen, own: StageSeen) -> Iterator[Found]:
    for index, (client, due) in enumerate(zip(seen.clients, own.clients, strict=True)):
        got, right = told(client.body), told(due.body)
        if (client.end, client.status, got) != (due.end, due.status, right):
            values = {"due": right.in_short(due.status), "got": got.in_short(client.status)}
            yield Found(CLIENT, {"request": name_of(index), **values}, index, LAST_US)
    kept = sorted({client for _, client in seen.held})
    if kept:
        yield Found(KEPT, {"request": name_of(kept[0])}, kept[0], LAST_US)


def _fixed() -> Iterator[Case]:
    def case(check: str, pieces: Sequence[str], *stop: str) -> Case:
        return Case(check, (Answer(tuple(pieces), stop),))

    yield case("one-token", ["a", ";", "b"], ";")
    yield case("one-token", ["a", " b;c", "d"], ";")
    yield case("one-token", ["a", " server", " x"], "ver")
    yield case("two-tokens", ["a", "#", "#", "b"], "##")
    yield case("two-tokens", ["one", " #", "# two", " three"], "##")
    yield case("many-tokens", ["a", "S", "T", "O", "P", "b"], "STOP")
    yield case("many-tokens", ["hello", "\n", "\n", "U", "ser", ":", " x"], "\n\nUser:")
    yield case("many-tokens", ["a", "S", "T", "O", "P"], "STOP")
    yield case("false-start", ["a", "S", "T", "A", "R", "T"], "STOP")
    yield case("false-start", ["a", "S", "x", "S", "T", "O", "P", "y"], "STOP")
    yield case("falls-back", ["a", "a", "a", "b", "c"], "aab")
    yield case("falls-back", ["a", "b", "a", "b", "a", "c", "d"], "abac")
    yield case("at-the-end", ["a", "S", "T", "O"], "STOP")
    yield case("at-the-end", ["S"], "STOP")
    yield case("several", ["a", "b", "c", "d", "e"], "xy", "cd")
    yield case("several", ["a", "b", "c", "d", "e"], "bcde", "cd")
    yield case("several", ["x", "a", "b", "c", "y"], "abcz", "bc", "c")
    yield case("several", ["a", " server", " x"], "ver", "er")
    yield case("several", ["a", " server", " x"], "server x", "er")
    yield case("several", ["a", " server", " x"], "server", "rv")
    yield case("bytes", ["好", "😀", "了"], "😀")
    yield case("bytes", ["a", "结束", "了"], "束")
    yield case("bytes", ["结", "束", "了"], "束了")
    yield case("bytes", ["a", "😀", "😁", "b"], "😀b")
    yield case("bytes", ["a😀", "停", "。", "b"], "停。")
    yield case("none", ["a", "S", "T", "O", "P", "😀"])
    yield case("none", ["a", " b", " c", " d", " e", " f", " g", " h", " i"], "zz")
    answers = (
        Answer(("a", "S", "T", "O", "P", "b"), ("STOP",)),
        Answer(("O", "P", "S", "T", "x"), ("STOP",)),
    )
    yield Case("two-requests", answers)
    yield Case("two-requests", (Answer(("a", "#", "b"), ("##",)), Answer(("#", "b", "#", "#", "x"), ("##",))))
    yield Case("two-requests", (Answer(("a", "#", "#", "b"), ("##",)), Answer(("a", "#", "#", "b"), ())))
    yield Case("whole-server", answers, on_stage=True)
    whole = Answer(("one", " #", "#", " two", " three"), ("##",))
    yield Case("whole-server", (whole, whole, Answer(("好", "😀", "了"), ("😀了",))), on_stage=True)


def _random_case(rng: random.Random) -> Case:
    return Case("at-random", tuple(_random_answer(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))))


def _random_answer(rng: random.Random) -> Answer:
    letters = rng.choice(("ab", "ab", "abc", "a好", "a😀"))

    def word(most: int) -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(1, most)))

    pieces = tuple(word(3) for _ in range(rng.randint(2, 9)))
    return Answer(pieces, tuple(word(5) for _ in range(rng.choice((1, 1, 2, 3)))))


def _smaller(answer: Answer) -> Iterator[Answer]:
    for place in range(len(answer.pieces) if len(answer.pieces) > 1 else 0):
        yield Answer(answer.pieces[:place] + answer.pieces[place + 1 :], answer.stop)
    for place in range(len(answer.stop) if len(answer.stop) > 1 else 0):
        yield Answer(answer.pieces, answer.stop[:place] + answer.stop[place + 1 :])
