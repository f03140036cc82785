from __future__ import annotations

import os
import socket

import pytest

from minisgl_tutor.server.errors import StartError
from minisgl_tutor.server.port import bind_port, listen, url_of


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
