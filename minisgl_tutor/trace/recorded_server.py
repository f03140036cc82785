"""The recorded server, to be built again."""

from __future__ import annotations

import dataclasses

from msgspec import UNSET, UnsetType

from ..recording import Header
from ..server.config import Limits, SchedulerConfig, ServerArgs


def max_len(header: Header) -> int:
    """Tokens that a prompt and its answer may have together on the recorded server."""
    return min(header.max_seq_len, header.num_pages * header.page_size)


def server_args(header: Header, gaps: tuple[str, ...]) -> ServerArgs:
    """The recorded server, under other gaps."""
    return dataclasses.replace(
        ServerArgs(),
        model=header.model,
        num_tokenizer=header.num_tokenizer,
        page_size=header.page_size,
        num_pages=header.num_pages,
        max_running_req=header.num_slots,
        max_seq_len=header.max_seq_len,
        backlog_limit=header.backlog_limit,
        backlog_bytes=_given(header.backlog_bytes, ServerArgs.backlog_bytes),
        limits=Limits(
            max_body_bytes=_given(header.max_body_bytes, Limits.max_body_bytes),
            max_prompt_chars=_given(header.max_prompt_chars, Limits.max_prompt_chars),
        ),
        scheduler=SchedulerConfig(
            header.prefill_budget, header.cache, header.overlap, seed=0, admission=header.admission
        ),
        gaps=gaps,
    )


def _given(limit: int | UnsetType, rule: int) -> int:
    return rule if limit is UNSET else limit
