"""The one error that keeps a server from starting."""


class StartError(RuntimeError):
    """The server cannot start. Made with a ``Sentence`` for the user: what is wrong and what to do."""
