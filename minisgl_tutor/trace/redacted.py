"""Plays recordings without texts: stand-ins that have as many tokens as the recorded texts had.

They are read with a tokenizer in which one letter is one token, so that the
recorded model's is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import msgspec
from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from ..recording import ArriveLine, Header, Recording, RequestLine
from ..recording.redact import STAND_IN, filler
from ..tokenizer.template import ChatTemplate
from ..tokenizer.tokenizer import Tokenizer

TEMPLATE = "{{ messages[-1]['content'] }}"


def stand_in_tokenizer(header: Header) -> Tokenizer:
    """One token is one letter; those that end an answer are special ones."""
    ends = {f"<end {token}>": token for token in header.eos_token_ids}
    letter = filler(header.eos_token_ids)
    library = LibraryTokenizer(models.WordLevel({STAND_IN: letter, **ends}, unk_token=STAND_IN))
    library.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    library.decoder = decoders.Fuse()
    library.add_special_tokens(list(ends))
    return Tokenizer(library, ChatTemplate(TEMPLATE, {}), vocab_size=header.vocab_size)


def prompt_lens(recording: Recording) -> dict[int, int]:
    """The tokens of each uid's prompt, of those that reached the scheduler."""
    lens: dict[int, int] = {}
    for line in recording.lines:
        if isinstance(line, ArriveLine) and isinstance(line.prompt_lens, list):
            lens.update(zip(line.users, line.prompt_lens, strict=True))
    return lens


def with_stand_ins(
    request: RequestLine,
    uids: Sequence[int],
    lens: Mapping[int, int],
    ended_at: Collection[int],
    refused: bool,
) -> RequestLine:
    """``request`` with prompts of the recorded lengths.

    ``uids`` are those of its choices, in order. ``ended_at`` are the numbers of tokens of those that
    ended before their limit; with a stop string none of them would now. Of one that was ``refused``, as
    by a chat template, those that never got to the scheduler are empty: so a tokenizer refuses them, too.
    """
    if not uids or (any(uid not in lens for uid in uids) and not refused):
        return request  # it never got there
    body = json.loads(request.body)
    texts = [STAND_IN * lens.get(uid, 0) for uid in uids]
    if "messages" in body:
        body["messages"] = [{"role": "user", "content": texts[0]}]
    elif isinstance(body.get("prompt"), list):
        body["prompt"] = texts[:: max(1, len(uids) // max(1, len(body["prompt"])))]
    else:
        body["prompt"] = texts[0]
    if body.pop("stop", None) is not None and ended_at:
        body["max_tokens"] = max(ended_at)
        body.pop("max_completion_tokens", None)
    return msgspec.structs.replace(request, body=json.dumps(body))
