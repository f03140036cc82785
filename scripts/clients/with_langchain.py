"""langchain-openai against the server whose address is the argument."""

import sys

from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI, OpenAI

QUESTION = "What is a KV cache?"

server = {"base_url": sys.argv[1], "api_key": "none", "model": "minisgl-tutor"}
chat = ChatOpenAI(**server)
whole = chat.invoke(QUESTION)
assert "attention" in whole.content
assert whole.response_metadata["finish_reason"] == "stop"
assert whole.usage_metadata["output_tokens"] > 20
pieces = list(chat.stream(QUESTION, stream_usage=True))
assert "".join(piece.content for piece in pieces) == whole.content
assert sum(piece.usage_metadata["output_tokens"] for piece in pieces if piece.usage_metadata) > 20

several = ChatOpenAI(**server, n=2, stop=["attention"], logprobs=True, top_logprobs=2)
(choices,) = several.generate([[HumanMessage(QUESTION)]]).generations
assert [choice.text for choice in choices] == [whole.content.partition("attention")[0]] * 2
assert choices[0].generation_info["logprobs"]["content"]

assert OpenAI(**server, max_tokens=8).invoke("A KV cache is")
