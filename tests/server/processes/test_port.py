from __future__ import annotations

import errno
import os
import socket

import pytest

from minisgl_tutor.server.processes.port import Port, bind_port, listen, url_of
from minisgl_tutor.server.workers.errors import StartError


def test_a_bound_port_refuses_clients_until_it_listens() -> None:
    with bind_port("127.0.0.1", 0) as sock:
        address = sock.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        listen(sock)
        socket.create_connection(address).close()


def test_a_taken_port_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartError, match=f"port {port} on 127.0.0.1 is taken.*--port {port + 1}"):
            bind_port("127.0.0.1", port)


def test_of_two_that_are_bound_the_slower_is_told() -> None:
    with bind_port("127.0.0.1", 0) as one, bind_port("127.0.0.1", one.getsockname()[1]) as two:
        listen(one)
        with pytest.raises(StartError, match="is taken"):
            listen(two)


@pytest.mark.parametrize("host", ["192.0.2.1", "a" * 300, "\udcff"])
def test_a_host_that_is_not_this_machine_says_what_to_do(host: str) -> None:
    with pytest.raises(StartError, match="--host"):
        bind_port(host, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open any port")
def test_a_port_for_root_says_what_to_do() -> None:
    with pytest.raises(StartError, match="above 1023"):
        bind_port("127.0.0.1", 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "::1", "::"])
def test_the_url_can_be_reached(host: str) -> None:
    try:
        sock = bind_port(host, 0)
    except StartError:
        pytest.skip(f"this machine has no {host}")
    with sock:
        listen(sock)
        name, _, port = url_of(sock).removeprefix("http://").rpartition(":")
        socket.create_connection((name.strip("[]"), int(port))).close()


class FullPort(Port):
    """Finds no file left for a new client as often as ``full`` says."""

    full = 0

    def _accept(self) -> tuple[int, object]:
        if self.full:
            self.full -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super()._accept()


def test_a_client_for_whom_no_file_is_left_is_turned_away(caplog: pytest.LogCaptureFixture) -> None:
    """It does not wait for ever, the server goes on, and its log says so once."""
    with FullPort(socket.AF_INET, socket.SOCK_STREAM, 0) as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        for full in (1, 1, 0):
            with socket.create_connection(port.getsockname()) as client:
                port.full = full
                if full:
                    with pytest.raises(BlockingIOError):
                        port.accept()
                    assert client.recv(1) == b""
                else:
                    port.accept()[0].close()
    (record,) = caplog.records
    assert "Too many open files: clients are turned away" in record.getMessage()


def test_without_a_spare_file_nothing_is_lost_but_the_client() -> None:
    with FullPort(socket.AF_INET, socket.SOCK_STREAM, 0) as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        with socket.create_connection(port.getsockname()) as client:
            port.full = 2
            with pytest.raises(BlockingIOError):
                port.accept()
            port.accept()[0].close()
            assert client.recv(1) == b""


def test_other_errors_of_accepting_are_not_hidden() -> None:
    with (
        Port(socket.AF_INET, socket.SOCK_STREAM, 0) as port,
        pytest.raises(OSError, match="Invalid argument"),
    ):
        port.accept()
