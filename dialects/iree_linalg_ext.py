"""The `iree_linalg_ext` dialect: the ops of IREE that linalg has no form for.

They are parsed, verified (`iree_linalg_ext_checks.py`) as far as passes rely on their forms, and
printed as by iree-opt 3.13.
`convert-linalg-ext-to-linalg` converts those of models; other passes do not look into them and move
nothing across them. Each op writes into its `outs` and has results if these are tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import OpDef, OptionalDef
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from ..ir.attribute_access import attribute, number_list
from ..ir.dialect_extension import dialect_of
from ..ir.index_lists import parse_index_list, print_index_list
from ..ir.syntax.assembly_format import DIRECTIVES, Directive, Parsed, Syntax, directive, values
from ..ir.syntax.rows import Rows
from ..ir.syntax.structs import PropertyStruct
from ..ir.syntax.typed_values import parse_typed_operands, print_typed_operands
from .iree_codegen import described
from .iree_linalg_ext_checks import (
    verify_attention,
    verify_destinations,
    verify_dimension,
    verify_dimension_map,
    verify_index,
    verify_indices,
    verify_maps,
)
from .linalg.base import DestinationEffects

NAME = "iree_linalg_ext"
YIELD = f"{NAME}.yield"

# Syntax ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TypedOperands:
    """`%a, %b : T, U`: operands with several names, of which some may be absent."""

    names: tuple[str, ...]
    optional: frozenset[str]

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        operands, types = parse_typed_operands(parser)
        fewest = len(self.names) - len(self.optional)
        if len(operands) != len(types) or not fewest <= len(operands) <= len(self.names):
            parser.raise_error(
                f"expected {fewest} to {len(self.names)} operands with as many types, found"
                f" {len(operands)} operands and {len(types)} types",
                position,
                parser.pos,
            )
        absent = [name for name in self.names if name in self.optional]
        absent = absent[len(absent) - (len(self.names) - len(operands)) :]
        present = [name for name in self.names if name not in absent]
        for name in absent:
            parsed.operands[name], parsed.types[name] = [], []
        for name, operand, type_ in zip(present, operands, types, strict=True):
            parsed.operands[name], parsed.types[name] = [operand], [type_]

    def print(self, printer: Printer, operation: Operation) -> None:
        found = [value for name in self.names for value in values(operation, name)]
        print_typed_operands(printer, found)

    def fits(self, operation: Operation) -> bool:
        """Return whether no operand is absent before one that is present."""
        present = [bool(values(operation, name)) for name in self.names if name in self.optional]
        return present == sorted(present, reverse=True)


@directive("typed-operands")
def _typed_operands(definition: OpDef, *names: str) -> Directive:
    """`typed-operands($a, $b)`: `%a, %b : T, U`; optional ones may be absent from the end."""
    kinds = dict(definition.operands)
    optional = frozenset(name for name in names if isinstance(kinds[name], OptionalDef))
    return _TypedOperands(names, optional)


@dataclass(frozen=True, slots=True)
class _Padding:
    """` name = [0, %n]`, or nothing for a list without entries."""

    name: str
    entries: Directive

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (f"static_{self.name}",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_keyword(self.name) is not None:
            parser.parse_punctuation("=")
            self.entries.parse(parser, parsed)
        else:
            parsed.attributes[f"static_{self.name}"] = DenseArrayBase.from_list(i64, [])
            parsed.operands[self.name] = []

    def print(self, printer: Printer, operation: Operation) -> None:
        if number_list(operation.get_attr_or_prop(f"static_{self.name}")):
            printer.print_string(f" {self.name} = ")
            self.entries.print(printer, operation)


@directive("padding")
def _padding(definition: OpDef, name: str) -> Directive:
    """`padding($a)`: a mixed list with its name, whose numbers are in the property `static_a`."""
    return _Padding(name, DIRECTIVES["dynamic-list"](definition, name, f"static_{name}"))


@dataclass(frozen=True, slots=True)
class _OutputSizes:
    """`[[%n], [32, 32]]`: for each dimension of the result the sizes it was collapsed from."""

    printed_attributes = ("static_output_sizes",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        lists = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_index_list(parser)
        )
        static = [DenseArrayBase.from_list(i64, numbers) for numbers, _ in lists]
        parsed.attributes["static_output_sizes"] = ArrayAttr(static)
        parsed.operands["output_sizes"] = [each for _, operands in lists for each in operands]

    def print(self, printer: Printer, operation: Operation) -> None:
        dynamic = values(operation, "output_sizes")

        def print_sizes(numbers: Sequence[int]) -> None:
            nonlocal dynamic
            count = numbers.count(DYNAMIC_INDEX)
            print_index_list(printer, numbers, dynamic[:count])
            dynamic = dynamic[count:]

        static = cast("ArrayAttr[Attribute]", attribute(operation, "static_output_sizes"))
        with printer.in_square_brackets():
            printer.print_list([number_list(each) for each in static], print_sizes)


def _i64(parser: AttrParser) -> Attribute:
    """Read `64` or `64 : i64`."""
    number = parser.parse_integer(allow_boolean=False)
    if parser.parse_optional_punctuation(":") is not None:
        parser.parse_keyword("i64")
    return IntegerAttr(number, i64)


def _struct(*names: str) -> Syntax:
    fields = {"quant_min": _i64, "quant_max": _i64}
    read = tuple((name, fields.get(name, AttrParser.parse_attribute)) for name in names)
    return (PropertyStruct(read, i64),)


# Operations --------------------------------------------------------------------------------------

_RESULTS = "( -> type($result))?"
_EFFECTS = (DestinationEffects(),)


def _grouped(inputs: str, outputs: str) -> str:
    """Return the format of operands with names of their own."""
    return f" ins(typed-operands({inputs})) outs(typed-operands({outputs}))"


_INS, _OUTS = " ins($inputs : type($inputs))", " outs($outputs : type($outputs))"
_LISTS = "inputs:any* outputs:any* -> result:any*"
_TO_RESULTS = f" $region{_RESULTS}"
_WINOGRAD = "input:any output:any -> result:any* | output_tile_size:i64attr kernel_size:i64attr"

_row = Rows(NAME, {}, "any")


def _transform(kind: str, dimensions: str) -> type[Operation]:
    return _row(
        f"winograd.{kind}",
        f"{_WINOGRAD} {dimensions}:attr",
        " attr-dict output_tile_size(int($output_tile_size)) kernel_size(int($kernel_size))"
        f" {dimensions}(numbers(${dimensions})){_grouped('$input', '$output')}{_RESULTS}",
        traits=_EFFECTS,
        verify=verify_destinations,
    )


ROWS: list[type[Operation]] = [
    _row(
        "arg_compare",
        "value index? output output_index index_base:index?"
        " -> result* | dimension:i64attr | region",
        " attr-dict dimension(int($dimension))"
        f"{_grouped('$value, $index', '$output, $output_index')}"
        f"( index_base($index_base : type($index_base)))?{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension,
    ),
    _row(
        "attention",
        "query key value scale mask? output"
        " -> result* | indexing_maps:array decomposition_config:dict? | region",
        (
            *_struct("indexing_maps", "decomposition_config"),
            f" attr-dict{_grouped('$query, $key, $value, $scale, $mask', '$output')}{_TO_RESULTS}",
        ),
        traits=_EFFECTS,
        verify=verify_attention,
    ),
    _row(
        "online_attention",
        "query key value scale mask? output max sum"
        " -> result* | indexing_maps:array decomposition_config:dict? | region",
        (
            *_struct("indexing_maps", "decomposition_config"),
            " attr-dict"
            f"{_grouped('$query, $key, $value, $scale, $mask', '$output, $max, $sum')}"
            f"{_TO_RESULTS}",
        ),
        traits=_EFFECTS,
        verify=verify_attention,
    ),
    _row(
        "custom_op",
        f"{_LISTS} | indexing_maps:array iterator_types:array | region",
        "{indexing_maps = $indexing_maps, iterator_types = $iterator_types}"
        f" attr-dict-with-keyword({_INS})?({_OUTS})?{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_maps,
    ),
    _row(
        "exp_reduction",
        f"{_LISTS} | indexing_maps:array iterator_types:array exp_reduced_operands:attr | region",
        "{indexing_maps = $indexing_maps, iterator_types = $iterator_types,"
        " exp_reduced_operands = numbers($exp_reduced_operands)}"
        f" attr-dict{_INS}{_OUTS}{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_maps,
    ),
    _row(
        "quantize_affine",
        "input scale zero_point? output"
        " -> result* | indexing_maps:array quant_min:i64attr quant_max:i64attr",
        (
            *_struct("indexing_maps", "quant_min", "quant_max"),
            f" attr-dict{_grouped('$input, $scale, $zero_point', '$output')}{_RESULTS}",
        ),
        traits=_EFFECTS,
        verify=verify_maps,
    ),
    _row(
        "dequantize_affine",
        "input scale zero_point? output -> result* | indexing_maps:array",
        (
            *_struct("indexing_maps"),
            f" attr-dict{_grouped('$input, $scale, $zero_point', '$output')}{_RESULTS}",
        ),
        traits=_EFFECTS,
        verify=verify_maps,
    ),
    _row(
        "fft",
        "stage real_coefficients? imaginary_coefficients? real imaginary -> result*",
        " attr-dict"
        f"{_grouped('$stage, $real_coefficients, $imaginary_coefficients', '$real, $imaginary')}"
        "( : type($result))?",
        traits=_EFFECTS,
        verify=verify_destinations,
    ),
    _row(
        "gather",
        "source indices mask? output -> result* | dimension_map:attr",
        " attr-dict dimension_map = numbers($dimension_map)"
        f"{_grouped('$source, $indices, $mask', '$output')}{_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension_map,
    ),
    _row(
        "im2col",
        "input output kernel_size:index* offsets:index* output_sizes:index*"
        " input_pad_low:index* input_pad_high:index* output_pad_low:index*"
        " output_pad_high:index* pad_value? -> result* |"
        " strides:attr dilations:attr static_kernel_size:attr static_offsets:attr"
        " static_output_sizes:array batch_pos:attr m_pos:attr k_pos:attr input_k_perm:attr"
        " output_perm:attr static_input_pad_low:attr? static_input_pad_high:attr?"
        " static_output_pad_low:attr? static_output_pad_high:attr?",
        (
            " attr-dict strides = numbers($strides) dilations = numbers($dilations)"
            " kernel_size = dynamic-list($kernel_size, $static_kernel_size)"
            " offsets = dynamic-list($offsets, $static_offsets) output_sizes = ",
            _OutputSizes(),
            " batch_pos = numbers($batch_pos) m_pos = numbers($m_pos) k_pos = numbers($k_pos)"
            " input_k_perm = numbers($input_k_perm) output_perm = numbers($output_perm)"
            "padding($input_pad_low)padding($input_pad_high)"
            "padding($output_pad_low)padding($output_pad_high)"
            "( pad_value($pad_value : type($pad_value)))?"
            f"{_grouped('$input', '$output')}{_RESULTS}",
        ),
        traits=_EFFECTS,
        verify=verify_destinations,
    ),
    _row(
        "index",
        " -> result:index | dim:i64attr",
        " int($dim) attr-dict : type($result)",
        traits=(Pure(),),
        verify=verify_index,
    ),
    *(
        _row(
            name,
            "input output -> result* | | region",
            " attr-dict $input into $output $region : type($input) into type($output)" + _RESULTS,
            traits=_EFFECTS,
            verify=verify_indices,
        )
        for name in ("map_load", "map_store")
    ),
    _row(
        "scan",
        "input output accumulator -> result* | dimension:i64attr inclusive:int | region",
        " attr-dict dimension(int($dimension)) inclusive(bool($inclusive))"
        f"{_grouped('$input', '$output, $accumulator')}{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension,
    ),
    _row(
        "scatter",
        "updates indices mask? original"
        " -> result* | dimension_map:attr unique_indices:int | region",
        " attr-dict dimension_map = numbers($dimension_map) unique_indices(bool($unique_indices))"
        f"{_grouped('$updates, $indices, $mask', '$original')}{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension_map,
    ),
    _row(
        "sort",
        f"{_LISTS} | dimension:i64attr | region",
        f" attr-dict dimension(int($dimension))({_INS})?{_OUTS}{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension,
    ),
    _row(
        "topk",
        "input input_indices? output output_indices -> result* | dimension:i64attr | region",
        " attr-dict dimension(int($dimension))"
        f"{_grouped('$input, $input_indices', '$output, $output_indices')}{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension,
    ),
    _row(
        "topk_v2",
        "input input_indices? output output_indices?"
        " -> result* | dimension:i64attr is_sorted:unit? | region",
        " attr-dict dimension(int($dimension))( is_sorted$is_sorted)?"
        f"{_grouped('$input, $input_indices', '$output, $output_indices')}{_TO_RESULTS}",
        traits=_EFFECTS,
        verify=verify_dimension,
    ),
    _transform("filter_transform", "kernel_dimensions"),
    _transform("input_transform", "image_dimensions"),
    _transform("output_transform", "image_dimensions"),
    _row(
        "yield",
        "arguments*",
        " attr-dict( $arguments : type($arguments))?",
        traits=(IsTerminator(), Pure()),
    ),
]

_ATTRIBUTES = {
    each.name: each for each in described(NAME, "iterator_type", "split_reduction_mapping")
}

IreeLinalgExt = dialect_of(NAME, sys.modules[__name__], _ATTRIBUTES)
