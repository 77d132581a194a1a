"""The attributes and types of StableHLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntAttr, f64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.attribute_access import attribute
from ...ir.dialect_extension import attribute_class
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, Kind, list_of
from ...ir.syntax.directives import parse_dialect_attribute
from ...ir.syntax.keyword_attributes import KeywordAttribute, OpaqueKeywordAttribute

# Words -------------------------------------------------------------------------------------------


def word_attribute(name: str, *words: str) -> type[OpaqueKeywordAttribute]:
    """Return the class of the keyword attribute `#dialect<name WORD>` called `dialect.name`."""
    doc = f"`#{name.replace('.', '<')} {words[-1]}>`."
    return attribute_class(name, doc, OpaqueKeywordAttribute, WORDS=words)


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

_INTEGER, _STRING, _ATTRIBUTE, _TYPE = (KINDS[name] for name in ("int", "string", "attr", "type"))
_SQUARE = AttrParser.Delimiter.SQUARE
INTEGERS = list_of(*_INTEGER, _SQUARE)
_FLOAT: Kind = (
    lambda parser: FloatAttr(float(parser.parse_number()), f64),
    lambda printer, number: printer.print_string(f"{cast(FloatAttr, number).value.data:.6e}"),
)


def _parse_sub_axis(parser: AttrParser) -> Attribute:
    """Parse `(1)2`."""
    with parser.in_parens():
        first = _INTEGER[0](parser)
    return ArrayAttr([first, _INTEGER[0](parser)])


def _print_sub_axis(printer: Printer, sub_axis: Attribute) -> None:
    first, size = _integers(sub_axis)
    printer.print_string(f"({first}){size}")


def _integers(numbers: Attribute | None) -> tuple[int, ...]:
    return tuple(number.data for number in cast("ArrayAttr[IntAttr]", numbers or ()))


class StructAttribute(FieldsAttribute):
    """Base of the attributes with named fields: integers, lists, strings and nested attributes.

    A field that is left out has the default of its kind: 0, or an empty list.
    """

    DEFAULTS: ClassVar[Sequence[Attribute]] = (IntAttr(0), FloatAttr(0.0, f64), ArrayAttr(()))

    @classmethod
    def of(cls, **values: int | Sequence[int]) -> Self:
        """Return the attribute with these fields: integers, and lists of them."""
        found = {
            name: IntAttr(value) if isinstance(value, int) else ArrayAttr(map(IntAttr, value))
            for name, value in values.items()
        }
        return cls.new(cls.parameters_of(found))

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers; empty if the field is left out."""
        return _integers(self.field(name))

    def integer(self, name: str) -> int:
        """Return an integer; 0 if the field is left out."""
        return cast(IntAttr, self.field(name) or IntAttr(0)).data


def struct_attribute(
    name: str,
    example: str,
    fields: Mapping[str, Kind],
    required: Sequence[str] = (),
    last_comma: bool = False,
) -> type[StructAttribute]:
    """Return the class of attributes with these fields; `example` shows the fields as text."""
    return attribute_class(
        name,
        f"`#{name}<{example}>`.",
        StructAttribute,
        __annotations__={f"{field}_": Attribute for field in fields},
        FIELDS=fields,
        REQUIRED=required,
        LAST_COMMA=last_comma,
    )


def _lists(names: str) -> dict[str, Kind]:
    """Return the fields of these names, which are lists of integers."""
    return dict.fromkeys(names.split(), INTEGERS)


GatherAttr = struct_attribute(
    "stablehlo.gather",
    "offset_dims = [1], ...",
    {
        **_lists("offset_dims collapsed_slice_dims operand_batching_dims"),
        **_lists("start_indices_batching_dims start_index_map"),
        "index_vector_dim": _INTEGER,
    },
    last_comma=True,
)
ScatterAttr = struct_attribute(
    "stablehlo.scatter",
    "update_window_dims = [1], ...",
    {
        **_lists("update_window_dims inserted_window_dims input_batching_dims"),
        **_lists("scatter_indices_batching_dims scatter_dims_to_operand_dims"),
        "index_vector_dim": _INTEGER,
    },
    last_comma=True,
)
DotAttr = struct_attribute(
    "stablehlo.dot",
    "lhs_batching_dimensions = [0], ...",
    {
        **_lists("lhs_batching_dimensions rhs_batching_dimensions"),
        **_lists("lhs_contracting_dimensions rhs_contracting_dimensions"),
    },
    last_comma=True,
)
_ALGORITHM: Mapping[str, Kind] = {
    **dict.fromkeys(("lhs_precision_type", "rhs_precision_type", "accumulation_type"), _TYPE),
    "lhs_component_count": _INTEGER,
    "rhs_component_count": _INTEGER,
    "num_primitive_operations": _INTEGER,
    "allow_imprecise_accumulation": KINDS["bool"],
}
DotAlgorithmAttr = struct_attribute(
    "stablehlo.dot_algorithm", "lhs_precision_type = tf32, ...", _ALGORITHM, tuple(_ALGORITHM)
)
ChannelHandleAttr = struct_attribute(
    "stablehlo.channel_handle",
    "handle = 1, type = 1",
    {"handle": _INTEGER, "type": _INTEGER},
    ("handle", "type"),
)
ResultAccuracyAttr = struct_attribute(
    "stablehlo.result_accuracy",
    "ulps = 2, mode = ...",
    {"atol": _FLOAT, "rtol": _FLOAT, "ulps": _INTEGER, "mode": _ATTRIBUTE},
    ("mode",),
)
_ALIAS: Mapping[str, Kind] = {
    "output_tuple_indices": INTEGERS,
    "operand_index": _INTEGER,
    "operand_tuple_indices": INTEGERS,
}
OutputOperandAliasAttr = struct_attribute(
    "stablehlo.output_operand_alias", "output_tuple_indices = [0], ...", _ALIAS, tuple(_ALIAS)
)
MeshAxisAttr = struct_attribute(
    "stablehlo.mesh_axis",
    'name = "x", size = 2',
    {"name": _STRING, "size": _INTEGER},
    ("name", "size"),
)
AxisRefAttr = struct_attribute(
    "stablehlo.axis_ref",
    'name = "x", sub_axis_info = (1)2',
    {"name": _STRING, "sub_axis_info": (_parse_sub_axis, _print_sub_axis)},
    ("name",),
)


def _parse_axis(parser: AttrParser) -> Attribute:
    """Parse `#stablehlo.mesh_axis<...>`, or `<...>`."""
    return parse_dialect_attribute(parser, MeshAxisAttr)


MeshAttr = struct_attribute(
    "stablehlo.mesh",
    "axes = [...]",
    {"axes": list_of(_parse_axis, delimiter=_SQUARE), "device_ids": _ATTRIBUTE},
    ("axes",),
)
ReplicaGroupMeshAxesAttr = struct_attribute(
    "stablehlo.replica_group_mesh_axes",
    "mesh = @mesh, axes = [...]",
    {"mesh": _ATTRIBUTE, "axes": list_of(_ATTRIBUTE[0], delimiter=_SQUARE)},
    ("mesh", "axes"),
)
