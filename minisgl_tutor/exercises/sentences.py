"""What the exercises say of a case and of what was seen of it: a sentence for each key."""

from __future__ import annotations

from collections.abc import Mapping

from ..language import Sentence, Tongue

GENERAL: Mapping[str, Sentence] = {
    # -- what should be, and what was seen, by what is wrong
    "expected stuck": Sentence("your code gives control back to the event loop while it waits"),
    "seen stuck": Sentence("it did not for some seconds of real time{place}; the check was stopped"),
    "expected polls": Sentence("your code waits until something comes"),
    "seen polls": Sentence("it turned again and again at one instant without waiting: {text}"),
    "expected blocks": Sentence("your code gives control back to the event loop while it waits"),
    "seen blocks": Sentence(
        "{text}{place} would have held up every other request; use asyncio.sleep if you must"
    ),
    "expected never-ends": Sentence("it comes to an end"),
    "seen never-ends": Sentence("it waits for what never comes{place}: {text}"),
    "expected thread": Sentence("all of it happens in the event loop"),
    "seen thread": Sentence("{text}"),
    "expected raised": Sentence("your code raises nothing that it does not handle"),
    "seen raised": Sentence("{text}{place}"),
    # -- a scheduler, round by round
    "asks": Sentence("round {round}: {request} asks with {length} tokens, for {most} at most"),
    "shares": Sentence(", the first {shared} of them those of everybody"),
    "quotes": Sentence(", one of them an end-of-sequence token"),
    "ends at": Sentence("; token {place} of its answer is an end-of-sequence token"),
    "ignores": Sentence(", which it ignores"),
    "aborts": Sentence("round {round}: an abort for {request} comes"),
    "without overlap": Sentence("without overlap"),
    "expected runs-on": Sentence("{request}, whose abort comes in round {abort}, is in no step from then on"),
    "seen runs-on": Sentence("it is in the step of round {round}"),
    "expected slot-twice": Sentence("no slot is free twice"),
    "seen slot-twice": Sentence("after round {round} the list of free slots has slot {number} twice"),
    "expected shared-slot": Sentence("while {request} runs, its slot {slot} is nobody else's"),
    "seen shared-slot": Sentence("{other} was computed in it before {request} was done (round {round})"),
    "expected freed-live": Sentence("a page that {request} reads is not free while it runs"),
    "seen freed-live": Sentence("after round {round} its page {page} is in the list of free pages"),
    "expected page-twice": Sentence("no page is free twice"),
    "seen page-twice": Sentence("after round {round} the list of free pages has page {number} twice"),
    "expected engine-fails": Sentence("the engine can compute every step that it is given"),
    "seen engine-fails": Sentence("it could not in round {round}: {text}"),
    "expected wrong-tokens number": Sentence(
        "{request} gets the tokens that its own prompt leads to, {due} of them"
    ),
    "seen wrong-tokens number": Sentence(
        "token {token} is another: something it reads was not its own any more"
    ),
    "expected wrong-tokens count": Sentence("{request} gets {due} tokens"),
    "seen wrong-tokens count": Sentence("it got {got}"),
    "expected no-end": Sentence("exactly one message tells that {request} is over"),
    "seen no-end": Sentence("none did, and those behind the scheduler never forget it"),
    "expected two-ends": Sentence("behind the message that {request} is over comes nothing more of it"),
    "seen two-ends": Sentence("messages that came behind it: {count}"),
    "expected never-ends rounds": Sentence("the scheduler comes to rest"),
    "seen never-ends rounds": Sentence(
        "it still had something to do after {rounds} rounds; waiting: {waiting}; running: {running}; "
        "free slots: {slots}; pages to be had: {pages}"
    ),
    "expected slots-left": Sentence("all slots are free when all is quiet"),
    "seen slots-left": Sentence("slots that nobody has and that are not free: {slots}"),
    "expected pages-left": Sentence("all {pages} pages can be had again when all is quiet"),
    "seen pages-left": Sentence("{room} can be had"),
    "expected kept": Sentence("the scheduler forgets {request} when it is over"),
    "seen kept": Sentence("its uid is still among the requests that live"),
    "expected late": Sentence("{request} ends in time"),
    "seen late": Sentence("its last message came {rounds} rounds later than need be"),
    "expected books": Sentence("the books add up when all is quiet"),
    "seen books": Sentence("{text}"),
    "expected fails": Sentence("the scheduler lives on"),
    "seen fails": Sentence("{text}{place}"),
    "expected unanswered": Sentence("the client of {request} gets its answer"),
    "seen unanswered": Sentence("it still waits when all is quiet"),
    "expected made-for-nobody": Sentence(
        "the client of {request} has left, and no step is launched for it any more"
    ),
    "seen made-for-nobody": Sentence("steps launched after it had left: {count}"),
    "expected left-behind": Sentence("nothing of {request} is kept anywhere when all is quiet"),
    "seen left-behind": Sentence("something of it is still kept by: {parts}"),
    # -- clients of the whole server
    "client asks": Sentence("{request} asks at {ms} ms with {length} tokens, for {most} at most, {mode}"),
    "client stop": Sentence(", with the stop strings {stop}"),
    "client reads": Sentence(", and takes {ms} ms to read a chunk"),
    "client leaves": Sentence("; it leaves {ms} ms later"),
    "streaming": Sentence("streaming"),
    "not streaming": Sentence("not streaming"),
    "own process": Sentence("the detokenizer is a process of its own (tokenizers: {count})"),
    "expected wrong-answer": Sentence("the client of {request} gets: {due}"),
    "seen wrong-answer": Sentence("it got: {got}"),
    # -- what is kept
    "expected grows": Sentence("what is kept does not grow with each request that has ended"),
    "seen grows": Sentence("it grew with each of {count} requests, one after another: {where}"),
    # -- between two of several
    "sentence end": Sentence(". "),
    "comma": Sentence(", "),
}
"""The sentences of all exercises. Each has the values of the one who says it."""


class Teller:
    """Speaks for one exercise: its own sentence of a key, else that of all exercises.

    ``say`` says what has no key.
    """

    def __init__(self, say: Tongue, own: Mapping[str, Sentence]) -> None:
        self.say = say
        self._sentences = {**GENERAL, **own}

    def __call__(self, key: str, **values: object) -> str:
        """The sentence, filled in.

        Raises:
            KeyError: there is none of that key.
        """
        return self.say(self._sentences[key].with_values(**values))

    def knows(self, key: str) -> bool:
        return key in self._sentences
