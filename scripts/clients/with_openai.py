"""The openai package, synchronous, against the server whose address is the argument."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
messages = [{"role": "user", "content": "What is a KV cache?"}]
(model,) = client.models.list().data
whole = client.chat.completions.create(model=model.id, messages=messages)
text = whole.choices[0].message.content
with client.chat.completions.stream(
    model=model.id, messages=messages, stream_options={"include_usage": True}
) as stream:
    for _ in stream:
        pass
    final = stream.get_final_completion()
assert final.choices[0].message.content == text
assert final.usage.completion_tokens == whole.usage.completion_tokens
raw = client.chat.completions.with_raw_response.create(model=model.id, messages=messages, stop=["attention"])
assert raw.parse().choices[0].message.content == text.partition("attention")[0]
try:
    client.chat.completions.create(
        model=model.id, messages=messages, timeout=0.05, n=3, max_tokens=300, extra_body={"ignore_eos": True}
    )
except openai.APITimeoutError:
    pass
else:
    raise AssertionError("three long answers came within 50 ms")
for refused, kind in (
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.BadRequestError),
    ({"max_tokens": 0}, openai.BadRequestError),
):
    try:
        client.chat.completions.create(model=model.id, messages=messages, **refused)
    except kind as error:
        assert error.param in refused
    else:
        raise AssertionError(f"{refused} was taken")
