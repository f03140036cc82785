"""One tokenizer: text to ids, conversations to text, ids to text. It knows nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer as LibraryTokenizer

from ..panics import panics_as_errors
from .pieces import PlainText, token_decoder
from .template import ChatTemplate, ChatTemplateError, Conversation

NO_TEMPLATE = "this model has no chat template: send a prompt to /v1/completions instead of messages"


class Tokenizer:
    """A ``tokenizers`` tokenizer with its chat template.

    ``eos_token`` is the token that the tokenizer itself names as the end of a
    sequence. ``vocab_size`` is the number of ids that the model can produce,
    where it has more than the tokenizer has tokens. ``decoder`` decodes ids that
    are not silent.
    """

    def __init__(
        self,
        library: LibraryTokenizer,
        template: ChatTemplate | None = None,
        eos_token: str | None = None,
        vocab_size: int = 0,
    ) -> None:
        library.no_truncation()
        library.no_padding()
        self._library = library
        self._template = template
        self.decoder = token_decoder(library)
        self._plain_texts: dict[int, PlainText | None] = {}
        self._special_ids = {
            token for token, added in library.get_added_tokens_decoder().items() if added.special
        }
        self.eos_token_id = None if eos_token is None else library.token_to_id(eos_token)
        self.vocab_size = max(vocab_size, library.get_vocab_size(), *(i + 1 for i in self._special_ids), 0)

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """The ids of ``text``, with the tokens that the model expects around a text."""
        return self.encode_batch([text], add_special_tokens)[0]

    @panics_as_errors()
    def encode_batch(self, texts: list[str], add_special_tokens: bool = True) -> list[list[int]]:
        encodings = self._library.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]

    def apply_chat_template(self, messages: Conversation) -> str:
        """The text of a conversation, special tokens written out, up to where the answer begins (C2.51).

        Raises:
            ChatTemplateError: there is no template, or it refuses the messages.
        """
        if self._template is None:
            raise ChatTemplateError(NO_TEMPLATE)
        return self._template.render(messages)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids`` without special tokens; bytes that make no character become U+FFFD."""
        return self.decoder.decode([token for token in ids if not self.is_silent(token)])

    def is_silent(self, token: int) -> bool:
        """Whether the token has no text: a special one, or an id that only pads the model's vocabulary."""
        return token in self._special_ids or self.decoder.is_empty(token)

    def plain_text(self, token: int) -> PlainText | None:
        """The text of a token of whole characters; None for any other, a silent or an unknown one.

        Most tokens are of this kind, and theirs is looked up but once.
        """
        try:
            return self._plain_texts[token]
        except KeyError:
            is_text = token in self and not self.is_silent(token)
            self._plain_texts[token] = text = self.decoder.plain(token) if is_text else None
            return text

    def __contains__(self, token: int) -> bool:
        return 0 <= token < self.vocab_size
