"""What chapter 5 states of the front end's state, where no other test shows it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import textwrap

import pytest

from minisgl_tutor.message import SamplingParams, UserReply
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.trace.clock import run

FORM = ResponseForm("x", 0, "toy", chat=True)
PARAMS = SamplingParams(max_tokens=4)


class Client:
    """One that stays."""

    async def receive(self) -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError


def piece(uid: int, text: str, finished: bool = False) -> UserReply:
    return UserReply(uid, text, finished)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class CountedPull:
    """A link that notes which task receives from it."""

    def __init__(self, inner):
        self.inner, self.receivers = inner, []

    async def get(self):
        self.receivers.append(asyncio.current_task())
        return await self.inner.get()


def test_one_receiver_for_all_requests(rig):
    """C5.50, C5.60, C5.77, C5.181: one task takes all that comes, and goes on for ever."""

    async def main():
        r = rig()
        link = r.state.recv_tokenizer = CountedPull(r.state.recv_tokenizer)
        uids = [await r.state.submit("a", PARAMS) for _ in range(50)]
        for number in range(20):
            r.feed(*[piece(uid, str(number), number == 19) for uid in uids])
        answers = await asyncio.gather(*[r.state.collect(uid, Client()) for uid in uids])
        assert {answer.text for answer in answers} == {"".join(map(str, range(20)))}
        (receiver,) = set(link.receivers)
        assert receiver.get_name() == "listen" and not receiver.done()

    run(main)


def test_the_list_has_what_is_not_taken_and_the_event_tells_of_it(rig):
    """C5.52, C5.53."""

    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        assert not r.state.event_map[uid].is_set()
        r.feed(piece(uid, "1"))
        r.feed(piece(uid, "2"))
        await turns()
        assert len(r.state.ack_map[uid]) == 2 and r.state.event_map[uid].is_set()
        replies = r.state.wait_for_ack(uid)
        assert (await anext(replies)).incremental_output == "1"
        assert r.state.ack_map[uid] == [] and not r.state.event_map[uid].is_set()

    run(main)


def test_another_front_end_begins_at_the_same_uid(rig):
    """C5.56."""

    async def main():
        assert [rig().state.new_user(), rig().state.new_user()] == [0, 0]

    run(main)


def test_without_a_reply_the_consumer_waits_in_its_event(rig):
    """C5.39, C5.66, K5.60: it takes no turn, and others do."""

    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        waiting = asyncio.create_task(anext(r.state.wait_for_ack(uid)))
        await turns(100)
        assert not waiting.done() and len(r.state.event_map[uid]._waiters) == 1
        other = await r.state.submit("b", PARAMS)
        r.feed(piece(other, "yes", finished=True))
        assert (await r.state.collect(other, Client())).text == "yes" and not waiting.done()
        waiting.cancel()

    run(main)


def test_replies_come_from_a_generator_to_both_ways_of_answering(rig):
    """C5.62, C5.63, C5.114."""
    assert inspect.isasyncgenfunction(FrontendManager.wait_for_ack)

    async def main():
        asked = []

        class Watched(FrontendManager):
            async def wait_for_ack(self, uid):
                asked.append(uid)
                async for reply in super().wait_for_ack(uid):
                    yield reply

        r = rig(Watched)
        whole, streamed = [await r.state.submit("a", PARAMS) for _ in range(2)]
        for uid in (whole, streamed):
            r.feed(piece(uid, "a"), piece(uid, "b", finished=True))
        assert (await r.state.collect(whole, Client())).text == "ab"
        body = b"".join([chunk async for chunk in r.state.stream_chat_completions(streamed, FORM)])
        assert body.count(b'"content":"') == 2 and asked == [whole, streamed]

    run(main)


def test_the_order_of_a_round(rig):
    """C5.64, C5.67, C5.74: one clear for three replies, and the new list before the first of them."""

    async def main():
        log = []

        class Event(asyncio.Event):
            async def wait(self):
                await super().wait()
                log.append("wait")

            def clear(self):
                super().clear()
                log.append("clear")

        class Lists(dict):
            def __getitem__(self, uid):
                log.append("take")
                return super().__getitem__(uid)

            def __setitem__(self, uid, replies):
                log.append("new list")
                super().__setitem__(uid, replies)

        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.feed(piece(uid, "1"), piece(uid, "2"), piece(uid, "3", finished=True))
        await turns()
        waiting = r.state.event_map[uid] = Event()
        waiting.set()
        r.state.ack_map = Lists(r.state.ack_map)
        async for reply in r.state.wait_for_ack(uid):
            log.append(reply.incremental_output)
        assert log == ["wait", "clear", "take", "new list", "1", "2", "3"]

    run(main)


def test_a_consumer_whose_entries_go_waits_on(rig):
    """C5.65: so a consumer has to be cancelled, as its owner does."""

    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        waiting = asyncio.create_task(anext(r.state.wait_for_ack(uid)))
        await turns()
        r.state.forget(uid)
        r.feed(piece(uid, "late"))
        await turns(100)
        assert not waiting.done()
        waiting.cancel()

    run(main)


def test_nothing_is_awaited_between_clear_and_the_new_list():
    """C5.69, by the source: so the listener cannot get in between."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(FrontendManager.wait_for_ack)))
    (loop,) = [node for node in ast.walk(tree) if isinstance(node, ast.While)]
    wait, clear, take, renew, *_ = loop.body
    assert [ast.unparse(each) for each in (wait, clear, take, renew)] == [
        "await event.wait()",
        "event.clear()",
        "pending = self.ack_map[uid]",
        "self.ack_map[uid] = []",
    ]


@pytest.mark.parametrize("gives_way", [True, False])
def test_a_plain_call_within_a_coroutine_lets_nobody_else_run(gives_way):
    """C5.82, C5.83, C5.177, C5.178: it is the await of something else's work that lets others run."""

    async def main():
        order = []
        other_ran = asyncio.Event()

        async def handler():
            order.append("handler begins")
            if gives_way:
                await other_ran.wait()
            order.append("handler ends")

        async def other():
            order.append("other")
            other_ran.set()

        await asyncio.gather(handler(), other())
        expected = ["handler begins", "other", "handler ends"]
        assert order == (expected if gives_way else [expected[0], expected[2], expected[1]])

    run(main)
