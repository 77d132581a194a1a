"""Ops and attributes by which kernels access the bindings and constants of their layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, NoneAttr, StringAttr, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, FormattedAttribute, Kind
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import SIGNLESS_SCALAR


@irdl_attr_definition
class PipelineBindingAttr(FormattedAttribute):
    """`<storage_buffer, "ReadOnly|Indirect">`: the kind of one binding and its flags."""

    name = "hal.pipeline.binding"
    kind: StringAttr
    flags: StringAttr | NoneAttr
    FORMAT: ClassVar[str] = "<$kind:word(, $flags:name)?>"


@irdl_attr_definition
class PipelineLayoutAttr(FieldsAttribute):
    """`<constants = 2, bindings = [...]>`: the constants and bindings that a kernel takes."""

    name = "hal.pipeline.layout"
    constants: IntegerAttr | NoneAttr
    bindings: ArrayAttr[Attribute]
    flags: Attribute
    FIELDS: ClassVar[Mapping[str, Kind]] = {
        "constants": KINDS["index"],
        "bindings": KINDS["attr"],
        "flags": KINDS["name"],
    }
    REQUIRED: ClassVar[Sequence[str]] = ("bindings",)


@irdl_op_definition
class InterfaceBindingSubspanOp(SyntaxOperation):
    """Return the contents of a binding, starting at a byte offset, as a shaped value.

    The verifier asks that the binding exists in the pipeline layout.
    """

    name = "hal.interface.binding.subspan"
    layout = prop_def(PipelineLayoutAttr)
    binding = prop_def(IntegerAttr.constr(IndexType()))
    byte_offset = opt_operand_def(IndexType())
    dynamic_dims = var_operand_def(IndexType())
    alignment = opt_prop_def(IntegerAttr.constr(IndexType()))
    descriptor_flags = opt_prop_def(IntegerAttr.constr(i32))
    result = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        if not 0 <= self.binding.value.data < len(self.layout.bindings):
            raise VerifyException(
                f"binding ordinal {self.binding.value.data} out of bounds in layout {self.layout}"
            )

    SYNTAX: ClassVar[Syntax] = (
        " layout(stripped($layout)) binding(index($binding))( alignment(index($alignment)))?"
        "( offset($byte_offset))?( flags(descriptor-flags($descriptor_flags)))? attr-dict"
        " : shaped($dynamic_dims, $result)"
    )


@irdl_op_definition
class InterfaceConstantLoadOp(SyntaxOperation):
    """Load a push constant of the kernel.

    The verifier asks that the ordinal exists in the pipeline layout.
    """

    name = "hal.interface.constant.load"
    layout = prop_def(PipelineLayoutAttr)
    ordinal = prop_def(IntegerAttr.constr(IndexType()))
    alignment = opt_prop_def(IntegerAttr.constr(IndexType()))
    values_ = opt_prop_def(ArrayAttr[Attribute], prop_name="values")
    result = result_def(SIGNLESS_SCALAR)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        constants = self.layout.constants
        count = constants.value.data if isinstance(constants, IntegerAttr) else 0
        if not 0 <= self.ordinal.value.data < count:
            raise VerifyException("push constant ordinal out of bounds")

    SYNTAX: ClassVar[Syntax] = (
        " layout(stripped($layout)) ordinal(index($ordinal))( alignment(index($alignment)))?"
        "( values($values))? attr-dict : type($result)"
    )
