from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from minisgl_tutor.server.workers.addresses import (
    Addresses,
    choose_directory,
    make_directory,
    remove_directory,
)
from minisgl_tutor.server.workers.errors import StartError


def test_each_tokenizer_has_an_address() -> None:
    addresses = Addresses.within(Path("/tmp/x"), 2)
    assert addresses.tokenizers == ("ipc:///tmp/x/tokenizer-0", "ipc:///tmp/x/tokenizer-1")
    everyone = {addresses.frontend, addresses.scheduler, addresses.detokenizer, *addresses.tokenizers}
    assert len(everyone) == 5


def test_without_tokenizers_texts_go_to_the_detokenizer() -> None:
    addresses = Addresses.within(Path("/tmp/x"), 0)
    assert addresses.tokenizers == (addresses.detokenizer,)


def test_the_directory_is_private_and_removed_with_what_is_in_it() -> None:
    directory = choose_directory()
    assert not directory.exists()
    make_directory(directory)
    make_directory(directory)  # as several processes do
    assert directory.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(directory / "tokenizer-63"))
    remove_directory(directory)
    remove_directory(directory)
    assert not directory.exists()


def test_a_directory_of_its_own_for_each_server() -> None:
    assert choose_directory() != choose_directory()


def test_a_parent_with_a_long_path_is_passed_over(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    assert choose_directory((long, Path("/tmp"))).parent == Path("/tmp")


def test_no_usable_parent_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"none cannot be written; set TMPDIR"):
        choose_directory((tmp_path / "none",))


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"No such file.*set TMPDIR"):
        make_directory(tmp_path / "none" / "at all")


def test_removal_copes_with_others_who_write_and_remove(tmp_path: Path) -> None:
    directory = tmp_path / "sockets"
    directory.mkdir()
    start = threading.Barrier(3)

    def write() -> None:
        start.wait()
        for number in range(50):
            try:
                (directory / str(number)).touch()
            except OSError:
                return

    def remove() -> None:
        start.wait()
        remove_directory(directory)

    others = [threading.Thread(target=write), threading.Thread(target=remove)]
    for other in others:
        other.start()
    start.wait()
    remove_directory(directory)
    for other in others:
        other.join()
    remove_directory(directory)
    assert not os.path.lexists(directory)
