"""Execute `flow.tensor` operations that slice, reshape, load, store or bitcast tensors.

They run on plain arrays: layouts are not chosen yet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ...dialects.iree_encoding.layouts import stored_bits
from ...ir.attribute_access import operand_groups
from ...ir.diagnostics import OperationError
from ...ir.tensor_types import require_ranked
from ...runtime.abi.arrays import Value, shape_text
from ...runtime.abi.values import reinterpreted
from ...tiling.packed_layouts import MAX_DYNAMIC_TILE
from ..frames import Frame
from ..nests.loops import element, with_element
from ..registry import Results, impl
from ..shapes import filled_shape, part_of


@impl("iree_codegen.query_tile_sizes")
def _query_tile_sizes(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Return the tile size for which hosts reserve storage."""
    return (np.asarray(MAX_DYNAMIC_TILE),) * len(op.results)


@impl("flow.tensor.reshape")
def _reshape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), _, sizes = operand_groups(op, operands)
    shape = filled_shape(op, op.results[0].type, sizes)
    if np.size(source) != int(np.prod(shape, dtype=np.int64)):
        raise OperationError(
            op, f"cannot reshape {shape_text(np.shape(source))} to {shape_text(shape)}"
        )
    return (np.reshape(source, shape),)


@impl("flow.tensor.tie_shape")
def _tie_shape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, *sizes = operands
    shape = filled_shape(op, op.results[0].type, sizes)
    if np.shape(source) != shape:
        raise OperationError(
            op, f"expects shape {shape_text(shape)}, found {shape_text(np.shape(source))}"
        )
    return (source,)


@impl("flow.tensor.slice")
def _slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), _, starts, lengths, sizes = operand_groups(op, operands)
    shape = tuple(int(each) for each in lengths)
    expected = filled_shape(op, op.results[0].type, sizes)
    if shape != expected:
        raise OperationError(
            op, f"takes a slice of shape {shape_text(shape)}, expected shape {shape_text(expected)}"
        )
    return (np.array(np.asarray(source)[part_of(op, np.shape(source), starts, shape)]),)


@impl("flow.tensor.update")
def _update(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (target,), _, starts, (update,), _ = operand_groups(op, operands)
    result = np.array(target)
    result[part_of(op, result.shape, starts, np.shape(update))] = update
    return (result,)


@impl("flow.tensor.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), _, indices = operand_groups(op, operands)
    return (element(op, source, indices),)


@impl("flow.tensor.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (value,), (target,), _, indices = operand_groups(op, operands)
    return (with_element(op, target, indices, value),)


@impl("flow.tensor.bitcast", "iree_tensor_ext.bitcast")
def _bitcast(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), _, sizes = operand_groups(op, operands)
    types = require_ranked(op, op.operands[0].type), require_ranked(op, op.results[0].type)
    shape = filled_shape(op, types[1], sizes)
    try:
        widths = stored_bits(types[0]), stored_bits(types[1])
        return (reinterpreted(np.asarray(source), *types, widths).reshape(shape),)
    except ValueError as error:
        raise OperationError(op, f"cannot bitcast {types[0]} to {types[1]}: {error}") from error
