"""The Shardy dialect `sdy` as JAX emits it: meshes, constraints and manual computations.

Meshes are in `meshes.py`, Shardy's collectives and data-flow edges in `collectives.py`, rules of
operations, which are verified and kept, in `sharding_rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, integer
from ...ir.dialect_extension import dialect_of, variant
from ...ir.syntax.assembly_format import Parsed, PrintsProperty, Syntax, directive
from ...ir.syntax.keyword_attributes import KeywordIndex
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.region_headers import parse_body, print_body
from ...ir.syntax.rows import PURE
from ..stablehlo.elementwise import ConstantOp as StablehloConstantOp
from . import attributes, collectives, meshes, sharding_rules
from .attributes import (
    ManualAxesAttr,
    ShardingAttr,
    ShardingPerValueAttr,
    TensorSharding,
    parse_shardings,
    shardings_text,
)
from .collectives import row, verify_same_type
from .meshes import mesh_of, shape_or_empty, verify_free_axes, verify_sharding

# Operations --------------------------------------------------------------------------------------


@irdl_op_definition
class ShardingConstraintOp(SyntaxOperation):
    """Constrain the sharding of a value at this point."""

    name = "sdy.sharding_constraint"

    sharding = prop_def(ShardingAttr)
    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " $input bare($sharding) attr-dict : type($input, $result)"

    def __init__(self, input: SSAValue, sharding: TensorSharding) -> None:
        super().__init__(
            operands=[input],
            result_types=[input.type],
            properties={"sharding": ShardingAttr(sharding)},
        )

    def verify_(self) -> None:
        super().verify_()
        verify_same_type(self)
        verify_sharding(self, self.sharding.data, self.input.type)


ReshardOp = variant(
    ShardingConstraintOp,
    "sdy.reshard",
    {"__doc__": "Change the sharding of a value; the decision has been made."},
)


ShardingGroupOp = row(
    "sharding_group",
    "input:tensor | group_id:int",
    " $input group_id=int($group_id) attr-dict : type($input)",
    doc="Put a value into a group; all values with one `group_id` get the same sharding.",
)


DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")


def _verify_direction(op: Operation) -> None:
    direction = integer(op, "allowed_direction")
    if not 0 <= direction < len(DIRECTIONS) or DIRECTIONS[direction] == "BOTH":
        raise VerifyException(f"expected one of {', '.join(DIRECTIONS[:-1])}, got {direction}")


PropagationBarrierOp = row(
    "propagation_barrier",
    "input -> result | allowed_direction:int",
    (
        " $input allowed_direction=",
        KeywordIndex("allowed_direction", DIRECTIONS),
        " attr-dict : type($input, $result)",
    ),
    traits=PURE,
    verify=_verify_direction,
    doc="Limit propagation across this value to `allowed_direction`.",
)


ConstantOp = variant(
    StablehloConstantOp,
    "sdy.constant",
    {"__doc__": "A constant that Shardy repeats, so that each use has a sharding of its own."},
)


@irdl_op_definition
class ReturnOp(SyntaxOperation):
    """Terminate a manual or named computation and return its values."""

    name = "sdy.return"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    SYNTAX: ClassVar[Syntax] = " attr-dict( $arguments : type($arguments))?"

    def __init__(self, *arguments: SSAValue) -> None:
        super().__init__(operands=[arguments])


@directive("shardings")
@dataclass(frozen=True, slots=True)
class _Shardings(PrintsProperty):
    """The shardings of some values: `[<@mesh, [{"a"}]>]`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = ShardingPerValueAttr(parse_shardings(parser))

    def print(self, printer: Printer, operation: Operation) -> None:
        found = cast(ShardingPerValueAttr, operation.properties[self.name])
        printer.print_string(shardings_text(found.data))


class _Body:
    """The body of a computation: `(%a: T, %b: U) {...}`."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.regions["body"] = parse_body(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_body(printer, operation.regions[0])


_END = " attr-dict : (type($arguments)) -> result-types($outputs)"


class _ComputationOp(SyntaxOperation):
    """Base of the ops with a body whose arguments and results have shardings."""

    arguments = var_operand_def()
    outputs = var_result_def()
    body = region_def()

    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def verify_computation(self, manual_axes: tuple[str, ...]) -> None:
        """Check the shardings against the outer types, and the inner types against both.

        Raises VerifyException. Only `manual_axes` divide the sizes inside.
        """
        block = self.body.blocks.first
        terminator = None if block is None else block.last_op
        if block is None or not isinstance(terminator, ReturnOp):
            raise VerifyException("expected a body that ends in 'sdy.return'")
        for what, outer, inner in (
            ("in_shardings", self.arguments.types, block.arg_types),
            ("out_shardings", self.result_types, terminator.operand_types),
        ):
            shardings: Sequence[TensorSharding | None] | None = self._shardings(what)
            if shardings is None:
                shardings = (None,) * len(outer)
            if not len(shardings) == len(outer) == len(inner):
                raise VerifyException(
                    f"number of {what} ({len(shardings)}), values outside ({len(outer)}) and "
                    f"inside ({len(inner)}) must be equal"
                )
            for index, sharding in enumerate(shardings):
                expected, found = shape_or_empty(outer[index]), shape_or_empty(inner[index])
                if sharding is not None:
                    verify_sharding(self, sharding, outer[index])
                    expected = self._inner_shape(sharding, outer[index], manual_axes)
                elements = [element_type(types[index]) for types in (outer, inner)]
                if elements[0] != elements[1]:
                    raise VerifyException(
                        f"expected value {index} inside to have elements of type {elements[0]}, as "
                        f"outside, got {elements[1]}"
                    )
                if expected != found:
                    raise VerifyException(
                        f"expected value {index} inside to have shape {list(expected)} after "
                        f"{what}, got {list(found)}"
                    )

    def _shardings(self, name: str) -> tuple[TensorSharding, ...] | None:
        found = self.properties.get(name)
        return found.data if isinstance(found, ShardingPerValueAttr) else None

    def _inner_shape(
        self, sharding: TensorSharding, outer: Attribute, manual_axes: tuple[str, ...]
    ) -> tuple[int, ...]:
        if not sharding.dimensions:
            return shape_or_empty(outer)  # A scalar, or a tensor on a mesh of one device.
        mesh = mesh_of(self, sharding)
        sizes = {} if mesh is None else mesh.sizes
        shape: list[int] = []
        for size, dimension in zip(shape_or_empty(outer), sharding.dimensions, strict=True):
            parts = prod(
                axis.sub_axis[1] if axis.sub_axis else sizes[axis.name]
                for axis in dimension.axes
                if axis.name in manual_axes
            )
            if size >= 0 and size % parts:
                raise VerifyException(f"dimension of size {size} is not divisible by {parts}")
            shape.append(size if size < 0 else size // parts)
        return tuple(shape)


@irdl_op_definition
class ManualComputationOp(_ComputationOp):
    """Run a body that is local to each device along the manual axes.

    Along these axes the body sees the shards that `in_shardings` and `out_shardings` define. The
    verifier compares the inner shapes with them.
    """

    name = "sdy.manual_computation"

    in_shardings = prop_def(ShardingPerValueAttr)
    out_shardings = prop_def(ShardingPerValueAttr)
    manual_axes = prop_def(ManualAxesAttr)

    SYNTAX: ClassVar[Syntax] = (
        "($arguments) in_shardings=shardings($in_shardings)"
        " out_shardings=shardings($out_shardings) manual_axes=bare($manual_axes) ",
        _Body(),
        _END,
    )

    def verify_(self) -> None:
        super().verify_()
        manual = self.manual_axes.data
        shardings = (*self.in_shardings.data, *self.out_shardings.data)
        found = (mesh_of(self, each) for each in shardings)
        meshes = list(dict.fromkeys(mesh for mesh in found if mesh is not None and mesh.axes))
        if manual and len(meshes) > 1:
            shown = ", ".join(map(str, meshes))
            raise VerifyException(f"expected all shardings to be on one mesh, got {shown}")
        for axis in manual:
            if any(axis not in mesh.sizes for mesh in meshes):
                raise VerifyException(f'unknown manual axis "{axis}"')
        verify_free_axes(self, manual)
        for sharding in shardings:
            self._verify_manual_first(sharding)
        self.verify_computation(manual)

    def _verify_manual_first(self, sharding: TensorSharding) -> None:
        """Check that the manual axes of each dimension are whole, and before the others."""
        manual = self.manual_axes.data
        for dimension in sharding.dimensions:
            are_manual = [axis.name in manual for axis in dimension.axes]
            if are_manual != sorted(are_manual, reverse=True):
                raise VerifyException(f"expected manual axes before others, got {dimension}")
        for axes in (*(each.axes for each in sharding.dimensions), sharding.replicated):
            for axis in axes:
                if axis.name in manual and axis.sub_axis is not None:
                    raise VerifyException(f"expected a manual axis to be whole, got {axis}")


@irdl_op_definition
class NamedComputationOp(_ComputationOp):
    """Run a named part of the program, which may have shardings of its arguments and results."""

    name = "sdy.named_computation"

    in_shardings = opt_prop_def(ShardingPerValueAttr)
    out_shardings = opt_prop_def(ShardingPerValueAttr)
    computation = prop_def(StringAttr, prop_name="name")

    SYNTAX: ClassVar[Syntax] = (
        "<$name>($arguments)( in_shardings=shardings($in_shardings))?"
        "( out_shardings=shardings($out_shardings))? ",
        _Body(),
        _END,
    )

    def verify_(self) -> None:
        super().verify_()
        self.verify_computation(())


Sdy = dialect_of("sdy", attributes, meshes, collectives, sharding_rules, globals())
