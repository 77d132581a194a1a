"""Annotate each argument of a kernel with what holds in all dispatches.

    stream.cmd.dispatch @ex::@f(%c128 : index) {ro %r[%c64 for %n] ...}
    stream.cmd.dispatch @ex::@f(%c192 : index) {ro %r[%c128 for %n] ...}

run

    func.func @f(
      %x: index {stream.alignment = 64 : index, stream.values = [128 : index, 192 : index]},
      %b: !stream.binding {stream.alignment = 64 : index})

`stream.values` lists all numbers that are passed. `stream.alignment` is a power of two that divides
all of them; for a binding it divides the offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import gcd

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.stream.commands import CmdDispatchOp
from ...dialects.stream.types import BindingType
from ...ir.attribute_access import boundary_attributes
from ...ir.index_lists import INDEX
from ..manager.module_pass import module_pass
from .analysis.integer_facts import KnownIntegers, possible_constants
from .analysis.resource_limits import resource_limits
from .kernels.sites import dispatch_sites

VALUES, ALIGNMENT = "stream.values", "stream.alignment"


@module_pass("iree-stream-annotate-dispatch-arguments")
def annotate_dispatch_arguments(module: ModuleOp) -> None:
    """Annotate kernel arguments with the possible values and alignments."""
    known = KnownIntegers()
    for function, dispatches in dispatch_sites(module).items():
        block = function.regions[0].blocks.first
        if block is not None:
            _annotate(function, block, dispatches, known)


def _annotate(
    function: Operation, block: Block, dispatches: Sequence[CmdDispatchOp], known: KnownIntegers
) -> None:
    numbers = iter(zip(*(dispatch.uniform_operands for dispatch in dispatches), strict=True))
    offsets = iter(zip(*(dispatch.resource_offsets for dispatch in dispatches), strict=True))
    arg_attrs: list[Attribute] = []
    for argument in block.args:
        attributes = dict(boundary_attributes(function, "arg_attrs", argument.index))
        if isinstance(argument.type, BindingType):
            operands = next(offsets, ())
            attributes |= _alignment(operands, resource_limits(dispatches[0]).alignment, known)
        else:
            operands = next(numbers, ())
            if isinstance(argument.type, IndexType):
                attributes |= _alignment(operands, 1, known)
            attributes |= _values(operands)
        arg_attrs.append(DictionaryAttr(attributes))
    function.properties["arg_attrs"] = ArrayAttr(arg_attrs)


def _values(operands: Sequence[SSAValue]) -> dict[str, Attribute]:
    """Return the `stream.values` entry if all operands have known possible constants."""
    if not all(isinstance(operand.type, IndexType | IntegerType) for operand in operands):
        return {}
    found = [possible_constants(operand) for operand in operands]
    if None in found:
        return {}
    distinct = dict.fromkeys(chain.from_iterable(constants or () for constants in found))
    return {VALUES: ArrayAttr(sorted(distinct, key=lambda constant: constant.value.data))}


def _alignment(
    operands: Sequence[SSAValue], of_zero: int, known: KnownIntegers
) -> dict[str, Attribute]:
    """Return the `stream.alignment` entry: a power of two that divides all operands.

    `of_zero` is used if all operands are 0.
    """
    divisor = gcd(*(known.facts(operand).divisor for operand in operands))
    power = divisor & -divisor if divisor else of_zero
    return {ALIGNMENT: IntegerAttr(power, INDEX)} if power > 1 else {}
