"""What a server that is ready tells its reader to type."""

from __future__ import annotations

from minisgl_tutor.server.announce import usage


def test_chat_is_told_where_the_server_is_unless_it_asks_there_anyway() -> None:
    assert 'my-program chat "What' in usage("http://127.0.0.1:1919", "tiny", "my-program")
    assert "chat --url http://127.0.0.1:80 " in usage("http://127.0.0.1:80", "tiny", "my-program")
