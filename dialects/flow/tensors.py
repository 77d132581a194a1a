"""Ops of the `flow` dialect that create, slice and convert whole tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, values
from ...ir.syntax.rows import CREATES, PURE, Rows
from ...ir.syntax.typed_values import ConstantValue, type_carried_by
from ..iree_encoding.interfaces import Tensor

row = Rows("flow", {"tensor": TensorType})


@dataclass(frozen=True, slots=True)
class ElementType:
    """No text: the type of an operand or result is the element type of a tensor."""

    element: str
    tensor: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        type_ = parsed.types[self.tensor][0]
        if not isinstance(type_, TensorType):
            parser.raise_error(f"expected a ranked tensor, found {type_}")
        parsed.types[self.element] = [cast(Tensor, type_).element_type]

    def print(self, printer: Printer, operation: Operation) -> None:
        """Print nothing."""

    def verify(self, operation: Operation) -> None:
        names = (self.element, self.tensor)
        element, tensor = (values(operation, name)[0].type for name in names)
        if isinstance(tensor, TensorType) and cast(Tensor, tensor).element_type != element:
            raise VerifyException(f"expected an element of {tensor}, found {element}")


def _verify_constant(constant: Operation) -> None:
    if type_carried_by(constant.properties["value"]) != constant.results[0].type:
        raise VerifyException("failed to verify that all of {value, result} have same type")


TensorConstantOp = row(
    "tensor.constant",
    "-> result:tensor | value:attr",
    (
        " attr-dict ",
        ConstantValue(),
    ),
    traits=PURE,
    verify=_verify_constant,
    doc="Return a tensor with constant contents.",
)


TensorEmptyOp = row(
    "tensor.empty",
    "result_dims* -> result:tensor",
    " : shaped($result_dims, $result) attr-dict-with-keyword",
    traits=PURE,
    doc="Return a tensor with undefined contents.",
)


TensorAllocaOp = row(
    "tensor.alloca",
    "result_dims* -> result:tensor",
    " : shaped($result_dims, $result) attr-dict-with-keyword",
    traits=CREATES,
    doc="Allocate storage for a tensor.",
)


TensorSplatOp = row(
    "tensor.splat",
    "value:any result_dims* -> result:tensor",
    (
        " $value : shaped($result_dims, $result) attr-dict-with-keyword",
        ElementType("value", "result"),
    ),
    traits=PURE,
    doc="Return a tensor in which all elements have one value.",
)


TensorCloneOp = row(
    "tensor.clone",
    "operand:tensor argument_dims* -> result:tensor",
    " $operand : shaped($argument_dims, $operand, $result) attr-dict-with-keyword",
    traits=PURE,
    doc="Clone a tensor.",
)


TensorTieShapeOp = row(
    "tensor.tie_shape",
    "operand:tensor dynamic_dims* -> result:tensor",
    " $operand attr-dict : shaped($dynamic_dims, $operand, $result)",
    traits=PURE,
    doc="Tie a tensor to the sizes of its dynamic dimensions.",
)


TensorSliceOp = row(
    "tensor.slice",
    "source:tensor source_dims* start_indices* lengths* result_dims* -> result:tensor",
    " $source[$start_indices for $lengths] : shaped($source_dims, $source)"
    " -> shaped($result_dims, $result) attr-dict-with-keyword",
    traits=PURE,
    doc="Copy a slice of a tensor, given by start indices and lengths.",
)


TensorUpdateOp = row(
    "tensor.update",
    "target:tensor target_dims* start_indices* update:tensor update_dims* -> result:tensor",
    " $update, $target[$start_indices] : shaped($update_dims, $update)"
    " -> tied($target) shaped($target_dims, $target, $result) attr-dict-with-keyword",
    traits=PURE,
    doc="Write a tensor into a slice of another; the result is tied to the target.",
)


TensorLoadOp = row(
    "tensor.load",
    "source:tensor source_dims* indices* -> result:any",
    (
        " $source([$indices])? : shaped($source_dims, $source) attr-dict-with-keyword",
        ElementType("result", "source"),
    ),
    traits=PURE,
    doc="Load one element of a tensor.",
)


TensorStoreOp = row(
    "tensor.store",
    "value:any target:tensor target_dims* indices* -> result:tensor",
    (
        " $value, $target([$indices])? : shaped($target_dims, $target, $result)"
        " attr-dict-with-keyword",
        ElementType("value", "target"),
    ),
    doc="Store one element of a tensor and return the tensor.",
)


TensorBitCastOp = row(
    "tensor.bitcast",
    "source:tensor source_dims* result_dims* -> result:tensor",
    " $source : shaped($source_dims, $source) -> shaped($result_dims, $result)"
    " attr-dict-with-keyword",
    traits=PURE,
    doc="Reinterpret the bytes of a tensor as another type.",
)
