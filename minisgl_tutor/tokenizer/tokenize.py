"""From requests to token ids (C2.47 to C2.52, K5.49)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..message import ErrorReply, TokenizeMsg
from ..panics import LibraryPanic
from .template import ChatTemplateError
from .tokenizer import Tokenizer

logger = logging.getLogger(__name__)

OWN_FAULT = "the tokenizer failed at the text, through no fault of yours; the server's log says why"


class Refused(Exception):
    """This input cannot be turned into ids; ``code`` names the reason, ``status`` tells whose fault it is."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class TokenizeManager:
    """Turns each request's prompt or conversation into the ids that the scheduler sees."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def tokenize(self, msgs: Sequence[TokenizeMsg]) -> list[list[int] | ErrorReply]:
        """For each message its ids, or the reply that tells its client what is wrong with it alone.

        A conversation goes through the chat template, which writes special tokens
        out itself. A plain prompt gets those that the model expects around a text.
        """
        texts: dict[int, str] = {}
        results: dict[int, list[int] | ErrorReply] = {}
        for place, msg in enumerate(msgs):
            try:
                texts[place] = self._text(msg)
            except Refused as refused:
                results[place] = _error_reply(msg, refused)
        for conversations in (True, False):
            places = [place for place in texts if isinstance(msgs[place].text, list) is conversations]
            ids = self._encode([texts[place] for place in places], add_special_tokens=not conversations)
            for place, result in zip(places, ids, strict=True):
                results[place] = _error_reply(msgs[place], result) if isinstance(result, Refused) else result
        return [results[place] for place in range(len(msgs))]

    def _text(self, msg: TokenizeMsg) -> str:
        """What is to be encoded: the prompt, or the conversation as the model was trained on it (C2.51)."""
        if isinstance(msg.text, str):
            text = msg.text
        else:
            check_messages(msg.text)
            try:
                text = self.tokenizer.apply_chat_template(msg.text)
            except ChatTemplateError as error:
                raise Refused("chat_template_error", str(error)) from error
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Refused("invalid_text", "the text has a lone surrogate, which is no character") from error
        return text

    def _encode(self, texts: list[str], add_special_tokens: bool) -> list[list[int] | Refused]:
        try:
            encoded = self.tokenizer.encode_batch(texts, add_special_tokens)
        except Exception as error:  # the library raises bare exceptions, for all texts when one is at fault
            if len(texts) > 1:
                return [result for text in texts for result in self._encode([text], add_special_tokens)]
            logger.warning("a text of %d characters cannot be tokenized: %s", len(texts[0]), error)
            if isinstance(error, LibraryPanic):
                return [Refused("tokenizer_failed", OWN_FAULT, 500)]
            return [Refused("invalid_text", f"the tokenizer does not accept the text: {error}")]
        return [ids or Refused("empty_prompt", "the prompt is empty: it has no tokens") for ids in encoded]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Whether this is a conversation at all, as what a template makes of a wrong one differs by model.

    Raises:
        Refused: no messages, or one without a role or without content.
    """
    if not messages:
        raise Refused("invalid_messages", "messages is empty; send at least one message")
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise Refused("invalid_messages", f"messages[{number}] has no role; give it one, such as 'user'")
        content = message.get("content")
        if not isinstance(content, str | list) and not message.get("tool_calls"):
            raise Refused("invalid_messages", f"messages[{number}] has no content; give it a text")


def _error_reply(msg: TokenizeMsg, refused: Refused) -> ErrorReply:
    # What a template says may hold anything; a reply must be text.
    message = str(refused).encode(errors="replace").decode()
    param = "prompt" if isinstance(msg.text, str) else "messages"
    return ErrorReply(uid=msg.uid, message=message, status=refused.status, code=refused.code, param=param)
