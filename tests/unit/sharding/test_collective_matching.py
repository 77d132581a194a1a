"""Which two devices are named where collectives do not match."""

from __future__ import annotations

import pytest
from mesh_opt.sharding.collective_matching import (
    ENDED,
    RECEIVE,
    SEND,
    CollectiveSignature,
    DeviceState,
    find_mismatch,
)

TYPE = "tensor<4xf32>"


def at(*group: int, kind: str = "all_reduce") -> DeviceState:
    return DeviceState(CollectiveSignature(kind, group, TYPE, "f32", TYPE, (4,)), kind)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({0: at(0, 1), 1: at(0, 1)}, None),
        ({0: ENDED, 1: ENDED}, None),
        ({0: at(0, 1), 1: at(0, 1, kind="all_gather")}, (0, 1)),
        ({0: ENDED, 1: at(0, 1)}, (1, 0)),
        # 0 waits for 1, 1 for 2, and 2 has ended.
        ({0: at(0, 1), 1: at(1, 2), 2: ENDED}, (1, 2)),
        # A circle.
        ({0: at(0, 1), 1: at(1, 2), 2: at(2, 0)}, (0, 2)),
        ({0: at(1, kind=RECEIVE), 1: at(0, kind=RECEIVE)}, (0, 1)),
        # Only the last one of a group has not come.
        ({0: at(0, 1, 2), 1: at(0, 1, 2), 2: ENDED}, (0, 2)),
        # What others do is not known.
        ({0: at(0, 1, 2), 2: at(0, 1, 2, kind="all_gather")}, (0, 2)),
    ],
)
def test_pairs(states: dict[int, DeviceState], expected: tuple[int, int] | None) -> None:
    assert find_mismatch(states) == expected


def test_a_signature_is_read_as_it_is_written() -> None:
    one = CollectiveSignature("broadcast", (0, 1), TYPE, "f32", TYPE, (4,), (("root", "[0]"),))
    other = CollectiveSignature("broadcast", (0, 1), TYPE, "f32", TYPE, (4,), (("root", "[1]"),))
    assert CollectiveSignature.parse(one.text()) == one
    assert CollectiveSignature.parse(other.text()) != one
    assert CollectiveSignature.parse("None") is None
    assert one.describe(other) == "broadcast of tensor<4xf32> with root = [0]"


def test_messages_match_by_size_and_element() -> None:
    def message(kind: str, element: str, size: int) -> CollectiveSignature:
        return CollectiveSignature(kind, (0,), TYPE, element, TYPE, (size,))

    sent = message(SEND, "f32", 4)
    assert message(RECEIVE, "f32", 4).takes(sent)
    assert not message(RECEIVE, "f32", 5).takes(sent)
    assert not message(RECEIVE, "i32", 4).takes(sent)
