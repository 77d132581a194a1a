"""The attributes and types of StableHLO."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.attribute_access import attribute
from ...ir.syntax.keyword_attributes import KeywordAttribute, OpaqueKeywordAttribute
from ...ir.syntax.structs import parse_struct, print_struct

# Words -------------------------------------------------------------------------------------------


def word_attribute(name: str, *words: str) -> type[OpaqueKeywordAttribute]:
    """Return the class of the keyword attribute `#dialect<name WORD>` called `dialect.name`."""
    dialect, _, short = name.partition(".")
    class_name = "".join(word.capitalize() for word in short.split("_")) + "Attr"
    members = {
        "__doc__": f"`#{dialect}<{short} {words[-1]}>`.",
        "__module__": __name__,
        "name": name,
        "WORDS": words,
    }
    return irdl_attr_definition(type(class_name, (OpaqueKeywordAttribute,), members))


ComparisonDirectionAttr = word_attribute(
    "stablehlo.comparison_direction", *("EQ", "NE", "GE", "GT", "LE", "LT")
)
ComparisonTypeAttr = word_attribute(
    "stablehlo.comparison_type", *("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
)
PrecisionAttr = word_attribute("stablehlo.precision", "DEFAULT", "HIGH", "HIGHEST")
FftTypeAttr = word_attribute("stablehlo.fft_type", "FFT", "IFFT", "RFFT", "IRFFT")
TransposeAttr = word_attribute(
    "stablehlo.transpose", *("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
)
RngDistributionAttr = word_attribute("stablehlo.rng_distribution", "UNIFORM", "NORMAL")
RngAlgorithmAttr = word_attribute("stablehlo.rng_algorithm", "DEFAULT", "THREE_FRY", "PHILOX")
CustomCallApiVersionAttr = word_attribute(
    "stablehlo.custom_call_api_version",
    *("API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING_UNIFIED"),
    *("API_VERSION_STATUS_RETURNING", "API_VERSION_TYPED_FFI"),
)


def fft_kind(operation: Operation) -> str:
    """Return the word of an operation's `fft_type`; an empty string if it has none."""
    return getattr(attribute(operation, "fft_type"), "data", "")


@irdl_attr_definition
class ResultAccuracyModeAttr(KeywordAttribute[str]):
    """`#stablehlo.result_accuracy_mode<TOLERANCE>`."""

    name = "stablehlo.result_accuracy_mode"
    WORDS = ("DEFAULT", "HIGHEST", "TOLERANCE")


# Structs -----------------------------------------------------------------------------------------

FieldValue = int | float | bool | str | tuple[int, ...] | Attribute | tuple[Attribute, ...]


def parse_integers(parser: AttrParser) -> tuple[int, ...]:
    """Parse `[0, 1]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def _integer(parser: AttrParser) -> int:
    return parser.parse_integer(allow_boolean=False)


def _float(parser: AttrParser) -> float:
    return float(parser.parse_number())


def _sub_axis(parser: AttrParser) -> tuple[int, ...]:
    """Parse `(1)2`."""
    with parser.in_parens():
        first = _integer(parser)
    return first, _integer(parser)


def _attributes(parser: AttrParser) -> tuple[Attribute, ...]:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute))


FieldParser = Callable[[AttrParser], FieldValue]

_boolean: FieldParser = methodcaller("parse_boolean")
_text: FieldParser = methodcaller("parse_str_literal")
_attribute: FieldParser = methodcaller("parse_attribute")
_type: FieldParser = methodcaller("parse_type")


class StructAttribute(Data[tuple[tuple[str, FieldValue], ...]]):
    """Base of the attributes with named fields: integers, lists, strings and nested attributes.

    A field that is left out has the default of its kind: 0, or an empty list.
    """

    FIELDS: ClassVar[dict[str, FieldParser]]
    ALWAYS: ClassVar[tuple[str, ...]] = ()
    """Fields that cannot be left out."""
    LAST_COMMA: ClassVar[bool] = False
    """Whether a comma may follow the last field."""

    @classmethod
    def of(cls, **values: FieldValue) -> Self:
        """Return the attribute with these fields."""
        return cls(tuple((name, values[name]) for name in cls.FIELDS if name in values))

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers; empty if the field is left out."""
        return cast("tuple[int, ...]", dict(self.data).get(name, ()))

    def integer(self, name: str) -> int:
        """Return an integer; 0 if the field is left out."""
        return cast(int, dict(self.data).get(name, 0))

    def field(self, name: str) -> FieldValue | None:
        """Return a field of any kind; `None` if it is left out."""
        return dict(self.data).get(name)

    @classmethod
    def parse_fields(cls, parser: AttrParser) -> Self:
        """Parse `<a = 1, b = [2]>`."""
        found: dict[str, FieldValue] = {}

        def reader(name: str, parse: FieldParser) -> Callable[[AttrParser], Attribute]:
            def run(inner: AttrParser) -> Attribute:
                found[name] = parse(inner)
                return StringAttr("")

            return run

        fields = {name: reader(name, parse) for name, parse in cls.FIELDS.items()}
        parse_struct(parser, fields, cls.ALWAYS, last_comma=cls.LAST_COMMA)
        return cls.of(**found)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, FieldValue], ...]:
        return cls.parse_fields(parser).data

    def print_parameter(self, printer: Printer) -> None:
        found = dict(self.data)

        def show(name: str) -> Callable[[], None] | None:
            value = found.get(name)
            if name not in self.ALWAYS and (value is None or value in (0, ())):
                return None
            if value is None:
                value = 0
            return lambda: _print_field(printer, name, value)

        print_struct(printer, [(name, show(name)) for name in self.FIELDS])


def _print_field(printer: Printer, name: str, value: FieldValue) -> None:
    if name == "sub_axis_info":
        first, size = cast("tuple[int, int]", value)
        printer.print_string(f"({first}){size}")
    elif isinstance(value, tuple):
        with printer.in_square_brackets():
            printer.print_list(value, lambda each: _print_field(printer, "", each))
    elif isinstance(value, Attribute):
        printer.print_attribute(value)
    elif isinstance(value, bool):
        printer.print_string(str(value).lower())
    elif isinstance(value, str):
        printer.print_string_literal(value)
    elif isinstance(value, float):
        printer.print_string(f"{value:.6e}")
    else:
        printer.print_string(str(value))


def struct_attribute(
    name: str,
    example: str,
    fields: dict[str, FieldParser],
    always: tuple[str, ...] = (),
    last_comma: bool = False,
) -> type[StructAttribute]:
    """Return the class of attributes with these fields; `example` shows the fields as text."""
    words = name.partition(".")[2].split("_")
    members = {
        "__doc__": f"`#{name}<{example}>`.",
        "__module__": __name__,
        "name": name,
        "FIELDS": fields,
        "ALWAYS": always,
        "LAST_COMMA": last_comma,
    }
    class_name = "".join(word.capitalize() for word in words) + "Attr"
    return irdl_attr_definition(type(class_name, (StructAttribute,), members))


GatherAttr = struct_attribute(
    "stablehlo.gather",
    "offset_dims = [1], ...",
    {
        "offset_dims": parse_integers,
        "collapsed_slice_dims": parse_integers,
        "operand_batching_dims": parse_integers,
        "start_indices_batching_dims": parse_integers,
        "start_index_map": parse_integers,
        "index_vector_dim": _integer,
    },
    last_comma=True,
)
ScatterAttr = struct_attribute(
    "stablehlo.scatter",
    "update_window_dims = [1], ...",
    {
        "update_window_dims": parse_integers,
        "inserted_window_dims": parse_integers,
        "input_batching_dims": parse_integers,
        "scatter_indices_batching_dims": parse_integers,
        "scatter_dims_to_operand_dims": parse_integers,
        "index_vector_dim": _integer,
    },
    last_comma=True,
)
DotAttr = struct_attribute(
    "stablehlo.dot",
    "lhs_batching_dimensions = [0], ...",
    {
        "lhs_batching_dimensions": parse_integers,
        "rhs_batching_dimensions": parse_integers,
        "lhs_contracting_dimensions": parse_integers,
        "rhs_contracting_dimensions": parse_integers,
    },
    last_comma=True,
)
_ALGORITHM: dict[str, FieldParser] = {
    **dict.fromkeys(("lhs_precision_type", "rhs_precision_type", "accumulation_type"), _type),
    "lhs_component_count": _integer,
    "rhs_component_count": _integer,
    "num_primitive_operations": _integer,
    "allow_imprecise_accumulation": _boolean,
}
DotAlgorithmAttr = struct_attribute(
    "stablehlo.dot_algorithm", "lhs_precision_type = tf32, ...", _ALGORITHM, tuple(_ALGORITHM)
)
ChannelHandleAttr = struct_attribute(
    "stablehlo.channel_handle",
    "handle = 1, type = 1",
    {"handle": _integer, "type": _integer},
    ("handle", "type"),
)
ResultAccuracyAttr = struct_attribute(
    "stablehlo.result_accuracy",
    "ulps = 2, mode = ...",
    {"atol": _float, "rtol": _float, "ulps": _integer, "mode": _attribute},
    ("mode",),
)
_ALIAS: dict[str, FieldParser] = {
    "output_tuple_indices": parse_integers,
    "operand_index": _integer,
    "operand_tuple_indices": parse_integers,
}
OutputOperandAliasAttr = struct_attribute(
    "stablehlo.output_operand_alias", "output_tuple_indices = [0], ...", _ALIAS, tuple(_ALIAS)
)
MeshAxisAttr = struct_attribute(
    "stablehlo.mesh_axis",
    'name = "x", size = 2',
    {"name": _text, "size": _integer},
    ("name", "size"),
)
AxisRefAttr = struct_attribute(
    "stablehlo.axis_ref",
    'name = "x", sub_axis_info = (1)2',
    {"name": _text, "sub_axis_info": _sub_axis},
)


def _mesh_axes(parser: AttrParser) -> tuple[Attribute, ...]:
    """Parse `[#stablehlo.mesh_axis<...>, <...>]`: the name of the attribute may be left out."""

    def axis() -> Attribute:
        return parser.parse_optional_attribute() or MeshAxisAttr.parse_fields(parser)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, axis))


@irdl_attr_definition
class MeshAttr(StructAttribute):
    """`#stablehlo.mesh<axes = [...]>`."""

    name = "stablehlo.mesh"
    FIELDS: ClassVar[dict[str, FieldParser]] = {"axes": _mesh_axes, "device_ids": _attribute}
    ALWAYS = ("axes",)


@irdl_attr_definition
class ReplicaGroupMeshAxesAttr(StructAttribute):
    """`#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [...]>`."""

    name = "stablehlo.replica_group_mesh_axes"
    FIELDS: ClassVar[dict[str, FieldParser]] = {"mesh": _attribute, "axes": _attributes}
    ALWAYS = ("mesh", "axes")

    def mesh(self) -> MeshAttr | SymbolRefAttr | None:
        """Return the mesh or the symbol that refers to it; `None` if there is neither."""
        found = self.field("mesh")
        return found if isinstance(found, MeshAttr | SymbolRefAttr) else None
