"""Check that a file's descriptions of a function are consistent.

The types of global values, their shardings, the shapes of a process's values, the registers that
pass them, and the operands and results of exchanges are stored separately. If two of them
disagreed, host code would access memory out of bounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from ...sharding.collective_matching import DYNAMIC_SIZE
from ...sharding.collective_rows import BY_NAME, UPDATE_HALO
from ...sharding.grid import Grid
from ...sharding.sharding import Sharding
from ..abi.arrays import FunctionTypes, ValueType
from ..abi.elements import element_of_type
from ..abi.shards import all_intervals, check_fits
from ..collectives import Collective, Shape
from ..host.entry import EntryPoint, passing_registers
from ..host.exchanges import Exchange
from .fields import DamagedFile

_TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)(.+)>")
"""The text of a tensor type: its sizes and its element type."""

Local = Shape | None


def check_type(kind: ValueType, path: str) -> None:
    """Raise DamagedFile if the text of a type does not match its parts."""
    text = kind.element
    if kind.container == "tensor":
        sizes = ["*"] if kind.shape is None else ["?" if n < 0 else str(n) for n in kind.shape]
        text = f"tensor<{''.join(f'{each}x' for each in sizes)}{kind.element}>"
    if (not kind.container and kind.shape != ()) or (
        kind.container in ("", "tensor") and kind.text != text
    ):
        raise DamagedFile(f"has {kind.text} of {text} as {path}")


def check_entry(
    entry: EntryPoint,
    types: FunctionTypes,
    placed: tuple[Sequence[Sharding | None], Sequence[Sharding | None]],
    processes: Sequence[int],
    path: str,
) -> None:
    """Compare a function's code on some processes with its types and shardings.

    `placed` holds the shardings of arguments and results. Raises DamagedFile.
    """
    code = entry.program.program_code.functions[entry.number]
    arguments = entry.arguments
    words = _check_shapes(types.arguments, placed[0], arguments, processes, f"{path}.arguments")
    if words != code.arguments:
        raise DamagedFile(f"has {code.arguments} registers for arguments, expected {words}")
    results = [each.shape for each in entry.results]
    words = _check_shapes(types.results, placed[1], results, processes, f"{path}.results")
    if words != code.results:
        raise DamagedFile(f"has {code.results} registers for results, expected {words}")
    for position in entry.program.program.global_blocks:
        if entry.program.program.globals[position] != 0:
            raise DamagedFile(f"has a global of {path} with a block before a run")


def _check_shapes(
    kinds: Sequence[ValueType],
    placed: Sequence[Sharding | None],
    local: Sequence[Local],
    processes: Sequence[int],
    path: str,
) -> int:
    """Compare the local shapes of values with their global types and shardings.

    Returns the number of registers that pass the values. Raises DamagedFile.
    """
    words = 0
    rows = zip_longest(kinds, placed, local, fillvalue=None)
    for number, (kind, sharding, own) in enumerate(rows):
        place = f"{path}[{number}]"
        if kind is None or number >= len(local):
            raise DamagedFile(f"has {len(local)} shapes as {path}, expected {len(kinds)}")
        if (own is None) != (kind.container == ""):
            raise DamagedFile(f"has shape {own} as {place}, which is {kind}")
        words += passing_registers(own)
        if own is None:
            continue
        for process in processes:
            found = None if kind.shape is None else _part(kind.shape, sharding, process, place)
            if found is None or len(found) != len(own) or not _agree(own, found):
                raise DamagedFile(f"has shape {list(own)} as {place}, expected {found} of {kind}")
    return words


def _agree(own: Shape, found: Shape) -> bool:
    # Code for an open size takes any; code for a known one would not compare it with the array's.
    return all(mine < 0 or mine == theirs for mine, theirs in zip(own, found, strict=True))


def _part(shape: Shape, sharding: Sharding | None, process: int, path: str) -> Shape:
    """Return the shape of a process's shard, -1 where dynamic."""
    if sharding is None:
        return tuple(max(size, -1) for size in shape)
    known = tuple(max(size, 0) for size in shape)
    try:
        check_fits(known, sharding)
    except ValueError as problem:
        raise DamagedFile(f"has a sharding that does not fit {path}: {problem}") from problem
    intervals = all_intervals(known, sharding)[process]
    return tuple(
        -1 if size < 0 else end - start for size, (start, end) in zip(shape, intervals, strict=True)
    )


def check_exchanges(exchanges: Sequence[Exchange], grid: Grid | None, path: str) -> None:
    """Check what each process of a grid does at an exchange. Raises DamagedFile."""
    count = 0 if grid is None else grid.device_count()
    if len(exchanges) != count:
        raise DamagedFile(f"has {len(exchanges)} processes as {path}, expected {count}")
    for process, exchange in enumerate(exchanges):
        problem = _problem(exchange, process, count)
        if problem is not None:
            raise DamagedFile(f"has {path}[{process}] that cannot be carried out: {problem}")


def _problem(exchange: Exchange, process: int, count: int) -> str | None:
    shape = exchange.shape
    for step in exchange.steps:
        signature = step.signature if isinstance(step, Collective) else step
        if not all(0 <= each < count for each in signature.group):
            return f"a group of {signature.group} on {count} devices"
        if not all(
            size < 0 or size == own for size, own in zip(signature.sizes, shape, strict=True)
        ):
            return f"sizes {list(signature.sizes)} of {list(shape)}"
        if not isinstance(step, Collective):
            continue
        problem = _collective_problem(step, exchange, process)
        if problem is not None:
            return problem
    if any(each >= len(shape) for each in exchange.dynamic_results):
        return f"a result of {len(shape)} dimensions with {exchange.dynamic_results} open"
    return None


def _collective_problem(collective: Collective, exchange: Exchange, process: int) -> str | None:
    group, signature = collective.group, collective.signature
    if len(set(group.processes)) < group.size or group.processes[group.index] != process:
        return f"process {process} is number {group.index} of {list(group.processes)}"
    if signature.group != group.processes:
        return f"groups {list(group.processes)} and {list(signature.group)}"
    if collective.kind not in BY_NAME:
        return f"{collective.kind!r} is not a collective"
    if signature.kind != collective.kind:
        return f"{collective.kind!r} for {signature.kind!r}"
    row = collective.row
    if not exchange.shape and (row.divides or row.joins or row is UPDATE_HALO):
        return f"{collective.kind!r} of a tensor without dimensions"
    if collective.source_shape != exchange.shape:
        return f"shapes {list(collective.source_shape)} and {list(exchange.shape)}"
    if collective.source.storage_bytes != exchange.item:
        return f"elements of {exchange.item} bytes, which are {collective.source.name}"
    if element_of_type(str(signature.element)) != collective.source:
        return f"elements of {collective.source.name}, which are {signature.element}"
    result = str(signature.result)
    found = _TENSOR.fullmatch(result)
    sizes, element = ("", result) if found is None else found.groups()
    if not (DYNAMIC_SIZE in exchange.shape or collective.joins_unequal):
        given = collective.of_sizes(exchange.shape).result_shape
        sizes = "".join(f"{each}x" for each in given)
        element = result.removeprefix(f"tensor<{sizes}").removesuffix(">")
    if element_of_type(element) == collective.result:
        return None
    return f"a result of tensor<{sizes}{collective.result.name}>, which is {result}"
