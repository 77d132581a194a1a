"""The tosa dialect of MLIR 22, defined by one table. xDSL's, which it replaces, has a fifth of it.

All ops but constants and control flow are written as `tosa.name %a, %b {attributes} : (types) ->
type`. A row gives the number of operands, the attributes and the verifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    UnrankedTensorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.dialect_extension import variant
from ...ir.syntax.keyword_attributes import KeywordAttribute
from . import checks, constant_checks, window_checks
from .attributes import NanModeAttr, ResizeModeAttr, RoundingModeAttr, ShapeType
from .control_flow import IfOp, WhileOp, YieldOp
from .variables import VariableOp, VariableReadOp, VariableWriteOp

_ATTRIBUTE_CLASSES: dict[str, type[Attribute]] = {
    "acc_type": TypeAttribute,
    "axis": IntegerAttr,
    "dilation": DenseArrayBase,
    "domain_name": StringAttr,
    "implementation_attrs": StringAttr,
    "input_unsigned": IntegerAttr,
    "inverse": IntegerAttr,
    "kernel": DenseArrayBase,
    "local_bound": IntegerAttr,
    "max_val": Attribute,
    "min_val": Attribute,
    "mode": ResizeModeAttr,
    "nan_mode": NanModeAttr,
    "operator_name": StringAttr,
    "out_pad": DenseArrayBase,
    "output_unsigned": IntegerAttr,
    "pad": DenseArrayBase,
    "per_channel": IntegerAttr,
    "perms": DenseArrayBase,
    "round": IntegerAttr,
    "rounding_mode": RoundingModeAttr,
    "scale32": IntegerAttr,
    "stride": DenseArrayBase,
    "values": Attribute,
}
"""The class of each attribute by name; an attribute has one class in all ops."""

_ATTRIBUTE_WIDTHS = {
    **dict.fromkeys(("axis", "perms"), i32),
    **dict.fromkeys(("input_unsigned", "inverse", "local_bound", "output_unsigned"), i1),
    **dict.fromkeys(("per_channel", "round", "scale32"), i1),
    **dict.fromkeys(("dilation", "kernel", "out_pad", "pad", "stride"), i64),
}
"""The type of the integers in an attribute, by name."""

_OPTIONAL = ("local_bound", "nan_mode")

_UNIT = UnitAttr()
_PROPAGATE = NanModeAttr("PROPAGATE")

_BARE_WORDS: dict[str, type[KeywordAttribute[Any]]] = {
    "mode": ResizeModeAttr,
    "nan_mode": NanModeAttr,
    "rounding_mode": RoundingModeAttr,
}
"""The attributes that are printed as a bare keyword."""


@dataclass(frozen=True)
class TosaRow:
    """One op of the table."""

    name: str
    operand_count: int | None
    """The number of operands; `None` for any number."""
    attributes: tuple[str, ...]
    verify: Callable[[Operation], None] | None
    """The verifier; `None` if only the numbers of operands and results are checked."""
    result_count: int | None = 1


def _row(
    names: str,
    operands: int | None,
    verify: Callable[[Operation], None] | None,
    attributes: str = "",
    results: int | None = 1,
) -> list[TosaRow]:
    return [
        TosaRow(name, operands, tuple(attributes.split()), verify, results)
        for name in names.split()
    ]


TOSA_OPS: dict[str, TosaRow] = {
    f"tosa.{row.name}": row
    for row in (
        # Element by element.
        *_row("abs bitwise_not clz identity", 1, checks.verify_unary),
        *_row("ceil erf exp floor log reciprocal", 1, checks.verify_numeric_unary),
        *_row("rsqrt sigmoid tanh", 1, checks.verify_numeric_unary),
        *_row("cos sin", 1, checks.verify_floating_unary),
        *_row("logical_not", 1, checks.verify_logical),
        *_row("logical_and logical_or logical_xor", 2, checks.verify_logical),
        *_row("add bitwise_and bitwise_or bitwise_xor pow sub", 2, checks.verify_binary),
        *_row("logical_left_shift logical_right_shift", 2, checks.verify_binary),
        *_row("intdiv", 2, checks.verify_division),
        *_row("arithmetic_right_shift", 2, checks.verify_binary, "round"),
        *_row("maximum minimum", 2, checks.verify_binary, "nan_mode"),
        *_row("equal greater greater_equal", 2, checks.verify_comparison),
        *_row("mul", 3, checks.verify_mul),
        *_row("select", 3, checks.verify_select),
        *_row("negate", 3, checks.verify_negate),
        *_row("cast", 1, checks.verify_same_shape),
        *_row("clamp", 1, checks.verify_clamp, "max_val min_val nan_mode"),
        *_row("table", 2, checks.verify_table),
        *_row(
            "rescale",
            5,
            checks.verify_rescale,
            "input_unsigned output_unsigned per_channel rounding_mode scale32",
        ),
        *_row("apply_scale", 3, None, "rounding_mode"),
        # Along an axis.
        *_row("reduce_all reduce_any reduce_product reduce_sum", 1, checks.verify_reduce, "axis"),
        *_row("reduce_max reduce_min", 1, checks.verify_reduce, "axis nan_mode"),
        *_row("argmax", 1, checks.verify_argmax, "axis nan_mode"),
        *_row("reverse", 1, checks.verify_reverse, "axis"),
        *_row("concat", None, checks.verify_concat, "axis"),
        # Moving elements.
        *_row("transpose", 1, checks.verify_transpose, "perms"),
        *_row("reshape", 2, checks.verify_reshape),
        *_row("pad", 3, checks.verify_pad),
        *_row("slice", 3, checks.verify_slice),
        *_row("tile", 2, checks.verify_tile),
        *_row("gather", 2, checks.verify_gather),
        *_row("scatter", 3, checks.verify_scatter),
        *_row("resize", 4, window_checks.verify_resize, "mode"),
        # Contractions and windows.
        *_row("matmul", 4, window_checks.verify_matmul),
        *_row(
            "conv2d conv3d",
            5,
            window_checks.verify_conv,
            "acc_type dilation local_bound pad stride",
        ),
        *_row(
            "depthwise_conv2d",
            5,
            window_checks.verify_depthwise_conv2d,
            "acc_type dilation local_bound pad stride",
        ),
        *_row(
            "transpose_conv2d",
            5,
            window_checks.verify_transpose_conv2d,
            "acc_type local_bound out_pad stride",
        ),
        *_row("avg_pool2d", 3, window_checks.verify_pool2d, "acc_type kernel pad stride"),
        *_row("max_pool2d", 1, window_checks.verify_pool2d, "kernel nan_mode pad stride"),
        *_row("fft2d", 2, window_checks.verify_transform, "inverse local_bound", 2),
        *_row("rfft2d", 1, window_checks.verify_transform, "local_bound", 2),
        # Constants, shapes and whatever else.
        *_row("const", 0, constant_checks.verify_const, "values"),
        *_row("const_shape", 0, constant_checks.verify_const_shape, "values"),
        *_row("add_shape div_ceil_shape div_floor_shape", 2, constant_checks.verify_shapes),
        *_row("max_shape min_shape mod_shape", 2, constant_checks.verify_shapes),
        *_row("mul_shape sub_shape", 2, constant_checks.verify_shapes),
        *_row("exp2_shape log2_ceil_shape log2_floor_shape", 1, constant_checks.verify_shapes),
        *_row("concat_shape", None, constant_checks.verify_shapes),
        *_row("slice_shape", 3, None),
        *_row("dim", 1, constant_checks.verify_dim, "axis"),
        *_row(
            "custom",
            None,
            None,
            "domain_name implementation_attrs operator_name",
            None,
        ),
    )
}
"""The rows of the table by full op name."""


class TosaOp(IRDLOperation):
    """Base of the ops of the table."""

    ROW: ClassVar[TosaRow]

    arguments = var_operand_def()
    outputs = var_result_def()

    @classmethod
    def with_defaults(cls, properties: dict[str, Attribute]) -> dict[str, Attribute]:
        """Return the properties, with defaults for those that MLIR sets if the text omits them."""
        if "nan_mode" in cls.ROW.attributes:
            properties.setdefault("nan_mode", _PROPAGATE)
        return properties

    def verify_(self) -> None:
        row = self.ROW
        if row.operand_count is not None and len(self.operands) != row.operand_count:
            raise VerifyException(
                f"expected {row.operand_count} operands, but found {len(self.operands)}"
            )
        if row.result_count is not None and len(self.results) != row.result_count:
            raise VerifyException(
                f"expected {row.result_count} results, but found {len(self.results)}"
            )
        for name in row.attributes:
            self._verify_width(name)
        values = (*self.operands, *self.results)
        is_ranked = not any(isinstance(value.type, UnrankedTensorType) for value in values)
        if row.verify is not None and is_ranked:
            row.verify(self)

    def _verify_width(self, name: str) -> None:
        width, value = _ATTRIBUTE_WIDTHS.get(name), self.properties.get(name)
        found = getattr(value, "elt_type" if isinstance(value, DenseArrayBase) else "type", None)
        if width is not None and value is not None and found != width:
            raise VerifyException(
                f"attribute '{name}' failed to satisfy constraint: expected numbers of type "
                f"{width}, found {value}"
            )


class PrettyTosaOp(TosaOp):
    """Base of the ops with a custom syntax: all but `tosa.const`."""

    # Custom parser: modes are bare keywords in the dictionary, and all ops share one syntax.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = _parse_attributes(parser)
        parser.parse_punctuation(":")
        position = parser.pos
        function_type: FunctionType = parser.parse_function_type()
        operands = parser.resolve_operands(unresolved or (), function_type.inputs.data, position)
        properties = {
            name: attributes.pop(name) for name in cls.ROW.attributes if name in attributes
        }
        return cls.create(
            operands=operands,
            result_types=function_type.outputs.data,
            properties=cls.with_defaults(properties),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        _print_attributes(printer, {**self.properties, **self.attributes})
        printer.print_string(" : ")
        printer.print_operation_type(self)


def _parse_attributes(parser: Parser) -> dict[str, Attribute]:
    """Parse an attribute dictionary in which modes are bare keywords."""
    entries = parser.parse_optional_comma_separated_list(
        parser.Delimiter.BRACES, lambda: _parse_attribute(parser)
    )
    return dict(entries or ())


def _parse_attribute(parser: Parser) -> tuple[str, Attribute]:
    name = parser.parse_identifier_or_str_literal()
    if not parser.parse_optional_punctuation("="):
        return name, _UNIT
    attribute = parser.parse_optional_attribute()
    if attribute is not None:
        return name, attribute
    if name in _BARE_WORDS:
        return name, _BARE_WORDS[name].parse_word(parser)
    return name, parser.parse_attribute()


def _print_attributes(printer: Printer, attributes: dict[str, Attribute]) -> None:
    shown = {
        name: attributes[name] for name in sorted(attributes) if attributes[name] != _PROPAGATE
    }
    if not shown:
        return

    def entry(item: tuple[str, Attribute]) -> None:
        name, value = item
        printer.print_identifier_or_string_literal(name)
        if value == _UNIT:
            return
        printer.print_string(" = ")
        if isinstance(value, KeywordAttribute):
            printer.print_string(cast("KeywordAttribute[str]", value).data)
        else:
            printer.print_attribute(value)

    printer.print_string(" ")
    with printer.in_braces():
        printer.print_list(shown.items(), entry)


@cache
def _prototype(base: type[TosaOp], attributes: tuple[str, ...], pure: bool) -> type[TosaOp]:
    """Return the class of the ops that have the same attributes."""
    members: dict[str, object] = {
        "name": "tosa.op",
        "traits": traits_def(Pure()) if pure else traits_def(),
    }
    for name in attributes:
        definition = opt_prop_def if name in _OPTIONAL else prop_def
        members[name] = definition(_ATTRIBUTE_CLASSES[name])
    return irdl_op_definition(cast(type[TosaOp], type("TosaPrototype", (base,), members)))


def _table_class(name: str, row: TosaRow) -> type[TosaOp]:
    base: type[TosaOp] = TosaOp if row.name == "const" else PrettyTosaOp
    # The effects of a custom op are unknown.
    return variant(_prototype(base, row.attributes, row.name != "custom"), name, {"ROW": row})


TOSA_CLASSES: dict[str, type[TosaOp]] = {
    name: _table_class(name, row) for name, row in TOSA_OPS.items()
}
"""The classes of the ops of the table by full name."""

Tosa = Dialect(
    "tosa",
    [
        *TOSA_CLASSES.values(),
        *(IfOp, WhileOp, YieldOp),
        *(VariableOp, VariableReadOp, VariableWriteOp),
    ],
    [NanModeAttr, ResizeModeAttr, RoundingModeAttr, ShapeType],
)
