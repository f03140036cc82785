"""Small tokenizers of each kind, made on the spot."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.tokenizer.pieces import byte_letters
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

CORPUS = [
    "the cat sat on the mat, and the dog looked at the cat",
    "什么是缓存？缓存是已经算过的东西。什么是令牌？",
    "नमस्ते दुनिया, यह एक परीक्षण है। नमस्ते दुनिया",
    "שלום עולם, זה מבחן. שלום עולם",
    "👨‍👩‍👧‍👦 👋🏽 👨‍👩‍👧‍👦 👋🏽 🇩🇪",
    "<|im_start|>user system assistant\n",
]

WORDS = ["▁Daenerys", "▁is", "▁the", "▁", "▁x", "Khaleesi", "▁Khal", "eesi", "ABC", "▁▁", "\ufffd"]
FIRST_WORD = 259


@pytest.fixture(scope="session")
def byte_library() -> LibraryTokenizer:
    """Token ``b`` is the byte ``b``; 256 to 258 are special, 259 is an added token that is not."""
    library = LibraryTokenizer(models.BPE(vocab=byte_letters(), merges=[]))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens([AddedToken(name, special=True) for name in ("<|eos|>", "<|eot|>", "<|pad|>")])
    library.add_tokens([AddedToken("<think é>", special=False)])
    return library


@pytest.fixture(scope="session")
def fallback_library() -> LibraryTokenizer:
    """SentencePiece-like: tokens 3 to 258 are bytes, then words; one leading space is taken off a text."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    vocab = {name: token for token, name in enumerate(names)}
    library = LibraryTokenizer(
        models.BPE(vocab=vocab, merges=[], unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    library.add_special_tokens([AddedToken(name, special=True) for name in ("<s>", "</s>")])
    return library


@pytest.fixture(scope="session")
def bpe_library() -> LibraryTokenizer:
    """A trained byte-level BPE whose tokens begin and end inside characters, with ChatML's special tokens."""
    library = LibraryTokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>"],
    )
    library.train_from_iterator(CORPUS, trainer)
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", library.token_to_id("<s>"))]
    )
    return library


@pytest.fixture(scope="session")
def wordpiece_library() -> LibraryTokenizer:
    names = ["[UNK]", "hello", "##ing", "world", "don", "'", "t", ",", "##s"]
    library = LibraryTokenizer(
        models.WordPiece(vocab={name: token for token, name in enumerate(names)}, unk_token="[UNK]")
    )
    library.decoder = decoders.WordPiece()
    return library


@pytest.fixture(scope="session")
def metaspace_library() -> LibraryTokenizer:
    names = ["<unk>", "▁the", "▁", "cat", "▁cat", "s"]
    library = LibraryTokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=[]))
    library.decoder = decoders.Metaspace()
    return library


@pytest.fixture(scope="session")
def byte_tokenizer(byte_library: LibraryTokenizer) -> Tokenizer:
    return Tokenizer(byte_library, eos_token="<|eos|>")


@pytest.fixture(scope="session")
def fallback_tokenizer(fallback_library: LibraryTokenizer) -> Tokenizer:
    return Tokenizer(fallback_library, eos_token="</s>")


@pytest.fixture(scope="session")
def bpe_tokenizer(bpe_library: LibraryTokenizer) -> Tokenizer:
    return Tokenizer(bpe_library, eos_token="<|im_end|>")
