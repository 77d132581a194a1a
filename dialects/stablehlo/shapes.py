"""StableHLO's operations that move elements, with known and with computed shapes."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...ir.attribute_access import attribute, number_list
from ...ir.syntax.assembly_format import Parsed
from . import index_checks, inference
from .inference import inferred
from .syntax import Custom, define


def _read_slice(parser: Parser, parsed: Parsed) -> None:
    def entry() -> tuple[int, int, int]:
        start = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(":")
        limit = parser.parse_integer(allow_boolean=False)
        stride = 1
        if parser.parse_optional_punctuation(":"):
            stride = parser.parse_integer(allow_boolean=False)
        return start, limit, stride

    entries = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, entry)
    for place, name in enumerate(_SLICE):
        numbers = [each[place] for each in entries]
        parsed.attributes[name] = DenseArrayBase.from_list(i64, numbers)


def _write_slice(printer: Printer, operation: Operation) -> None:
    lists = [number_list(attribute(operation, name)) for name in _SLICE]
    shown = [
        f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
        for start, limit, stride in zip(*lists, strict=True)
    ]
    printer.print_string(f"[{', '.join(shown)}]")


_SLICE = ("start_indices", "limit_indices", "strides")
_RANGES = Custom(_read_slice, _write_slice, _SLICE)

_BROADCAST = (
    " $operand, dims = numbers($broadcast_dimensions) attr-dict : signature($operand, $result)"
)

OPERATIONS = [
    define(
        "stablehlo.reshape",
        "operand",
        syntax=" $operand attr-dict : signature($operand, $result)",
        verify=inference.reshaping,
    ),
    define(
        "stablehlo.broadcast_in_dim",
        "operand",
        syntax=_BROADCAST,
        attributes="broadcast_dimensions",
        verify=inference.broadcasting,
    ),
    define(
        "stablehlo.broadcast",
        "operand",
        syntax=(
            " $operand, sizes = numbers($broadcast_sizes) attr-dict : signature($operand, $result)"
        ),
        attributes="broadcast_sizes",
    ),
    define(
        "stablehlo.transpose",
        "operand",
        syntax=" $operand, dims = numbers($permutation) attr-dict : signature($operand, $result)",
        attributes="permutation",
        verify=inferred(inference.transposed),
    ),
    define(
        "stablehlo.reverse",
        "operand",
        syntax=" $operand, dims = numbers($dimensions) attr-dict : types($operand, $result)",
        attributes="dimensions",
        verify=inferred(inference.reversed_),
    ),
    define(
        "stablehlo.concatenate",
        "inputs*",
        syntax=" leading($inputs) dim = int($dimension) attr-dict : signature($inputs, $result)",
        attributes="dimension",
        verify=inferred(inference.concatenated),
    ),
    define(
        "stablehlo.slice",
        "operand",
        syntax=(" $operand ", _RANGES, " attr-dict : signature($operand, $result)"),
        attributes=" ".join(_SLICE),
        verify=inferred(inference.sliced),
    ),
    define(
        "stablehlo.pad",
        "operand padding_value",
        syntax=(
            " $operand, $padding_value, low = numbers($edge_padding_low), "
            "high = numbers($edge_padding_high), interior = numbers($interior_padding) attr-dict : "
            "signature($operand, $padding_value, $result)"
        ),
        attributes="edge_padding_low edge_padding_high interior_padding",
        verify=inferred(inference.padded),
    ),
    define(
        "stablehlo.iota",
        "",
        "output",
        syntax=" dim = int($iota_dimension) attr-dict : type($output)",
        attributes="iota_dimension",
        verify=inference.iota,
    ),
    define(
        "stablehlo.dynamic_slice",
        "operand start_indices*",
        syntax=(
            " $operand, leading($start_indices) sizes = numbers($slice_sizes) attr-dict : "
            "signature($operand, $start_indices, $result)"
        ),
        attributes="slice_sizes",
        verify=inferred(inference.dynamic_slice),
    ),
    define(
        "stablehlo.dynamic_update_slice",
        "operand update start_indices*",
        syntax=(
            " $operand, $update( , $start_indices)? attr-dict : "
            "signature($operand, $update, $start_indices, $result)"
        ),
        verify=inferred(inference.dynamic_update),
    ),
    define(
        "stablehlo.dynamic_reshape",
        "operand output_shape",
        syntax=" $operand, $output_shape attr-dict : signature($operand, $output_shape, $result)",
    ),
    define(
        "stablehlo.dynamic_broadcast_in_dim",
        "operand output_dimensions",
        syntax=(
            " $operand, $output_dimensions, dims = numbers($broadcast_dimensions) attr-dict : "
            "signature($operand, $output_dimensions, $result)"
        ),
        attributes=(
            "broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?"
        ),
        verify=inference.broadcasting,
    ),
    define(
        "stablehlo.dynamic_iota",
        "output_shape",
        syntax=(
            " $output_shape, dim = int($iota_dimension) attr-dict : "
            "signature($output_shape, $result)"
        ),
        attributes="iota_dimension",
        verify=inference.iota,
    ),
    define(
        "stablehlo.dynamic_pad",
        "operand padding_value edge_padding_low edge_padding_high interior_padding",
        syntax=(
            " $operand, $padding_value, $edge_padding_low, $edge_padding_high, $interior_padding "
            "attr-dict : signature($operand, $padding_value, $edge_padding_low, "
            "$edge_padding_high, $interior_padding, $result)"
        ),
    ),
    define(
        "stablehlo.real_dynamic_slice",
        "operand start_indices limit_indices strides",
        syntax=(
            " $operand, $start_indices, $limit_indices, $strides attr-dict : "
            "signature($operand, $start_indices, $limit_indices, $strides, $result)"
        ),
    ),
    define(
        "stablehlo.get_dimension_size",
        "operand",
        syntax=" $operand, dim = int($dimension) attr-dict : signature($operand, $result)",
        attributes="dimension",
        verify=index_checks.dimension,
    ),
    define(
        "stablehlo.set_dimension_size",
        "operand size",
        syntax=(
            " $operand, $size, dim = int($dimension) attr-dict : "
            "signature($operand, $size, $result)"
        ),
        attributes="dimension",
        verify=index_checks.dimension,
    ),
    define(
        "stablehlo.gather",
        "operand start_indices",
        attributes="dimension_numbers slice_sizes indices_are_sorted?",
        verify=index_checks.gather,
    ),
    define(
        "stablehlo.dynamic_gather",
        "operand start_indices slice_sizes",
        attributes="dimension_numbers indices_are_sorted?",
    ),
    define(
        "stablehlo.torch_index_select",
        "operand index",
        attributes="dim batch_dims",
    ),
]
"""The operations of this file."""
