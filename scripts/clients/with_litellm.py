"""litellm against the server whose address is the argument."""

import sys

import litellm

litellm.suppress_debug_info = True
server = {"api_base": sys.argv[1], "api_key": "none", "model": "openai/minisgl-tutor"}
messages = [{"role": "user", "content": "What is a KV cache?"}]
whole = litellm.completion(**server, messages=messages)
text = whole.choices[0].message.content
assert "attention" in text and whole.choices[0].finish_reason == "stop"
chunks = litellm.completion(**server, messages=messages, stream=True)
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
cut = litellm.completion(**server, messages=messages, n=2, stop=["attention"])
assert [choice.message.content for choice in cut.choices] == [text.partition("attention")[0]] * 2
try:
    litellm.completion(**server, messages=messages, temperature=101)
except litellm.BadRequestError as error:
    assert "'temperature'" in str(error)
else:
    raise AssertionError("a temperature of 101 was taken")
