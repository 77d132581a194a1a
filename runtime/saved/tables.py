"""Conversion of a saved program's tables to and from JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...sharding.collective_matching import DYNAMIC_SIZE, CollectiveSignature
from ...sharding.grid import Grid
from ...sharding.sharding import ReductionKind, Sharding
from ..abi.arrays import ValueType
from ..abi.elements import Element, element_by_name
from ..abi.lapack import LapackFunction
from ..abi.shards import MAX_DEVICES
from ..collectives import Collective, Group
from ..host.exchanges import Exchange, ExchangeStep
from ..host.program import ArrayAddress, Constant, FunctionCode
from ..host.size_rules import KnownSizes, Size, SizeRules, Word
from .fields import DamagedFile, Fields

MAX_COUNT = 1 << 32
"""An upper bound of all counts in a header."""

# Types and shardings --------------------------------------------------------------------------


def type_data(value_type: ValueType) -> Any:
    """Return a type as data."""
    shape = value_type.shape
    sizes = None if shape is None else list(shape)
    return [value_type.text, value_type.element, sizes, value_type.container]


def read_type(data: Fields) -> ValueType:
    """Read a type."""
    text, element, shape, container = data.items(4)
    return ValueType(text.text(), element.text(), read_shape(shape), container.text())


def read_shape(data: Fields) -> tuple[int, ...] | None:
    """Read a shape, negative where dynamic; `None` for null."""
    return None if data.is_null else data.integers()


def grid_data(grid: Grid | None) -> Any:
    """Return a grid as data; `None` if its extents are not static."""
    return None if grid is None or not grid.is_static else [grid.name, list(grid.shape)]


def read_grid(data: Fields) -> Grid | None:
    """Read a static grid; `None` for null. Raises DamagedFile if it is too large."""
    if data.is_null:
        return None
    name, shape = data.items(2)
    extents = shape.integers(1, MAX_DEVICES)
    if not extents or prod(extents) > MAX_DEVICES:
        raise DamagedFile(f"has a grid of shape {list(extents)} as {data.path}")
    return Grid(name.text(), extents)


def sharding_data(sharding: Sharding) -> Any:
    """Return a sharding as data; it must be on a static grid, without halos and partial sums."""
    offsets = [None if each is None else list(each) for each in sharding.offsets]
    return [grid_data(sharding.grid), [list(axes) for axes in sharding.dimension_axes], offsets]


def read_sharding(data: Fields) -> Sharding:
    """Read a sharding. Raises DamagedFile if it is inconsistent."""
    own, axes, offsets = data.items(3)
    grid = read_grid(own)
    if grid is None:
        raise DamagedFile(f"has a sharding without a grid as {data.path}")
    try:
        return Sharding(
            grid,
            tuple(each.integers(0, MAX_COUNT) for each in axes.items()),
            offsets=tuple(None if each.is_null else each.integers(0) for each in offsets.items()),
        )
    except ValueError as problem:
        raise DamagedFile(f"has no sharding as {data.path}: {problem}") from problem


# Host code ------------------------------------------------------------------------------------


def constants_data(constants: Sequence[Constant]) -> Any:
    """Return constants as data: words, numbers of arrays in lists, and names of functions."""
    return [_constant_data(each) for each in constants]


def _constant_data(constant: Constant) -> Any:
    if isinstance(constant, int):
        return constant
    return [constant.number] if isinstance(constant, ArrayAddress) else constant.name


def read_constants(data: Fields, arrays: int) -> tuple[Constant, ...]:
    """Read constants of a program with `arrays` arrays."""
    return tuple(_read_constant(each, arrays) for each in data.items())


def _read_constant(data: Fields, arrays: int) -> Constant:
    if data.is_list:
        return ArrayAddress(data.items(1)[0].integer(0, arrays - 1))
    if not data.is_text:
        return data.integer()
    function = LapackFunction(data.text())
    try:
        # The address is looked up to check the name.
        _ = function.address
    except KeyError:
        raise DamagedFile(f"has no function of LAPACK as {data.path}") from None
    return function


def function_data(function: FunctionCode) -> Any:
    """Return a function as data."""
    counts = [function.start, function.results, function.arguments]
    return [*counts, constants_data(function.constants), function.size, function.outgoing]


def read_function(data: Fields, words: int, arrays: int) -> FunctionCode:
    """Read a function of a program of `words` words.

    Raises DamagedFile if its frame is too small.
    """
    start, results, arguments, constants, size, outgoing = data.items(6)
    found = FunctionCode(
        start.integer(0, max(words - 1, 0)),
        results.count(MAX_COUNT),
        arguments.count(MAX_COUNT),
        read_constants(constants, arrays),
        size.count(MAX_COUNT),
        outgoing.count(MAX_COUNT),
    )
    if found.results + found.arguments + len(found.constants) > found.size:
        raise DamagedFile(f"has a frame as {data.path} that is too small for its registers")
    return found


def sizes_data(sizes: KnownSizes) -> Any:
    """Return what is known of a check as data: its rules, and the sizes that passed it.

    Words are lists of their position.
    """
    seen = None if sizes.seen is None else list(sizes.seen)
    return [_rules_data(sizes.rules), seen]


def _rules_data(rules: SizeRules | None) -> Any:
    if rules is None:
        return None

    def size(each: Size) -> Any:
        return [each.position] if isinstance(each, Word) else each

    pairs = [[size(left), size(right)] for left, right in rules.equal]
    total = None if rules.total is None else size(rules.total)
    natural, rising = ([size(each) for each in row] for row in (rules.natural, rules.rising))
    return [pairs, natural, rules.most, total, rules.unit, rising]


def read_sizes(data: Fields) -> KnownSizes:
    """Read what is known of a check."""
    rules, seen = data.items(2)
    return KnownSizes(_read_rules(rules), None if seen.is_null else seen.integers())


def _read_rules(data: Fields) -> SizeRules | None:
    if data.is_null:
        return None

    def size(each: Fields) -> Size:
        return Word(each.items(1)[0].count(MAX_COUNT)) if each.is_list else each.integer()

    pairs, natural, most, total, unit, rising = data.items(6)
    return SizeRules(
        tuple(
            (size(left), size(right)) for left, right in (each.items(2) for each in pairs.items())
        ),
        tuple(size(each) for each in natural.items()),
        most.integer(),
        None if total.is_null else size(total),
        unit.integer(),
        tuple(size(each) for each in rising.items()),
    )


# Exchanges ------------------------------------------------------------------------------------

_COLLECTIVE = "meet"
"""What a step of an exchange begins with, unless it is a message."""


def exchange_data(exchange: Exchange) -> Any:
    """Return an exchange as data."""
    steps = [
        [_COLLECTIVE, _collective_data(each)]
        if isinstance(each, Collective)
        else [each.kind, _signature_data(each)]
        for each in exchange.steps
    ]
    shape, dynamic = list(exchange.shape), list(exchange.dynamic_results)
    return [shape, exchange.item, dynamic, exchange.is_static, steps]


def read_exchange(data: Fields) -> Exchange:
    """Read an exchange."""
    shape, item, dynamic, is_static, steps = data.items(5)
    operand_shape = shape.integers(DYNAMIC_SIZE)
    found = tuple(_read_step(each, len(operand_shape)) for each in steps.items())
    last = max(len(operand_shape) - 1, 0)
    return Exchange(
        operand_shape, item.count(MAX_COUNT), found, dynamic.integers(0, last), is_static.boolean()
    )


def _read_step(data: Fields, rank: int) -> ExchangeStep:
    kind, action = data.items(2)
    found = (_read_collective if kind.text() == _COLLECTIVE else _read_signature)(action)
    signature = found.signature if isinstance(found, Collective) else found
    if len(signature.sizes) != rank:
        raise DamagedFile(f"has {len(signature.sizes)} sizes in {data.path}, expected {rank}")
    return found


def _collective_data(collective: Collective) -> Any:
    return {
        "kind": collective.kind,
        "group": [list(collective.group.processes), collective.group.index],
        "shape": list(collective.source_shape),
        "elements": [collective.source.name, collective.result.name],
        "axes": [collective.axis, collective.concat_axis],
        "ranks": [collective.root, collective.sender, collective.receiver],
        "halos": [collective.low, collective.high],
        "reduction": str(collective.reduction),
        "signature": _signature_data(collective.signature),
    }


def _read_collective(data: Fields) -> Collective:
    processes, rank = data["group"].items(2)
    group = processes.integers(0, MAX_COUNT)
    shape = data["shape"].integers(DYNAMIC_SIZE)
    source, result = map(_read_element, data["elements"].items(2))
    most = max(len(shape) - 1, 0)
    axis, concat_axis = data["axes"].integers(0, most, 2)
    last = len(group) - 1
    root, sender, receiver = (
        None if each.is_null else each.integer(0, last) for each in data["ranks"].items(3)
    )
    low, high = data["halos"].integers(0, count=2)
    return Collective(
        data["kind"].text(),
        Group(group, rank.integer(0, last)),
        shape,
        source,
        (),
        result,
        axis,
        concat_axis,
        root,
        sender,
        receiver,
        low,
        high,
        ReductionKind(data["reduction"].choice(*map(str, ReductionKind))),
        op_signature=_read_signature(data["signature"]),
    )


def _read_element(data: Fields) -> Element:
    name = data.text()
    try:
        return element_by_name(name)
    except (ValueError, IndexError, StopIteration) as problem:
        raise DamagedFile(f"has {name!r} as {data.path}, expected an element type") from problem


def _signature_data(signature: CollectiveSignature) -> Any:
    parameters = [[name, str(value)] for name, value in signature.parameters]
    types = [str(each) for each in (signature.source, signature.element, signature.result)]
    return [signature.kind, list(signature.group), *types, list(signature.sizes), parameters]


def _read_signature(data: Fields) -> CollectiveSignature:
    kind, group, source, element, result, sizes, parameters = data.items(7)
    pairs = [each.items(2) for each in parameters.items()]
    return CollectiveSignature(
        kind.text(),
        group.integers(0, MAX_COUNT),
        source.text(),
        element.text(),
        result.text(),
        sizes.integers(DYNAMIC_SIZE),
        tuple((name.text(), value.text()) for name, value in pairs),
    )
