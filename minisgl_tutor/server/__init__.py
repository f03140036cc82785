"""The server of an LLM over HTTP, from the inside out. No room knows one below it.

- ``openai``: the form of requests, answers and errors
- here: the routes, the front end behind them, and who builds the components
- ``limits``: what clients may do to it
- ``workers``: a parent and its worker processes, whatever these do
- ``operations``: what is told of a server that runs: metrics, health of workers, who holds what
- ``processes``: the processes that all this runs in, and who starts them
"""
