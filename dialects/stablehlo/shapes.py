"""StableHLO's ops that move elements, with static or with computed shapes."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...ir.attribute_access import attribute, number_list
from ...ir.syntax.assembly_format import Parsed
from . import checks, index_checks
from .checks import shape_verifier
from .syntax import Custom, define


def _parse_slice(parser: Parser, parsed: Parsed) -> None:
    def entry() -> tuple[int, int, int]:
        start = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(":")
        limit = parser.parse_integer(allow_boolean=False)
        stride = 1
        if parser.parse_optional_punctuation(":"):
            stride = parser.parse_integer(allow_boolean=False)
        return start, limit, stride

    entries = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, entry)
    for index, name in enumerate(_SLICE):
        numbers = [each[index] for each in entries]
        parsed.attributes[name] = DenseArrayBase.from_list(i64, numbers)


def _print_slice(printer: Printer, operation: Operation) -> None:
    lists = [number_list(attribute(operation, name)) for name in _SLICE]
    shown = [
        f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
        for start, limit, stride in zip(*lists, strict=True)
    ]
    printer.print_string(f"[{', '.join(shown)}]")


_SLICE = ("start_indices", "limit_indices", "strides")
_RANGES = Custom(_parse_slice, _print_slice, _SLICE)

_BROADCAST = (
    " $operand, dims = numbers($broadcast_dimensions) attr-dict : signature($operand, $result)"
)

ROWS = [
    define(
        "stablehlo.reshape",
        "operand -> result",
        " $operand attr-dict : signature($operand, $result)",
        verify=checks.verify_reshape,
    ),
    define(
        "stablehlo.broadcast_in_dim",
        "operand -> result | broadcast_dimensions:numbers",
        _BROADCAST,
        verify=checks.verify_broadcast_in_dim,
    ),
    define(
        "stablehlo.broadcast",
        "operand -> result | broadcast_sizes:numbers",
        " $operand, sizes = numbers($broadcast_sizes) attr-dict : signature($operand, $result)",
        verify=shape_verifier(checks.infer_broadcast),
    ),
    define(
        "stablehlo.transpose",
        "operand -> result | permutation:numbers",
        " $operand, dims = numbers($permutation) attr-dict : signature($operand, $result)",
        verify=shape_verifier(checks.infer_transpose),
    ),
    define(
        "stablehlo.reverse",
        "operand -> result | dimensions:numbers",
        " $operand, dims = numbers($dimensions) attr-dict : types($operand, $result)",
        verify=shape_verifier(checks.infer_reverse),
    ),
    define(
        "stablehlo.concatenate",
        "inputs* -> result | dimension:i64attr",
        " leading($inputs) dim = int($dimension) attr-dict : signature($inputs, $result)",
        verify=shape_verifier(checks.infer_concatenate),
    ),
    define(
        "stablehlo.slice",
        "operand -> result | start_indices:numbers limit_indices:numbers strides:numbers",
        (" $operand ", _RANGES, " attr-dict : signature($operand, $result)"),
        verify=shape_verifier(checks.infer_slice),
    ),
    define(
        "stablehlo.pad",
        "operand padding_value -> result | edge_padding_low:numbers edge_padding_high:numbers "
        "interior_padding:numbers",
        (
            " $operand, $padding_value, low = numbers($edge_padding_low), "
            "high = numbers($edge_padding_high), interior = numbers($interior_padding) attr-dict : "
            "signature($operand, $padding_value, $result)"
        ),
        verify=shape_verifier(checks.infer_pad),
    ),
    define(
        "stablehlo.iota",
        "-> output | iota_dimension:i64attr",
        " dim = int($iota_dimension) attr-dict : type($output)",
        verify=checks.verify_iota,
    ),
    define(
        "stablehlo.dynamic_slice",
        "operand start_indices* -> result | slice_sizes:numbers",
        (
            " $operand, leading($start_indices) sizes = numbers($slice_sizes) attr-dict : "
            "signature($operand, $start_indices, $result)"
        ),
        verify=shape_verifier(checks.infer_dynamic_slice),
    ),
    define(
        "stablehlo.dynamic_update_slice",
        "operand update start_indices* -> result",
        (
            " $operand, $update( , $start_indices)? attr-dict : "
            "signature($operand, $update, $start_indices, $result)"
        ),
        verify=shape_verifier(checks.infer_dynamic_update_slice),
    ),
    define(
        "stablehlo.dynamic_reshape",
        "operand output_shape -> result",
        " $operand, $output_shape attr-dict : signature($operand, $output_shape, $result)",
        verify=index_checks.verify_dynamic_reshape,
    ),
    define(
        "stablehlo.dynamic_broadcast_in_dim",
        "operand output_dimensions -> result | broadcast_dimensions:numbers "
        "known_expanding_dimensions:numbers? known_nonexpanding_dimensions:numbers?",
        (
            " $operand, $output_dimensions, dims = numbers($broadcast_dimensions) attr-dict : "
            "signature($operand, $output_dimensions, $result)"
        ),
        verify=checks.verify_broadcast_in_dim,
    ),
    define(
        "stablehlo.dynamic_iota",
        "output_shape -> result | iota_dimension:i64attr",
        (
            " $output_shape, dim = int($iota_dimension) attr-dict : "
            "signature($output_shape, $result)"
        ),
        verify=checks.verify_iota,
    ),
    define(
        "stablehlo.dynamic_pad",
        "operand padding_value edge_padding_low edge_padding_high interior_padding -> result",
        (
            " $operand, $padding_value, $edge_padding_low, $edge_padding_high, $interior_padding "
            "attr-dict : signature($operand, $padding_value, $edge_padding_low, "
            "$edge_padding_high, $interior_padding, $result)"
        ),
        verify=index_checks.verify_dynamic_ranges,
    ),
    define(
        "stablehlo.real_dynamic_slice",
        "operand start_indices limit_indices strides -> result",
        (
            " $operand, $start_indices, $limit_indices, $strides attr-dict : "
            "signature($operand, $start_indices, $limit_indices, $strides, $result)"
        ),
        verify=index_checks.verify_dynamic_ranges,
    ),
    define(
        "stablehlo.get_dimension_size",
        "operand -> result | dimension:i64attr",
        " $operand, dim = int($dimension) attr-dict : signature($operand, $result)",
        verify=index_checks.verify_get_dimension_size,
    ),
    define(
        "stablehlo.set_dimension_size",
        "operand size -> result | dimension:i64attr",
        (" $operand, $size, dim = int($dimension) attr-dict : signature($operand, $size, $result)"),
        verify=index_checks.verify_set_dimension_size,
    ),
    define(
        "stablehlo.gather",
        "operand start_indices -> result"
        " | dimension_numbers slice_sizes:numbers indices_are_sorted:bool?",
        verify=index_checks.verify_gather,
    ),
    define(
        "stablehlo.dynamic_gather",
        "operand start_indices slice_sizes -> result | dimension_numbers indices_are_sorted:bool?",
        verify=index_checks.verify_gather,
    ),
    define(
        "stablehlo.torch_index_select",
        "operand index -> result | dim:i64attr batch_dims:i64attr",
        verify=shape_verifier(index_checks.infer_index_select),
    ),
]
"""The op classes of this module."""
