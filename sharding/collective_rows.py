"""Table of collectives, shared by passes, interpreter, code generation and cost models.

A new collective needs a row here and an operation in `dialects/shard/collectives.py`. It needs
implementations in the interpreter and the runtime only if its row does not say what it does. Byte
counts are those that each process sends in ring algorithms (Thakur, Rabenseifner, Gropp,
"Optimization of Collective Communication Operations in MPICH", 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .local_shape import interval


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One algorithm for a collective among `n` processes, by what each process sends.

    - `messages`: number of consecutive messages;
    - `sent`: bytes sent per byte of the operand;
    - `to_neighbours`: all messages go to the next process in a ring.
    """

    messages: Callable[[int], float]
    sent: Callable[[int], float]
    to_neighbours: bool = False


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """One collective of the `shard` dialect.

    - `name`: the name of the operation, without the dialect;
    - `sent`: bytes that each of `n` processes of a group sends per byte of its operand;
    - `algorithms`: possible algorithms, of which cost models take the fastest;
    - `divides`: the attribute with the dimension of which each process gets one piece;
    - `joins`: the attribute with the dimension along which pieces are concatenated;
    - `parameters`: other integer attributes that must be equal on all processes;
    - `reduces`: operands are combined by the attribute `reduction`;
    - `is_rooted`: one process of the group is the root;
    - `is_message`: point-to-point; the other process takes part by another operation.
    """

    name: str
    sent: Callable[[int], float]
    algorithms: tuple[Algorithm, ...] = ()
    divides: str = ""
    joins: str = ""
    parameters: tuple[str, ...] = ()
    reduces: bool = False
    is_rooted: bool = False
    is_message: bool = False

    @property
    def operation(self) -> str:
        """The name of the operation, with the dialect."""
        return f"shard.{self.name}"

    @property
    def is_local(self) -> bool:
        """Whether each process slices its own operand, and nothing is sent."""
        return bool(self.divides) and not (self.joins or self.reduces or self.is_rooted)

    @property
    def replicates(self) -> bool:
        """Whether all processes of a group get the same result.

        A root takes what it reduces or joins for itself, and gives anything else to all.
        """
        return not self.divides and (self.reduces or bool(self.joins)) is not self.is_rooted

    @property
    def numbers(self) -> tuple[str, ...]:
        """The integer attributes that must be equal on all processes."""
        return tuple(name for name in (self.divides, self.joins, *self.parameters) if name)

    def result_shape(
        self, shapes: Sequence[tuple[int, ...]], rank: int, axis: int, concat_axis: int = 0
    ) -> tuple[int, ...]:
        """Return the result shape of the process at `rank`.

        `shapes` are the operand shapes in group order. `axis` is the dimension that is divided or
        joined; if both happen, `concat_axis` is the one that is joined.
        """
        if not self.divides and not self.joins:
            return shapes[rank]
        pieces = [list(shape) for shape in shapes]
        if self.divides:
            for piece in pieces:
                start, end = interval(piece[axis], len(shapes), rank)
                piece[axis] = end - start
        own = pieces[rank]
        if self.joins:
            joined = concat_axis if self.divides else axis
            own[joined] = sum(piece[joined] for piece in pieces)
        return tuple(own)


def _nothing(n: int) -> float:
    return 0.0


def _once(n: int) -> float:
    return 1.0


def _to_all(n: int) -> float:
    """Return `n - 1`: every operand is passed on to all other processes."""
    return float(n - 1)


def _scattered(n: int) -> float:
    """Return (n - 1) / n: a process sends all pieces but its own."""
    return (n - 1) / n


def _scattered_and_gathered(n: int) -> float:
    return 2 * (n - 1) / n


def _rounds(n: int) -> float:
    """Return how often a group can be halved until one process is left, rounded up."""
    return float(max(0, n - 1).bit_length())


def _twice(messages: Callable[[int], float]) -> Callable[[int], float]:
    return lambda n: 2 * messages(n)


def _half_each_round(n: int) -> float:
    return _rounds(n) / 2


def _rounds_and_ring(n: int) -> float:
    return _rounds(n) + n - 1


def _one_message(n: int) -> float:
    return float(n > 1)


# The comments name the algorithms as Thakur, Rabenseifner and Gropp do.
_MESSAGE = (Algorithm(_one_message, _once, to_neighbours=True),)
_TREE_OF_PIECES = (Algorithm(_rounds, _scattered),)

ALL_GATHER = CollectiveRow(
    "all_gather",
    _to_all,
    (
        Algorithm(_to_all, _to_all, to_neighbours=True),  # ring
        Algorithm(_rounds, _to_all),  # recursive doubling
    ),
    joins="gather_axis",
)
ALL_REDUCE = CollectiveRow(
    "all_reduce",
    _scattered_and_gathered,
    (
        Algorithm(_twice(_to_all), _scattered_and_gathered, to_neighbours=True),  # ring
        Algorithm(_twice(_rounds), _scattered_and_gathered),  # Rabenseifner
        Algorithm(_rounds, _rounds),  # recursive doubling
    ),
    reduces=True,
)
ALL_SLICE = CollectiveRow("all_slice", _nothing, divides="slice_axis")
ALL_TO_ALL = CollectiveRow(
    "all_to_all",
    _scattered,
    (
        Algorithm(_to_all, _scattered),  # pairwise exchange
        Algorithm(_rounds, _half_each_round),  # Bruck
    ),
    divides="split_axis",
    joins="concat_axis",
)
BROADCAST = CollectiveRow(
    "broadcast",
    _scattered_and_gathered,
    (
        Algorithm(_rounds_and_ring, _scattered_and_gathered),  # scatter, then all-gather
        Algorithm(_rounds, _rounds),  # tree
    ),
    is_rooted=True,
)
GATHER = CollectiveRow(
    "gather", _to_all, (Algorithm(_rounds, _to_all),), joins="gather_axis", is_rooted=True
)
RECV = CollectiveRow("recv", _nothing, is_message=True)
REDUCE = CollectiveRow("reduce", _scattered, _TREE_OF_PIECES, reduces=True, is_rooted=True)
REDUCE_SCATTER = CollectiveRow(
    "reduce_scatter",
    _scattered,
    (
        Algorithm(_to_all, _scattered, to_neighbours=True),  # ring
        Algorithm(_rounds, _scattered),  # recursive halving
    ),
    divides="scatter_axis",
    reduces=True,
)
SCATTER = CollectiveRow(
    "scatter", _scattered, _TREE_OF_PIECES, divides="scatter_axis", is_rooted=True
)
SEND = CollectiveRow("send", _once, _MESSAGE, is_message=True)
SHIFT = CollectiveRow("shift", _once, _MESSAGE, parameters=("shift_axis", "offset"))
UPDATE_HALO = CollectiveRow("update_halo", _nothing, _MESSAGE)
"""The bytes sent depend on the halos; see the cost report and `reshard_steps.py`."""

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
"""Rows by operation name."""

BY_NAME = {row.name: row for row in COLLECTIVES.values()}
"""Rows by operation name without the dialect."""

PURE_COLLECTIVES = frozenset(name for name, row in COLLECTIVES.items() if not row.is_message)
"""Collectives without side effects: their results depend only on the operands of all devices."""
