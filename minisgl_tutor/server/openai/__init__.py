"""The HTTP form of requests, answers and errors, as the clients of OpenAI's API know it."""
