"""The `iree_tensor_ext` dialect: tensors that kernels are bound to, in the current spelling.

The ops and types of 2024 that have the same meaning, in `flow`, are defined here too.
"""

from __future__ import annotations

import sys
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import kept_dimensions, number_list
from ..ir.dialect_extension import dialect_of, variant
from ..ir.index_lists import INDEX
from ..ir.syntax.assembly_format import Syntax, values
from ..ir.syntax.attribute_format import FormattedAttribute, Kind, one_of
from ..ir.syntax.operations import SyntaxOperation
from ..ir.syntax.resource_directives import dynamic_dimensions
from ..ir.syntax.rows import PURE, Rows
from ..ir.tensor_types import Shape, shape_of, shape_text
from . import ragged_shapes
from .iree_encoding.interfaces import EncodingTypeInterface, Spelling, Tensor, with_encoding

row = Rows("iree_tensor_ext", {"tensor": TensorType})
flow_row = Rows("flow", {})
ACCESSES = ("readonly", "readwrite", "writeonly")


@dataclass(frozen=True, init=False)
class DispatchTensor(FormattedAttribute, EncodingTypeInterface, ABC):
    """`<readonly:tensor<?x4xf32, #encoding>>`: a tensor that a kernel is bound to."""

    SPELLING: ClassVar[Spelling]

    access: StringAttr
    bound_type: Attribute

    FORMAT: ClassVar[str] = "<$access:access:$bound_type:type>"
    KINDS: ClassVar[Mapping[str, Kind]] = {"access": one_of(ACCESSES)}

    @property
    def shape(self) -> Shape:
        """The sizes of the bound tensor, `None` if dynamic; `()` for a scalar."""
        tensor = self.encoded_tensor()
        return () if tensor is None else shape_of(tensor)

    def encoded_tensor(self) -> Tensor | None:
        bound = self.bound_type
        return cast(Tensor, bound) if isinstance(bound, TensorType) else None

    def update_encoding(self, encoding: Attribute | None) -> Self:
        tensor = self.encoded_tensor()
        if tensor is None:
            return self
        return self.new([self.access, with_encoding(tensor, encoding)])


@irdl_attr_definition
class DispatchTensorType(DispatchTensor):
    """A tensor that a kernel is bound to, in the current spelling."""

    name = "iree_tensor_ext.dispatch.tensor"
    SPELLING: ClassVar[Spelling] = "today"


@irdl_attr_definition
class FlowDispatchTensorType(DispatchTensor):
    """A tensor that a kernel is bound to, in the spelling of 2024."""

    name = "flow.dispatch.tensor"
    SPELLING: ClassVar[Spelling] = "2024"


def static_list(operation: Operation, name: str) -> tuple[int | None, ...]:
    """Return the offsets, sizes or strides of a load or store; `None` for each operand."""
    numbers = number_list(operation.get_attr_or_prop(f"static_{name}"))
    return tuple(None if number == DYNAMIC_INDEX else number for number in numbers)


class DispatchTensorAccess(SyntaxOperation):
    """Base of loads and stores."""

    offsets = var_operand_def(INDEX)
    sizes = var_operand_def(INDEX)
    strides = var_operand_def(INDEX)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_access(self, bound: Attribute, value: Attribute, sizes: int, what: str) -> None:
        """Check the indices of a load or store, and the element type of the value.

        Raises VerifyException.
        """
        if not isinstance(bound, DispatchTensor):
            raise VerifyException(f"{what} expected to be a dispatch tensor, found {bound}")
        if sizes != dynamic_dimensions(bound):
            raise VerifyException(
                f"{what} has {dynamic_dimensions(bound)} dynamic dimensions, but {sizes} sizes "
                "are given"
            )
        rank = len(bound.shape)
        for name in ("offsets", "sizes", "strides"):
            static = static_list(self, name)
            if len(static) != rank:
                raise VerifyException(f"expected {rank} {name}, found {len(static)}")
            expected, given = static.count(None), len(values(self, name))
            if given != expected:
                raise VerifyException(f"expected {expected} dynamic {name}, found {given}")
        tensor = bound.encoded_tensor()
        if isinstance(value, TensorType) and tensor is not None:
            element = cast(Tensor, value).element_type
            if element != tensor.element_type:
                raise VerifyException(
                    f"value has elements of type {element}, {what} of type {tensor.element_type}"
                )


@irdl_op_definition
class DispatchTensorLoadOp(DispatchTensorAccess):
    """Load a slice of a dispatch tensor.

    The result may have another encoding than the source. That of a write-only source has undefined
    contents: IREE loads it as the destination of what a kernel computes.
    """

    name = "iree_tensor_ext.dispatch.tensor.load"

    source = operand_def()
    source_dims = var_operand_def(INDEX)
    offsets = var_operand_def(INDEX)
    sizes = var_operand_def(INDEX)
    strides = var_operand_def(INDEX)
    result = result_def(TensorType)

    SYNTAX: ClassVar[Syntax] = (
        " $source, offsets = dynamic-list($offsets, $static_offsets), sizes = dynamic-list($sizes,"
        " $static_sizes), strides = dynamic-list($strides, $static_strides) attr-dict"
        " : shaped($source_dims, $source) -> type($result)"
    )

    def verify_(self) -> None:
        super().verify_()
        self.verify_access(self.source.type, self.result.type, len(self.source_dims), "the source")


@irdl_op_definition
class DispatchTensorStoreOp(DispatchTensorAccess):
    """Store a tensor to a slice of a dispatch tensor.

    The verifier rejects a read-only target.
    """

    name = "iree_tensor_ext.dispatch.tensor.store"

    value = operand_def(TensorType)
    target = operand_def()
    target_dims = var_operand_def(INDEX)
    offsets = var_operand_def(INDEX)
    sizes = var_operand_def(INDEX)
    strides = var_operand_def(INDEX)

    SYNTAX: ClassVar[Syntax] = (
        " $value, $target, offsets = dynamic-list($offsets, $static_offsets), sizes ="
        " dynamic-list($sizes, $static_sizes), strides = dynamic-list($strides, $static_strides)"
        " attr-dict : type($value) -> shaped($target_dims, $target)"
    )

    def verify_(self) -> None:
        super().verify_()
        self.verify_access(self.target.type, self.value.type, len(self.target_dims), "the target")
        if cast(DispatchTensor, self.target.type).access.data == "readonly":
            raise VerifyException("the target is read-only")
        sizes = number_list(self.static_sizes)
        shape = cast(Tensor, self.value.type).get_shape()
        if kept_dimensions(sizes, shape) is None:
            raise VerifyException(
                f"expected type to be of shape ({shape_text(sizes)}) or a rank-reduced version, "
                f"found ({shape_text(shape)}) (size mismatch)"
            )


# Current names


DispatchWorkloadOrdinalOp = row(
    "dispatch.workload.ordinal",
    "operand -> result | ordinal:indexattr",
    " attr-dict $operand, index($ordinal) : type($result)",
    traits=PURE,
    doc="Mark a value in a kernel as a workload operand, in the current spelling.",
)


DispatchWorkgroupCountFromSliceOp = row(
    "dispatch.workgroup_count_from_slice",
    "workload* -> x y z",
    " attr-dict($workload)",
    traits=PURE,
    doc="Return the workgroup count of a workload, in the current spelling.",
)


# Names of 2024


FlowDispatchTensorLoadOp = variant(
    DispatchTensorLoadOp,
    "flow.dispatch.tensor.load",
    {"__doc__": "Load a slice of a dispatch tensor, in the spelling of 2024."},
)
FlowDispatchTensorStoreOp = variant(
    DispatchTensorStoreOp,
    "flow.dispatch.tensor.store",
    {"__doc__": "Store a tensor to a slice of a dispatch tensor, in the spelling of 2024."},
)
FlowDispatchWorkloadOrdinalOp = flow_row(
    "dispatch.workload.ordinal",
    "operand -> result | ordinal:indexattr",
    " $operand, index($ordinal) attr-dict : type($result)",
    traits=PURE,
    doc="Mark a value in a kernel as a workload operand, in the spelling of 2024.",
)


FlowDispatchWorkgroupCountFromSliceOp = flow_row(
    "dispatch.workgroup_count_from_slice",
    "workload* -> x y z",
    " $workload attr-dict",
    traits=PURE,
    doc="Return the workgroup count of a workload, in the spelling of 2024 (without parentheses).",
)


def _verify_barrier(barrier: Operation) -> None:
    if barrier.operands[0].type != barrier.results[0].type:
        raise VerifyException("value and result types must match")


BitCastOp = row(
    "bitcast",
    "source:tensor source_dims* result_dims* -> result:tensor",
    " $source : shaped($source_dims, $source) -> shaped($result_dims, $result)"
    " attr-dict-with-keyword",
    traits=PURE,
    doc="Reinterpret the bytes of a tensor as another type.",
)


ROWS = (
    *(
        row(
            f"compute_barrier.{end}",
            "value:tensor value_dims* -> result:tensor",
            " $value : shaped($value_dims, $value) -> type($result) attr-dict-with-keyword",
            verify=_verify_barrier,
            traits=PURE,
            doc=f"Prevent reshapes from moving {way} across this op.",
        )
        for end, way in (("start", "up"), ("end", "down"))
    ),
    row(
        "dispatch.workgroup_count_split_reduction_modifier",
        "workgroup_x workgroup_y workgroup_z workload* -> result_x result_y result_z",
        " attr-dict workgroups($workgroup_x, $workgroup_y, $workgroup_z) workload($workload)",
        traits=PURE,
    ),
)

IreeTensorExt = dialect_of("iree_tensor_ext", sys.modules[__name__], ragged_shapes)
