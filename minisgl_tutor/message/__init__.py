"""Every message that crosses from one component to another, and its codec.

Nothing else travels between processes. The path of a request is
``TokenizeMsg`` -> ``UserMsg`` -> ``DetokenizeMsg`` -> ``UserReply``; a cancel
goes ``AbortMsg`` -> ``AbortBackendMsg`` (claims C2.25, C5.16).
"""

from .backend import AbortBackendMsg, BackendMsg, BatchBackendMsg, UserMsg
from .codec import MalformedMessage, Message, Single, decode, encode, unwrap
from .frontend import BatchFrontendMsg, ErrorReply, Reply, UserReply
from .logprobs import LEAST_LOGPROB, ScoredText, ScoredToken, TextLogprobs, TokenLogprobs
from .sampling import FinishReason, SamplingParams, Usage
from .tokenizer import (
    AbortMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    DetokenizerMsg,
    StopStringsMsg,
    TokenizeMsg,
    TokenizerMsg,
)

__all__ = [
    "LEAST_LOGPROB",
    "AbortBackendMsg",
    "AbortMsg",
    "BackendMsg",
    "BatchBackendMsg",
    "BatchFrontendMsg",
    "BatchTokenizerMsg",
    "DetokenizeMsg",
    "DetokenizerMsg",
    "ErrorReply",
    "FinishReason",
    "MalformedMessage",
    "Message",
    "Reply",
    "SamplingParams",
    "ScoredText",
    "ScoredToken",
    "Single",
    "StopStringsMsg",
    "TextLogprobs",
    "TokenLogprobs",
    "TokenizeMsg",
    "TokenizerMsg",
    "Usage",
    "UserMsg",
    "UserReply",
    "decode",
    "encode",
    "unwrap",
]
