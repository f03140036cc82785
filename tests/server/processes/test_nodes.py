"""The rank of a launch by torch's standard variables."""

from __future__ import annotations

import pytest

from minisgl_tutor.distributed.seat import Seat, local_seats
from minisgl_tutor.server.processes.nodes import seat_of_launch
from minisgl_tutor.server.workers.errors import StartError

MASTER = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


def test_without_the_variables_a_launch_starts_all_ranks() -> None:
    assert seat_of_launch(4, {}) is None
    assert seat_of_launch(4, {"WORLD_SIZE": "1", "RANK": "0"}) is None
    assert local_seats(2, "/m") == [Seat(0, 2, 0, 2, "/m"), Seat(1, 2, 1, 2, "/m")]


def test_as_torchrun_sets_them_on_two_machines_of_two() -> None:
    variables = {**MASTER, "WORLD_SIZE": "4", "RANK": "3", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    assert seat_of_launch(4, variables) == Seat(3, 4, 1, 2, None)


def test_by_hand_with_one_rank_a_machine() -> None:
    assert seat_of_launch(2, {**MASTER, "WORLD_SIZE": "2", "RANK": "1"}) == Seat(1, 2, 0, 1, None)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"RANK": None}, "WORLD_SIZE is set but RANK is not"),
        ({"MASTER_ADDR": None}, "WORLD_SIZE is set but MASTER_ADDR is not"),
        ({"MASTER_PORT": "http"}, "is not a number: .*http"),
        ({"WORLD_SIZE": "3"}, "WORLD_SIZE is 3 but --tp is 2; give --tp 3, or unset WORLD_SIZE"),
        ({"RANK": "2"}, "RANK 2 of WORLD_SIZE 2 .* do not fit together"),
        ({"LOCAL_RANK": "1"}, "LOCAL_RANK 1 of LOCAL_WORLD_SIZE 1 do not fit together"),
    ],
)
def test_variables_that_do_not_fit(changes: dict[str, str | None], sentence: str) -> None:
    variables: dict[str, str | None] = {**MASTER, "WORLD_SIZE": "2", "RANK": "1", **changes}
    with pytest.raises(StartError, match=sentence):
        seat_of_launch(2, {name: value for name, value in variables.items() if value is not None})
