"""Use the element types of memory in the bindings of kernels.

A boolean is stored in a byte, other odd widths in the next power of two of bits. A kernel truncates
what it loads to the type that it computes with, and extends what it stores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.arith.dialect import ExtendedArith
from ...dialects.iree_encoding.interfaces import Tensor
from ...dialects.iree_encoding.layouts import is_bit_packed
from ...dialects.iree_tensor_ext import DispatchTensor
from ...ir.locations import builder_before, located_builder
from ...ir.regions import replace_other_uses
from ...ir.rules import Rules
from ...ir.tensor_types import element_of
from ...tiling.element_types import ElementKind
from ..manager.module_pass import module_pass

CONVERSIONS = {operation.name: operation for operation in ExtendedArith.operations}
"""Conversions by name, in classes that take tensors as well as scalars."""


@module_pass("iree-stream-encode-device-tensors")
def encode_device_tensors(module: ModuleOp) -> None:
    """Give bindings of kernels the element types of memory.

    Only kernels have bindings, so the pass also runs on what an executable contains.
    """
    for operation in tuple(module.walk()):
        if (rule := encoding_rule.get(operation.name)) is not None:
            rule(operation)


encoding_rule = Rules[Callable[[Operation], None]]()
"""Rules that give operations of kernels the element types of memory, by operation name."""


@encoding_rule("stream.binding.subspan")
def _encode_subspan(operation: Operation) -> None:
    bound = operation.results[0].type
    if isinstance(bound, DispatchTensor):
        stored = stored_type(bound.bound_type)
        if stored != bound.bound_type:
            new = bound.new([bound.access, stored])
            Rewriter.replace_value_with_new_type(operation.results[0], new)


def stored_type(type_: Attribute) -> Attribute:
    """Return a tensor type with the element type that it has in memory."""
    if not isinstance(type_, TensorType):
        return type_
    tensor = cast(Tensor, type_)
    if not isinstance(tensor.element_type, IntegerType):
        return tensor
    element = element_of(tensor)
    if element.kind is not ElementKind.INTEGER or element.bits == element.storage_bits:
        return tensor
    if is_bit_packed(tensor):
        return tensor
    return TensorType(IntegerType(element.storage_bits), tensor.shape, tensor.encoding)


def _binds_packed_bits(binding: Attribute) -> bool:
    """Return whether a binding is of a tensor whose elements are stored without gaps."""
    return isinstance(binding, DispatchTensor) and is_bit_packed(binding.bound_type)


@encoding_rule("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load")
def _encode_load(operation: Operation) -> None:
    """Load the stored type, then truncate."""
    result = operation.results[0]
    wanted = result.type
    stored = stored_type(wanted)
    if stored == wanted or _binds_packed_bits(operation.operands[0].type):
        return
    result = Rewriter.replace_value_with_new_type(result, stored)
    builder = located_builder(InsertPoint.after(operation), operation)
    truncated = builder.insert(
        CONVERSIONS["arith.trunci"].create(operands=[result], result_types=[wanted])
    )
    replace_other_uses(result, truncated.results[0])


@encoding_rule("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")
def _encode_store(operation: Operation) -> None:
    """Extend, then store."""
    value = operation.operands[0]
    stored = stored_type(value.type)
    if stored == value.type or _binds_packed_bits(operation.operands[1].type):
        return
    builder = builder_before(operation)
    widened = builder.insert(
        CONVERSIONS["arith.extui"].create(operands=[value], result_types=[stored])
    )
    operation.operands[0] = widened.results[0]
