"""Interleavings at random, each reply followed by an audit: what must be gone, what must have stayed."""

from __future__ import annotations

import random

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    rng = random.Random(5)
    for _ in range(6):
        await interleave(bench, rng)


async def interleave(bench: Bench, rng: random.Random) -> None:
    aborts = len(bench.aborts)
    uids = [await bench.ask() for _ in range(3)]
    clients = {uid: bench.stream(uid) for uid in uids}
    await bench.settle()
    due = dict.fromkeys(uids, "")
    left = {uid: rng.randint(2, 4) for uid in uids}
    leaver = rng.choice(uids)
    over: set[int] = set()
    while len(over) < len(uids):
        uid = rng.choice([each for each in uids if each not in over])
        left[uid] -= 1
        if uid == leaver and left[uid] == 0:
            clients[uid].leave()
            await bench.settle()
            assert bench.aborts[aborts:] == [leaver]
            over.add(uid)
        else:
            piece = f"{uid}:{left[uid]} "
            due[uid] += piece
            await bench.reply((uid, piece, left[uid] == 0))
            if left[uid] == 0:
                over.add(uid)
        for each in uids:
            assert clients[each].text == due[each]
            assert not (each in over and bench.kept(each))
        for each in over:
            await bench.reply((each, "late", True))
            assert not bench.kept(each)
    assert len(bench.aborts) == aborts + 1
