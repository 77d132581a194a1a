"""What every communicator must do: each collective, on even and uneven shards, for all types.

`check(communicator)` runs on every process at once; what is expected comes from the interpreter's
collectives on all processes' arrays, which each process can compute by itself. In `make nightly`
every collective and every kind of reduction runs on every element type.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import ml_dtypes
import numpy as np
from breadth import NIGHTLY, sampled
from mesh_opt.interpreter import collectives as reference
from mesh_opt.runtime.abi.elements import BF16, F16, F32, F64, I1, I64, Element, integer_element
from mesh_opt.runtime.collectives import Collective, Group, group_of
from mesh_opt.runtime.communicator import Communicator
from mesh_opt.sharding.collective_rows import BY_NAME
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import Axes, ReductionKind
from xdsl.dialects import builtin

TYPES: list[tuple[Element, Any]] = [
    (F32, builtin.f32),
    (F64, builtin.f64),
    (F16, builtin.f16),
    (BF16, builtin.bf16),
    (I1, builtin.i1),
    (integer_element(4), builtin.IntegerType(4)),
    (integer_element(8), builtin.IntegerType(8)),
    (integer_element(32), builtin.i32),
    (I64, builtin.i64),
]
GATHERED = [F32, BF16, I1]
OTHERS = TYPES if NIGHTLY else TYPES[:1]
"""Of collectives other than all-gathers and reductions to all, which are of all types."""

GRIDS = {4: [(2, 2)], 6: [(2, 3)], 8: [(2, 2, 2), (4, 2), (2, 4)]}
"""By their number, grids of processes that are not in one row."""

FLOAT_KINDS = ["sum", "product", "max", "min", "average"]
INTEGER_KINDS = [*FLOAT_KINDS, "bitwise_and", "bitwise_or", "bitwise_xor"]


def data(element: Element, shape: tuple[int, ...], process: int) -> np.ndarray:
    rng = np.random.default_rng(100 + process)
    if element.is_float:
        return rng.integers(-4, 5, shape).astype(element.dtype)
    if element.width == 1:
        return rng.integers(0, 2, shape).astype(bool)
    top = 1 << (min(element.width, 8) - 1)
    return rng.integers(-top, top, shape).astype(element.dtype)


class Checker:
    """Runs collectives on one process and compares with the reference."""

    def __init__(self, communicator: Communicator, grid: Grid, axes: tuple[int, ...]) -> None:
        self.communicator = communicator
        self.group = group_of(grid, communicator.process, axes)
        self.element, self.type = OTHERS[0]

    def run(
        self,
        kind: str,
        shapes: list[tuple[int, ...]],
        expected: Any,
        element: Element | None = None,
        result: Element | None = None,
        **options: Any,
    ) -> None:
        group = self.group
        element = element or self.element
        arrays = [
            data(element, shape, process)
            for shape, process in zip(shapes, group.processes, strict=True)
        ]
        row, own_shape = BY_NAME.get(kind), shapes[group.index]
        if row is not None:
            axes = options.get("axis", 0), options.get("concat_axis", 0)
            own_shape = row.result_shape(shapes, group.index, *axes)
        collective = Collective(
            kind,
            group,
            shapes[group.index],
            element,
            own_shape,
            result or element,
            shapes=tuple(shapes),
            **options,
        )
        found = self.communicator.perform(collective, arrays[group.index])
        want = expected(arrays)[group.index]
        if want is not None:
            assert found.dtype == want.dtype, (kind, found.dtype, want.dtype)
            assert found.shape == want.shape, (kind, found.shape, want.shape)
            assert np.array_equal(found, want), (kind, element.name, options, found, want)


def check(communicator: Communicator, *, in_a_row: bool = False) -> None:
    """All collectives over all groups of some grids of as many processes as there are.

    With `in_a_row` only over all processes, and without the large tensor.
    """
    count = communicator.world.size
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for shape in ((count,), *(() if in_a_row else GRIDS.get(count, []))):
        grid = Grid("g", shape)
        every = range(grid.rank)
        groups = [axes for axis in every for axes in combinations(every, axis + 1)]
        turned = {tuple(every[::-1]), (grid.rank - 1, 0)} if grid.rank > 1 else set[Axes]()
        for axes in (*groups, *sorted(turned)):
            members = tuple(group_of(grid, process, axes).processes for process in range(count))
            if members in seen:
                continue
            seen.add(members)
            checker = Checker(communicator, grid, axes)
            check_reductions(checker, checker.group, 53 if in_a_row else 5003)
            for checker.element, checker.type in OTHERS:
                check_moves(checker, checker.group)
                check_roots(checker, checker.group)
                check_neighbours(checker, checker.group)


def check_moves(checker: Checker, group: Group) -> None:
    n = group.size
    for axis, element in product((0, 1, 2), [*GATHERED, checker.element]):
        even = [(2, 3, 4)] * n
        uneven = [tuple(size + (rank if d == axis else 0) for d, size in enumerate((2, 3, 4)))
                  for rank in range(n)]  # fmt: skip
        for shapes in (even, uneven):
            checker.run(
                "all_gather",
                shapes,
                lambda arrays, axis=axis: [reference.joined(arrays, axis)] * n,
                element,
                axis=axis,
            )
    for split, concat in product((0, 1, 2), repeat=2):
        for base in ((n * 2, n, n * 3), (n * 2 + 1, n + 1, n * 3 - 1)):
            checker.run(
                "all_to_all",
                [base] * n,
                lambda arrays, s=split, c=concat: reference.all_to_all(arrays, s, c),
                axis=split,
                concat_axis=concat,
            )
    uneven = [(n + 1, 2 + rank, 3) for rank in range(n)]
    checker.run(
        "all_to_all", uneven, lambda a: reference.all_to_all(a, 0, 1), axis=0, concat_axis=1
    )
    for size in (n * 2, n * 2 + 1):
        checker.run(
            "all_slice",
            [(2, size, 3)] * n,
            lambda arrays: [reference.pieces(arrays[r], 1, n)[r] for r in range(n)],
            axis=1,
        )


def check_reductions(checker: Checker, group: Group, large: int) -> None:
    n = group.size
    for number, (element, kind_of) in enumerate(TYPES):
        kinds = FLOAT_KINDS if element.is_float else INTEGER_KINDS
        for name in sampled(kinds, 3, number % 3):
            kind = ReductionKind(name)

            def reduce(arrays, kind=kind, type_=kind_of):
                return reference.reduced(arrays, kind, type_)

            checker.run(
                "all_reduce",
                [(3, 5)] * n,
                lambda arrays, reduce=reduce: [reduce(arrays)] * n,
                element,
                reduction=kind,
            )
            for size in (2 * n, 2 * n + 1):
                checker.run(
                    "reduce_scatter",
                    [(2, size, 3)] * n,
                    lambda arrays, reduce=reduce: reference.pieces(reduce(arrays), 1, n),
                    element,
                    axis=1,
                    reduction=kind,
                )
    # Large enough to be cut into parts, and not a multiple of their number.
    checker.run(
        "all_reduce",
        [(large,)] * n,
        lambda arrays: [reference.reduced(arrays, ReductionKind.SUM, builtin.f32)] * n,
        F32,
    )
    # Converted to the result's type first.
    checker.run(
        "all_reduce",
        [(7,)] * n,
        lambda arrays: [sum(each.astype(np.float64) for each in arrays)] * n,
        F32,
        F64,
    )
    # One rounding: 1 + 2^-9 + 2^-9 is no bf16 on the way, but is one at the end.
    if n == 3:
        tiny = [1.0, 2.0**-9, 2.0**-9]
        own = np.full(4, tiny[group.index], ml_dtypes.bfloat16)
        found = checker.communicator.perform(
            Collective("all_reduce", group, (4,), BF16, (4,), BF16), own
        )
        assert float(found[0]) == float(ml_dtypes.bfloat16(sum(tiny)))


def check_roots(checker: Checker, group: Group) -> None:
    n = group.size
    for root in range(n):

        def only(value, root=root):
            return [value if rank == root else None for rank in range(n)]

        checker.run("broadcast", [(3, 2)] * n, lambda arrays, r=root: [arrays[r]] * n, root=root)
        shapes = [(2, 3 + rank) for rank in range(n)]
        checker.run(
            "gather",
            shapes,
            lambda arrays, only=only: only(reference.joined(arrays, 1)),
            axis=1,
            root=root,
        )
        checker.run(
            "scatter",
            [(2, n + 1)] * n,
            lambda arrays, r=root: reference.pieces(arrays[r], 1, n),
            axis=1,
            root=root,
        )
        checker.run(
            "reduce",
            [(3, 2)] * n,
            lambda arrays, only=only: only(
                reference.reduced(arrays, ReductionKind.SUM, checker.type)
            ),
            root=root,
        )


def check_neighbours(checker: Checker, group: Group) -> None:
    n, rank = group.size, group.index
    before, after = (rank - 1) % n, (rank + 1) % n
    checker.run(
        "shift",
        [(3, 2)] * n,
        lambda arrays: [arrays[(r - 1) % n] for r in range(n)],
        sender=before,
        receiver=after,
    )
    checker.run(
        "shift",
        [(3, 2)] * n,
        lambda arrays: [arrays[r - 1] if r else np.zeros_like(arrays[0]) for r in range(n)],
        sender=before if rank else None,
        receiver=after if rank < n - 1 else None,
    )
    for axis, low, high in product((0, 1), (0, 1, 2), (0, 1, 2)):
        base = [5, 6]
        shapes: list[tuple[int, ...]] = []
        for member in range(n):
            sizes = list(base)
            sizes[axis] += member + low + high
            shapes.append(tuple(sizes))
        checker.run(
            "update_halo",
            shapes,
            lambda arrays, a=axis, lo=low, hi=high: reference.exchanged_halos(arrays, a, lo, hi),
            axis=axis,
            low=low,
            high=high,
        )
