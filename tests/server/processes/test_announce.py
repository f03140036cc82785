"""What a server that is ready tells its reader to type."""

from __future__ import annotations

from minisgl_tutor.server.processes.announce import gaps_line, top_line, usage


def test_chat_is_told_where_the_server_is_unless_it_asks_there_anyway() -> None:
    assert 'my-program chat "What' in str(usage("http://127.0.0.1:1919", "tiny", "my-program"))
    assert "chat --url http://127.0.0.1:80 " in str(usage("http://127.0.0.1:80", "tiny", "my-program"))


def test_top_is_told_where_the_server_is_likewise() -> None:
    assert str(top_line("http://127.0.0.1:1919", "me")).endswith("\n  me top")
    assert str(top_line("http://127.0.0.1:80", "me")).endswith("\n  me top --url http://127.0.0.1:80")


def test_faults_that_were_asked_for_are_named() -> None:
    assert "early-break, late-abort (`me gaps`" in str(gaps_line(("early-break", "late-abort"), "me"))
