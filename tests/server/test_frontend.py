"""FrontendManager alone: maps, listener, consumers and the one owner of a request's life."""

from __future__ import annotations

import asyncio

import pytest

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, Usage, UserReply
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.failure import RequestFailed
from minisgl_tutor.trace.clock import run

FORM = ResponseForm("x", 0, "toy", chat=True)
PARAMS = SamplingParams(max_tokens=4)


def text(uid: int, piece: str) -> UserReply:
    return UserReply(uid, piece, finished=False)


def last(uid: int, piece: str = "") -> UserReply:
    return UserReply(uid, piece, finished=True, finish_reason="stop", usage=Usage(1, 2, 0))


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Client:
    """Stands for a starlette request whose client can leave."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def is_disconnected(self) -> bool:
        return self.gone.is_set()


def stream(state, uid, client):
    return state.stream_with_cancellation(state.stream_chat_completions(uid, FORM), client, uid)


def test_new_user_numbers_and_makes_both_entries(rig):
    """C5.54, C5.57."""

    async def main():
        state = rig().state
        uids = [state.new_user() for _ in range(1000)]
        assert uids == list(range(1000))
        assert state.ack_map[7] == [] and not state.event_map[7].is_set()
        assert state.uid_counter == 1000

    run(main)


def test_submit_sends_one_tokenize_msg_and_starts_one_listener(rig):
    """C5.37, C5.59."""

    async def main():
        r = rig()
        for i in range(3):
            assert await r.state.submit("hi", PARAMS) == i
        assert r.sent() == [TokenizeMsg(uid, "hi", PARAMS) for uid in range(3)]
        assert [task.get_name() for task in asyncio.all_tasks()].count("listen") == 1

    run(main)


def test_a_request_and_its_abort_go_to_the_same_tokenizer(rig):
    async def main():
        r = rig(tokenizers=3)
        for _ in range(6):
            await r.state.submit("hi", PARAMS)
        for uid in (5, 0, 4):
            await r.state.abort_user(uid)
        for i in range(3):
            assert {msg.uid % 3 for msg in r.sent(i)} == {i}

    run(main)


def test_a_reply_is_filed_before_its_event_is_set(rig):
    """C5.61, C2.37."""

    async def main():
        r = rig()
        uid = await r.state.submit("hi", PARAMS)
        seen = []

        class Watched(asyncio.Event):
            def set(self):
                seen.append(list(r.state.ack_map[uid]))
                super().set()

        r.state.event_map[uid] = Watched()
        r.feed(text(uid, "a"))
        await turns()
        assert seen == [[text(uid, "a")]]

    run(main)


def test_interleaved_replies_find_their_own_consumer(rig):
    """C5.78: A1 B1 B2 A2."""

    async def main():
        r = rig()
        a, b = await r.state.submit("a", PARAMS), await r.state.submit("b", PARAMS)
        r.feed(text(a, "A1"))
        r.feed(text(b, "B1"), last(b, "B2"))
        r.feed(last(a, "A2"))
        got_a, got_b = await asyncio.gather(r.state.collect(a, Client()), r.state.collect(b, Client()))
        assert (got_a.text, got_b.text) == ("A1A2", "B1B2")
        assert r.state.held() == {}

    run(main)


def test_several_sets_are_one_wake_up_and_no_reply_is_lost(rig):
    """C5.70, C5.71: what comes during delivery waits in the fresh list."""

    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        replies = r.state.wait_for_ack(uid)
        r.feed(text(uid, "0"), text(uid, "1"), text(uid, "2"))
        await turns()
        first = await anext(replies)
        taken = r.state.ack_map[uid]
        r.feed(text(uid, "3"), last(uid, "4"))
        await turns()
        assert [reply.incremental_output for reply in taken] == ["3", "4"]
        rest = [reply.incremental_output async for reply in replies]
        assert [first.incremental_output, *rest] == list("01234")

    run(main)


def test_a_late_reply_brings_nothing_back_and_the_listener_lives(rig):
    """C5.153, C5.154."""

    async def main():
        r = rig()
        a, b = await r.state.submit("a", PARAMS), await r.state.submit("b", PARAMS)
        await r.state.abort_user(a)
        for _ in range(1000):
            r.feed(text(a, "late"))
        r.feed(last(b, "yes"))
        assert (await r.state.collect(b, Client())).text == "yes"
        assert r.state.held() == {}

    run(main)


def test_a_reply_behind_the_finished_one_is_not_filed(rig):
    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.feed(last(uid, "end"), text(uid, "more"))
        assert (await r.state.collect(uid, Client())).text == "end"
        assert r.state.held() == {}

    run(main)


@pytest.mark.parametrize("streaming", [True, False])
def test_a_normal_end_leaves_nothing_and_sends_no_abort(rig, streaming):
    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.sent()
        r.feed(text(uid, "a"), last(uid, "b"))
        if streaming:
            body = b"".join([chunk async for chunk in stream(r.state, uid, Client())])
            assert body.endswith(b"data: [DONE]\n\n")
        else:
            assert (await r.state.collect(uid, Client())).text == "ab"
        assert r.state.held() == {} and r.sent() == []

    run(main)


@pytest.mark.parametrize("fed", [0, 1, 2])
def test_a_cancelled_stream_sends_one_abort_and_leaves_nothing_at_once(rig, fed):
    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.sent()
        generator = stream(r.state, uid, Client())

        async def consume():
            async for _ in generator:
                pass

        consumer = asyncio.create_task(consume())
        for i in range(fed):
            r.feed(text(uid, str(i)))
            await turns()
        await turns()
        consumer.cancel()
        await asyncio.gather(consumer, return_exceptions=True)
        assert consumer.cancelled()
        assert r.state.held() == {} and r.sent() == [AbortMsg(uid)]

    run(main)


def test_a_stream_that_is_closed_early_is_aborted(rig):
    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.sent()
        generator = stream(r.state, uid, Client())
        r.feed(text(uid, "a"))
        await anext(generator)
        await generator.aclose()
        assert r.state.held() == {} and r.sent() == [AbortMsg(uid)]

    run(main)


def test_a_client_that_leaves_while_waiting_for_a_whole_answer_is_noticed(rig):
    """The reference does not look (C5.159)."""

    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.sent()
        client = Client()
        waiting = asyncio.create_task(r.state.collect(uid, client))
        await turns()
        client.gone.set()
        outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
        assert type(outcome).__name__ == "ClientDisconnected"
        assert r.state.held() == {} and r.sent() == [AbortMsg(uid)]

    run(main)


def test_the_abort_is_sent_before_the_state_is_dropped_and_only_once(rig):
    async def main():
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        held_at_send = []
        original = r.state.send_one

        async def send_one(msg):
            held_at_send.append(uid in r.state.ack_map)
            await original(msg)

        r.state.send_one = send_one
        await asyncio.gather(r.state.abort_user(uid), r.state.abort_user(uid))
        await r.state.abort_user(uid)
        await r.state.abort_user(99)
        assert held_at_send == [True]
        assert r.state.held() == {}

    run(main)


def test_a_send_that_fails_leaves_nothing(rig):
    async def main():
        r = rig()
        with pytest.raises(RequestFailed) as failed:
            await r.state.submit("\ud800", PARAMS)
        assert failed.value.reply.status == 400
        assert r.state.held() == {}

    run(main)


def test_a_prompt_that_is_too_long_is_not_sent(rig):
    async def main():
        r = rig()
        r.state.max_prompt_chars = 5
        for long in ("什" * 6, [{"role": "user", "content": "xy"}], [{"role": "u", "content": ["abcde"]}]):
            with pytest.raises(RequestFailed, match="6 characters; this server takes 5") as failed:
                await r.state.submit(long, PARAMS)
            assert failed.value.reply.status == 400
        assert r.state.held() == {} and r.sent() == []
        await r.state.submit("什" * 5, PARAMS)
        assert len(r.sent()) == 1

    run(main)


def test_an_error_before_the_first_text_is_raised_and_one_after_it_is_an_event(rig):
    async def main():
        r = rig()
        a, b = await r.state.submit("a", PARAMS), await r.state.submit("b", PARAMS)
        r.feed(ErrorReply(a, "too long", 400, "context_length_exceeded"))
        with pytest.raises(RequestFailed):
            await anext(stream(r.state, a, Client()))
        r.feed(text(b, "some"), ErrorReply(b, "gone", 500))
        chunks = [chunk async for chunk in stream(r.state, b, Client())]
        assert b'"error"' in chunks[-1] and b"[DONE]" not in b"".join(chunks)
        assert r.state.held() == {}

    run(main)


def test_a_slow_reader_ends_with_an_error_at_the_bound_and_not_below_it(rig):
    """C5.172; both sides of the bound."""

    async def main():
        r = rig(backlog_limit=10)
        fine, slow = await r.state.submit("a", PARAMS), await r.state.submit("b", PARAMS)
        r.sent()
        r.feed(*[text(fine, "x")] * 10)
        r.feed(*[text(slow, "x")] * 11)
        await turns()
        assert len(r.state.ack_map[fine]) == 10
        assert [reply.code for reply in r.state.ack_map[slow]] == ["slow_reader"]
        assert r.sent() == [AbortMsg(slow)]
        for _ in range(100):
            r.feed(text(slow, "late"))
        await turns()
        assert len(r.state.ack_map[slow]) == 1

    run(main)


def test_fail_all_ends_every_request_and_refuses_new_ones(rig):
    async def main():
        r = rig()
        uids = [await r.state.submit("a", PARAMS) for _ in range(3)]
        waiting = [asyncio.create_task(r.state.collect(uid, Client())) for uid in uids]
        await turns()
        r.state.fail_all("the scheduler died")
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [outcome.reply.status for outcome in outcomes] == [503] * 3
        with pytest.raises(RequestFailed, match="the scheduler died"):
            await r.state.submit("b", PARAMS)
        assert r.state.held() == {}

    run(main)
