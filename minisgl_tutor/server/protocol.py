"""The OpenAI-style protocol (claims part C): bodies of requests, forms of answers, forms of errors.

Being callable by OpenAI clients is the aim; covering the whole protocol is not.
"""

from .answer import Completed, ResponseForm, Tally, to_json, whole_response
from .conversation import Message
from .failure import RequestFailed, error_body, refused
from .request_model import Ask, CompletionBody, OpenAICompletionRequest, TextCompletionRequest

__all__ = [
    "Ask",
    "Completed",
    "CompletionBody",
    "Message",
    "OpenAICompletionRequest",
    "RequestFailed",
    "ResponseForm",
    "Tally",
    "TextCompletionRequest",
    "error_body",
    "refused",
    "to_json",
    "whole_response",
]
