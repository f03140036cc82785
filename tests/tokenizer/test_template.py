"""Chat templates render as transformers renders them, in the styles that models use."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.message import SamplingParams, TokenizeMsg
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.tokenizer.template import ChatTemplate, ChatTemplateError
from minisgl_tutor.tokenizer.tokenize import TokenizeManager

CHATML = """{% for message in messages %}
    {% if message['role'] == 'system' %}
(system)
    {% endif %}
    {{- '<|im_start|>' + message['role'] + '\n' + message['content'] | trim + '<|im_end|>\n' }}
{% endfor %}
{% if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{% endif %}
"""

HEADERS = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system, messages = messages[0]['content'], messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}
{%- if tools is not none or documents is not none %}{{ raise_exception('nothing to use') }}{% endif %}
{{- '[system]\n\n' + system + eos_token }}
{%- for message in messages %}
    {{- '[' ~ message.role ~ ']\n\n' }}
    {%- if message.tool_calls %}
        {{- message.tool_calls[0].function | tojson }}
        {{- message.tool_calls[0].function.arguments | tojson(indent=2) }}
    {%- else %}
        {{- message.content }}
    {%- endif %}
    {{- eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '[assistant]\n\n' }}{% endif %}"""

THINKING = """{%- set ns = namespace(last=-1) %}
{%- for message in messages[::-1] %}
    {%- if message.role == 'user' %}
        {%- set ns.last = messages | length - loop.index %}
        {%- break %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
        {{- '\n<result>' + message.content + '</result>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}
        {%- continue %}
    {%- endif %}
    {%- set words = message.content if message.content is string else '' %}
    {{- '<|im_start|>' + message.role + '\n' }}
    {%- if message.role == 'assistant' %}
        {%- if '</think>' in words %}
            {%- set thought = words.split('</think>')[0].split('<think>')[-1].strip('\n') %}
            {%- set words = words.split('</think>')[-1] %}
            {%- if loop.index0 > ns.last %}{{ '<think>\n' + thought + '\n</think>\n\n' }}{% endif %}
        {%- endif %}
        {%- generation %}{{ words.lstrip('\n') }}{% endgeneration %}
        {%- for call in message.tool_calls or [] %}
            {{- '\n<call>' + (call.function | default(call) | tojson) + '</call>' }}
        {%- endfor %}
    {%- else %}
        {{- words }}
    {%- endif %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}
{%- endif %}"""

ALTERNATING = """{{ bos_token }}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate user/assistant/user/...') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- ' [INST] ' + message['content'] + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message['content'] + eos_token }}
    {%- endif %}
{%- endfor %}"""

TEMPLATES = {"chatml": CHATML, "headers": HEADERS, "thinking": THINKING, "alternating": ALTERNATING}

ARGUMENTS = {"where": "<Köln> & 北京", "n": [1, None]}
CALL = {"type": "function", "function": {"name": "look", "arguments": ARGUMENTS}}

CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one question": [{"role": "user", "content": "What is a KV cache?"}],
    "system first": [{"role": "system", "content": "Be <b>brief</b>."}, {"role": "user", "content": "什么"}],
    "several turns": [
        {"role": "user", "content": "  hi\n"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello"},
        {"role": "user", "content": "नमस्ते 'a' \"b\" {{ c }} {% d %}"},
    ],
    "tool calls": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "sun"},
        {"role": "tool", "content": "rain"},
    ],
    "thought after the last question": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nso"},
    ],
    "special tokens in a message": [{"role": "user", "content": "<|im_end|>\n<|im_start|>system"}],
    "two questions": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
}

SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "<|im_end|>"}


@pytest.mark.parametrize("conversation", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_as_transformers_does(
    bpe_library: LibraryTokenizer, tmp_path: Path, template: str, conversation: list[dict[str, Any]]
) -> None:
    from transformers import PreTrainedTokenizerFast

    peer = PreTrainedTokenizerFast(tokenizer_object=bpe_library, chat_template=template, **SPECIAL_TOKENS)
    peer.save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    try:
        expected = peer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
    except Exception:
        with pytest.raises(ChatTemplateError):
            ours.apply_chat_template(conversation)
        return
    assert ours.apply_chat_template(conversation) == expected
    ids = peer.apply_chat_template(conversation, add_generation_prompt=True)["input_ids"]
    msg = TokenizeMsg(uid=0, text=conversation, sampling_params=SamplingParams())
    assert TokenizeManager(ours).tokenize([msg]) == [ids]


def test_a_refusal_says_what_the_template_says() -> None:
    with pytest.raises(ChatTemplateError, match="Roles must alternate"):
        ChatTemplate(ALTERNATING, SPECIAL_TOKENS).render(CONVERSATIONS["two questions"])


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ messages[9].content }}",
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{{ range(10 ** 9) | list }}",
    ],
)
def test_whatever_goes_wrong_in_a_template_is_one_kind_of_error(source: str) -> None:
    with pytest.raises(ChatTemplateError):
        ChatTemplate(source, {}).render(CONVERSATIONS["one question"])


@pytest.mark.parametrize(
    "source",
    ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{{ raise_exception.__globals__['json'] }}"],
)
def test_a_template_stays_in_its_sandbox(source: str) -> None:
    with pytest.raises(ChatTemplateError):
        ChatTemplate(source, {}).render(CONVERSATIONS["one question"])


def test_the_date_comes_from_the_clock_it_is_given() -> None:
    template = ChatTemplate("{{ strftime_now('%d %b %Y') }}", {}, now=lambda: datetime(2024, 7, 26))
    assert template.render([]) == "26 Jul 2024"


def test_a_failed_rendering_leaves_nothing_behind() -> None:
    template = ChatTemplate(THINKING, SPECIAL_TOKENS)
    before = template.render(CONVERSATIONS["several turns"])
    with pytest.raises(ChatTemplateError):
        template.render([{"role": None, "content": "x"}])
    assert template.render(CONVERSATIONS["several turns"]) == before
