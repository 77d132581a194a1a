"""Find the least precise float type that the results of a function were computed in.

A sum in f32 that is extended to f64 is only as precise as f32, and must be compared with that
tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.attribute_access import element_type, operation_name
from ..ir.regions import walk
from ..runtime.abi.arrays import UnsupportedType
from ..runtime.abi.compare import tolerance
from ..runtime.abi.values import scalar_dtype
from .frames import Program
from .function_signatures import result_types
from .run import call_graph_from, called

Float = np.dtype[Any]


def roughest_types(program: Program, function: Operation) -> list[Float | None]:
    """Return, for each result, the least precise float type on its way, or `None`.

    All operations in an operation's regions and in the functions it calls count for all its
    results. Arguments and constants do not count: they are the same for all programs that are
    compared.
    """
    blocks = function.regions[0].blocks
    count = len(result_types(function))
    end = blocks[0].last_op
    by_function = _types_of_functions(program, function)
    if len(blocks) > 1 or end is None or len(end.operands) != count:
        return [by_function[function]] * count
    known: dict[SSAValue, Float | None] = {}
    for op in blocks[0].ops:
        found = _roughest(
            each
            for inner in walk(op)
            for each in (
                _own_type(inner),
                *map(known.get, inner.operands),
                *map(by_function.get, called(program, inner)),
            )
        )
        known |= dict.fromkeys(op.results, found)
    return [known.get(operand) for operand in end.operands]


def _types_of_functions(program: Program, function: Operation) -> dict[Operation, Float | None]:
    """Return the least precise type of each reachable function, including its callees."""
    graph = call_graph_from(program, function)
    own = {each: _roughest(map(_own_type, walk(each))) for each in graph.reached_from([function])}
    found: dict[Operation, Float | None] = dict.fromkeys(own)
    different = dict.fromkeys(kind for kind in own.values() if kind is not None)
    for kind in sorted(different, key=tolerance):
        computing = [each for each, type_ in own.items() if type_ == kind]
        found |= dict.fromkeys(graph.reaching(computing), kind)
    return found


def _own_type(op: Operation) -> Float | None:
    """Return the least precise type of an operation's results."""
    if operation_name(op) == "arith.constant":
        return None
    return _roughest([_float_type(element_type(result.type)) for result in op.results])


@lru_cache(maxsize=64)
def _float_type(element: Attribute) -> Float | None:
    try:
        dtype = scalar_dtype(element)
    except UnsupportedType:
        return None
    return dtype if any(tolerance(dtype)) else None


def _roughest(types: Iterable[Float | None]) -> Float | None:
    # Usually there is at most one type.
    different = dict.fromkeys(each for each in types if each is not None)
    if len(different) > 1:
        return max(different, key=tolerance)
    return next(iter(different), None)
