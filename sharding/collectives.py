"""What each collective is: one row, from which passes, interpreter, code generation and costs read.

A new collective is a row here, an operation in `dialects/shard/collectives.py`, and its meaning in
the interpreter and in the runtime. Bytes are those that each process sends by ring algorithms
(Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """One collective of the `shard` dialect.

    - `name`: that of the operation, without the dialect;
    - `sent`: the bytes that each of `n` processes of a group sends for each byte that it brings;
    - `divides`: the attribute that names the dimension of which each process gets one piece;
    - `joins`: the attribute that names the dimension along which the pieces of all are joined;
    - `parameters`: other integer attributes that must be equal on all processes;
    - `reduces`: what is brought is combined by `reduction`;
    - `is_rooted`: one process of the group is the root;
    - `is_message`: it is for one process, which takes it by another operation.
    """

    name: str
    sent: Callable[[int], float]
    divides: str = ""
    joins: str = ""
    parameters: tuple[str, ...] = ()
    reduces: bool = False
    is_rooted: bool = False
    is_message: bool = False

    @property
    def operation(self) -> str:
        """The name of the operation."""
        return f"shard.{self.name}"

    @property
    def numbers(self) -> tuple[str, ...]:
        """The integer attributes that must be equal on all processes."""
        return tuple(name for name in (self.divides, self.joins, *self.parameters) if name)


def _nothing(n: int) -> float:
    return 0.0


def _once(n: int) -> float:
    return 1.0


def _to_all(n: int) -> float:
    """What a process brings is passed on `n - 1` times."""
    return float(n - 1)


def _scattered(n: int) -> float:
    """All but its own piece leaves a process."""
    return (n - 1) / n


def _scattered_and_gathered(n: int) -> float:
    return 2 * (n - 1) / n


ALL_GATHER = CollectiveRow("all_gather", _to_all, joins="gather_axis")
ALL_REDUCE = CollectiveRow("all_reduce", _scattered_and_gathered, reduces=True)
ALL_SLICE = CollectiveRow("all_slice", _nothing, divides="slice_axis")
ALL_TO_ALL = CollectiveRow("all_to_all", _scattered, divides="split_axis", joins="concat_axis")
BROADCAST = CollectiveRow("broadcast", _scattered_and_gathered, is_rooted=True)
GATHER = CollectiveRow("gather", _to_all, joins="gather_axis", is_rooted=True)
RECV = CollectiveRow("recv", _nothing, is_message=True)
REDUCE = CollectiveRow("reduce", _scattered, reduces=True, is_rooted=True)
REDUCE_SCATTER = CollectiveRow("reduce_scatter", _scattered, divides="scatter_axis", reduces=True)
SCATTER = CollectiveRow("scatter", _scattered, divides="scatter_axis", is_rooted=True)
SEND = CollectiveRow("send", _once, is_message=True)
SHIFT = CollectiveRow("shift", _once, parameters=("shift_axis", "offset"))
UPDATE_HALO = CollectiveRow("update_halo", _nothing)
"""What it sends depends on its halos: see the cost report and `reshard_steps.py`."""

COLLECTIVES = {
    row.operation: row
    for row in (
        ALL_GATHER,
        ALL_REDUCE,
        ALL_SLICE,
        ALL_TO_ALL,
        BROADCAST,
        GATHER,
        RECV,
        REDUCE,
        REDUCE_SCATTER,
        SCATTER,
        SEND,
        SHIFT,
        UPDATE_HALO,
    )
}
"""Rows by the names of operations."""

PURE_COLLECTIVES = frozenset(name for name, row in COLLECTIVES.items() if not row.is_message)
"""Collectives whose result depends on their operands only, on all devices alike."""
