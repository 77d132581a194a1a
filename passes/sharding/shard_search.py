"""`shard-search`: choose shardings of arguments and a few inner values by predicted cost.

    shard-search{grid=2x4 machine=gpu-host memory=16GB objective=time}

inserts `shard.shard` operations as `shard-annotate` does, as input for `sharding-propagation` and
`shard-partition`. Existing annotations are kept. The search itself is in `sharding/search/`;
`docs/sharding_search.md` describes the algorithm.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects.shard.grids import GridOp
from ...ir.diagnostics import Note, OperationError, remark, remarks_wanted
from ...ir.locations import maker_of
from ...ir.machine_files import read_machine
from ...ir.text.printer import value_names
from ...ir.usage_error import UsageError
from ...sharding.grid import extents_text
from ...sharding.machine import Machine, MachineError
from ..imports.conversions import convert_imported
from ..imports.import_annotations import import_annotations
from .cost.cost_report import time_text
from .cost.program_cost import Cost
from .propagation.graph import ShardingGraph, build_graph
from .search.candidates import Objective, annotate
from .search.grid_search import Found, GridSearch
from .search.plans import Key, keys_of
from .shard_annotate import find_or_create_grid

MAX_AXES = 3
"""Maximum number of axes of the grids that are tried for a number of devices."""


@dataclass(frozen=True)
class ShardSearchPass(ModulePass):
    """Annotate a program with the shardings of least predicted cost on a machine."""

    name = "shard-search"

    grid: str = ""
    """Extents (`2x4`), a grid of the program (`@name`), or the only grid that the program has."""

    devices: int | None = None
    """The number of devices, in place of `grid`; all grids of that many devices are tried."""

    machine: str = "gpu-host"
    """A preset, or a TOML file: see `--machine`."""

    memory: str = ""
    """Memory limit of a device, such as `16GB`; by default the memory of the machine's devices."""

    objective: Literal["time", "bytes"] = "time"
    """What to minimise: predicted time, or bytes sent with work in the same units."""

    time_limit: float = 30.0
    """Time limit in seconds; then the best plan found so far is taken."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Only the operations that a program is converted to have a cost model.
        convert_imported(op)
        import_annotations(op)
        machine = self._machine()
        objective = Objective(machine, self.objective == "time", self._memory(machine))
        deadline = time.monotonic() + self.time_limit
        if not self.time_limit > 0:
            raise PassFailedException(
                f"option 'time-limit' is {self.time_limit}, expected seconds above 0"
            )
        graph = build_graph(op, everything=True)
        if not graph.functions:
            return
        best: tuple[Found, str] | None = None
        grids = list(self._grids(op, machine))
        for grid, _ in grids:
            _check_annotations(graph, grid)
        for number, (grid, extents) in enumerate(grids):
            left = (deadline - time.monotonic()) / (len(grids) - number)
            try:
                found = GridSearch(
                    ctx, op, graph, grid, extents, objective, time.monotonic() + left
                ).search()
            except MachineError as problem:
                raise PassFailedException(f"machine '{self.machine}' {problem}") from problem
            if best is None or objective.rank(found.cost) < objective.rank(best[0].cost):
                best = found, grid
        assert best is not None
        found, grid = best
        if not objective.fits(found.cost):
            raise OperationError(
                graph.functions[0],
                f"has no sharding that fits into {objective.memory:.0f} bytes of each device; the "
                f"best one found needs {found.cost.peak}",
            )
        if remarks_wanted():
            _explain(found, objective, graph, printed=_names(graph))
        operations = {each: each for each in op.walk()}
        values = {value: value for value in found.program.values}
        annotations = found.annotations()
        if annotations:
            annotate(annotations, find_or_create_grid(op, grid), values, operations)

    def _machine(self) -> Machine:
        try:
            return read_machine(self.machine)
        except UsageError as problem:
            raise PassFailedException(str(problem)) from problem

    def _memory(self, machine: Machine) -> float:
        if not self.memory:
            return machine.device.memory
        units = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}
        units |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
        found = re.fullmatch(r"(\d{1,30}(?:\.\d{1,30})?)\s*([A-Za-z]*)", self.memory)
        if found is None or found.group(2).upper() not in units or not float(found.group(1)):
            raise PassFailedException(
                f"option 'memory' is '{self.memory}', expected bytes, as 16GB or 512MiB"
            )
        return float(found.group(1)) * units[found.group(2).upper()]

    def _grids(self, module: ModuleOp, machine: Machine) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the grids to search on: how annotations name them, and their extents."""
        declared = [each for each in module.body.block.ops if isinstance(each, GridOp)]
        if self.devices is not None:
            if self.grid:
                raise PassFailedException(
                    "options 'grid' and 'devices' exclude each other: use one"
                )
            if not 1 < self.devices <= 1 << 20:
                raise PassFailedException(
                    f"option 'devices' is {self.devices}, expected 2 to {1 << 20}"
                )
            if declared:
                raise PassFailedException(
                    f"option 'devices' is for programs without a grid; this has"
                    f" @{declared[0].sym_name.data}: use grid=@{declared[0].sym_name.data}"
                )
            # With one network all devices are connected alike, and the order of axes makes no
            # difference.
            ordered = len(machine.networks) > 1
            for extents in factorizations(self.devices, ordered=ordered):
                yield extents_text(extents), extents
            return
        name = find_or_create_grid(module, self.grid)
        for each in module.body.block.ops:
            if isinstance(each, GridOp) and each.sym_name.data == name:
                shape = tuple(extent for extent in each.grid.shape if extent is not None)
                if len(shape) != len(each.grid.shape):
                    raise OperationError(each, "has extents that are known only at run time")
                yield f"@{name}", shape


def _check_annotations(graph: ShardingGraph, name: str) -> None:
    """Check that all annotations are on the grid called `name`. Raises OperationError if not."""
    for node, annotation in graph.pinned.items():
        grid = graph.grids[node]
        if grid is not None and f"@{grid.name}" != name:
            raise OperationError(
                annotation.operation,
                f"places a tensor on @{grid.name}, but shardings are searched on {name}; use"
                f" grid=@{grid.name}",
            )


def factorizations(count: int, *, ordered: bool) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of grids of `count` devices with at most `MAX_AXES` axes, fewer first.

    Each extent is at least 2. Unless `ordered`, extents are sorted, so that no shape is a
    permutation of another.
    """

    def split(rest: int, length: int, least: int) -> Iterator[tuple[int, ...]]:
        if length == 1:
            if rest >= least:
                yield (rest,)
            return
        for first in range(least, rest // 2 + 1):
            if rest % first == 0:
                for others in split(rest // first, length - 1, 2 if ordered else first):
                    yield (first, *others)

    for length in range(1, MAX_AXES + 1):
        yield from split(count, length, 2)


def _names(graph: ShardingGraph) -> dict[object, str]:
    found: dict[object, str] = {}
    for function in graph.functions:
        found |= value_names(function)  # pyright: ignore[reportArgumentType]
    return found


def _explain(
    found: Found, objective: Objective, graph: ShardingGraph, printed: dict[object, str]
) -> None:
    grid = extents_text(found.extents)
    notes = [Note(f"before: {_described(found.before, objective)}")]
    if found.solution is None:
        quality = "the integer program was not solved in time; found by trying"
    else:
        gap = found.solution.gap
        how = "optimal" if not gap else f"within {100 * gap:.2g}% of optimal"
        score, price = objective.score(found.cost), found.solution.price
        quality = (
            f"the plan is {how} in the model of the integer program ({found.variables} variables),"
            f" which predicts {_scored(price, objective)}; partitioned it is"
            f" {_scored(score, objective)}"
        )
    notes.append(Note(f"{quality}; {found.evaluations} programs were partitioned"))
    if found.program.repetitions:
        count = len(found.program.relations)
        notes.append(
            Note(f"of {count} operations {found.program.repetitions} repeat others, as layers do")
        )
    remark(
        "sharding",
        graph.functions[0],
        f"on a grid of {grid} costs {_described(found.cost, objective)}",
        notes,
    )
    for key, axes in sorted(found.plan.items()):
        _explain_annotation(found, objective, key, printed, [list(each) for each in axes])


def _explain_annotation(
    found: Found,
    objective: Objective,
    key: Key,
    printed: dict[object, str],
    lists: Sequence[Sequence[int]],
) -> None:
    members = keys_of(found.program, key)
    if key.slot < 0:
        value = found.program.values[members[0]]
        operation = maker_of(value)
        what = f"%{printed.get(value, '?')} is placed"
    else:
        operation = found.program.relations[members[0]].origin
        what = f"operand #{key.slot} is wanted"
    more = f", and {len(members) - 1} like it" if len(members) > 1 else ""
    without = found.savings.get(key)
    saving = ""
    if without is not None:
        saving = f"; {_without(without, found.cost, objective)}"
    remark("sharding", operation, f"{what} {list(lists)}{more}{saving}")


def _described(cost: Cost, objective: Objective) -> str:
    text = f"{cost.sent:.0f} bytes sent, {cost.peak} bytes held"
    return f"{time_text(cost.seconds)}, {text}" if objective.by_time else text


def _scored(score: float, objective: Objective) -> str:
    return time_text(score) if objective.by_time else f"{score:.0f} bytes and work"


def _without(without: Cost, cost: Cost, objective: Objective) -> str:
    if not objective.fits(without):
        return f"without it: {without.peak} bytes held, which is too much"
    differences: list[tuple[float, str]] = [
        (without.sent - cost.sent, "bytes sent"),
        (without.work - cost.work, "operations"),
    ]
    parts = [
        f"{abs(difference):.0f} {what} {'more' if difference > 0 else 'less'}"
        for difference, what in differences
        if difference
    ]
    if objective.by_time:
        parts.insert(0, f"{time_text(max(0.0, without.seconds - cost.seconds))} more")
    return "without it: " + ", ".join(parts)
