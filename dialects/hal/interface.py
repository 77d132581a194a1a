"""Ops and attributes by which kernels access the bindings and constants of their layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import integer
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, FormattedAttribute, Kind
from ...ir.syntax.rows import PURE, SIGNLESS_SCALAR, Rows


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


def _verify_subspan(subspan: Operation) -> None:
    layout = cast(PipelineLayoutAttr, subspan.properties["layout"])
    ordinal = integer(subspan, "binding")
    if not 0 <= ordinal < len(layout.bindings):
        raise VerifyException(f"binding ordinal {ordinal} out of bounds in layout {layout}")


def _verify_constant(load: Operation) -> None:
    constants = cast(PipelineLayoutAttr, load.properties["layout"]).constants
    count = constants.value.data if isinstance(constants, IntegerAttr) else 0
    if not 0 <= integer(load, "ordinal") < count:
        raise VerifyException("push constant ordinal out of bounds")


row = Rows("hal", {"layout": PipelineLayoutAttr, "scalar": SIGNLESS_SCALAR}, traits=PURE)

InterfaceBindingSubspanOp = row(
    "interface.binding.subspan",
    "byte_offset? dynamic_dims* -> result:any"
    " | layout:layout binding:indexattr alignment:indexattr? descriptor_flags:i32attr?",
    " layout(stripped($layout)) binding(index($binding))( alignment(index($alignment)))?"
    "( offset($byte_offset))?( flags(descriptor-flags($descriptor_flags)))? attr-dict"
    " : shaped($dynamic_dims, $result)",
    verify=_verify_subspan,
    doc="""Return the contents of a binding, starting at a byte offset, as a shaped value.

    The verifier asks that the binding exists in the pipeline layout.
    """,
)

InterfaceConstantLoadOp = row(
    "interface.constant.load",
    "-> result:scalar | layout:layout ordinal:indexattr alignment:indexattr? values:array?",
    " layout(stripped($layout)) ordinal(index($ordinal))( alignment(index($alignment)))?"
    "( values($values))? attr-dict : type($result)",
    verify=_verify_constant,
    doc="""Load a push constant of the kernel.

    The verifier asks that the ordinal exists in the pipeline layout.
    """,
)
