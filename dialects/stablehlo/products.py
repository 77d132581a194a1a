"""StableHLO's contractions, convolutions, transforms and random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, number_list
from ...ir.syntax.assembly_format import Parsed
from ...ir.syntax.directives import parse_dialect_attribute
from ...ir.syntax.keyword_attributes import Word
from ...ir.tensor_types import shapes_agree
from . import checks, product_checks
from .attributes import (
    DotAlgorithmAttr,
    DotAttr,
    FftTypeAttr,
    PrecisionAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
)
from .element_checks import verify_factors
from .syntax import Custom, WordList, define
from .types import ConvAttr

_PRECISION = WordList("precision", "precision_config", PrecisionAttr)

# dot_general -------------------------------------------------------------------------------------


def _parse_pair(parser: Parser) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Parse `= [0] x [1]`."""
    parser.parse_punctuation("=")
    first = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    parser.parse_keyword("x")
    second = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return tuple(first), tuple(second)


def _parse_dot(parser: Parser, parsed: Parsed) -> None:
    found: dict[str, tuple[int, ...]] = {}
    while parser.parse_optional_punctuation(","):
        position = parser.pos
        word = parser.parse_identifier()
        if word in ("batching_dims", "contracting_dims"):
            kind = word.removesuffix("_dims")
            first, second = _parse_pair(parser)
            found[f"lhs_{kind}_dimensions"], found[f"rhs_{kind}_dimensions"] = first, second
        elif word == "precision":
            _PRECISION.parse_list(parser, parsed)
        elif word == "algorithm":
            parser.parse_punctuation("=")
            parsed.attributes["algorithm"] = parse_dialect_attribute(parser, DotAlgorithmAttr)
        else:
            parser.raise_error(
                "expected batching_dims, contracting_dims, precision or algorithm", position
            )
    parsed.attributes["dot_dimension_numbers"] = DotAttr.of(**found)


def _print_dot(printer: Printer, operation: Operation) -> None:
    numbers = attribute(operation, "dot_dimension_numbers")
    assert isinstance(numbers, DotAttr)
    for kind in ("batching", "contracting"):
        pair = [list(numbers.integers(f"{side}_{kind}_dimensions")) for side in ("lhs", "rhs")]
        if kind == "contracting" or any(pair):
            printer.print_string(f", {kind}_dims = {pair[0]} x {pair[1]}")
    _PRECISION.print(printer, operation)
    algorithm = attribute(operation, "algorithm")
    if isinstance(algorithm, DotAlgorithmAttr):
        printer.print_string(", algorithm = ")
        algorithm.print_parameters(printer)


_DOT = Custom(
    _parse_dot,
    _print_dot,
    ("dot_dimension_numbers", "precision_config", "algorithm"),
    lambda operation: isinstance(attribute(operation, "dot_dimension_numbers"), DotAttr),
)


# convolution -------------------------------------------------------------------------------------

_WINDOW = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def _pairs(parser: Parser) -> Attribute:
    def pair() -> Sequence[int]:
        return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

    pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, pair)
    if any(len(each) != 2 for each in pairs):
        parser.raise_error("expected pairs of numbers")
    numbers = [number for each in pairs for number in each]
    return DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(pairs), 2]), numbers)


def _parse_window(parser: Parser, parsed: Parsed) -> None:
    if parser.parse_optional_punctuation(",") is None:
        return
    parser.parse_keyword("window")
    parser.parse_punctuation("=")

    def entry() -> None:
        position = parser.pos
        word = parser.parse_identifier()
        if word not in _WINDOW:
            parser.raise_error(f"expected one of {', '.join(_WINDOW)}", position)
        if _WINDOW[word] in parsed.attributes:
            parser.raise_error(f"found {word} twice", position)
        parser.parse_punctuation("=")
        if word == "pad":
            value = _pairs(parser)
        elif word == "reverse":
            flags = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: int(parser.parse_boolean())
            )
            value = DenseArrayBase.from_list(i1, [-flag for flag in flags])
        else:
            numbers = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
            value = DenseArrayBase.from_list(i64, numbers)
        parsed.attributes[_WINDOW[word]] = value

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)


def _parse_dimensions(parser: Parser, parsed: Parsed) -> None:
    parsed.attributes["dimension_numbers"] = ConvAttr(ConvAttr.parse_roles(parser))
    _parse_window(parser, parsed)


def _print_dimensions(printer: Printer, operation: Operation) -> None:
    numbers = attribute(operation, "dimension_numbers")
    assert isinstance(numbers, ConvAttr)
    parts: list[str] = []
    for word, name in _WINDOW.items():
        found = attribute(operation, name)
        values = list(number_list(found))
        if found is None:
            continue
        if word == "pad":
            shown = str([values[i : i + 2] for i in range(0, len(values), 2)])
        elif word == "reverse":
            shown = str([bool(value) for value in values]).lower()
        else:
            shown = str(values)
        parts.append(f"{word} = {shown}")
    printer.print_string(f"{numbers.text()}, window = {{{', '.join(parts)}}}")


_CONVOLUTION = Custom(
    _parse_dimensions,
    _print_dimensions,
    ("dimension_numbers", *_WINDOW.values()),
    lambda operation: isinstance(attribute(operation, "dimension_numbers"), ConvAttr),
)

# Both forms are parsed; jaxlib prints and parses only the generic one.
_DYNAMIC_CONVOLUTION = Custom(
    _parse_dimensions, _print_dimensions, ("dimension_numbers",), lambda operation: False
)

_CONVOLUTION_ATTRIBUTES = (
    "dimension_numbers window_strides:numbers? padding? lhs_dilation:numbers? "
    "rhs_dilation:numbers? window_reversal? feature_group_count:i64attr "
    "batch_group_count:i64attr precision_config?"
)


def verify_convolution(operation: Operation) -> None:
    """Check the shape of a convolution. Raises VerifyException."""
    from .windows import convolution_shape

    product_checks.verify_precision(operation)
    verify_factors(operation)
    checks.require_shape(operation, convolution_shape(operation))


def verify_dynamic_conv(operation: Operation) -> None:
    """Check the shape of a convolution whose spatial sizes depend on an operand, the padding."""
    from .windows import convolution_numbers, convolution_shape

    product_checks.verify_precision(operation)
    verify_factors(operation)
    sizes, roles = convolution_shape(operation), convolution_numbers(operation).data[2]
    rank = len(sizes)
    if not shapes_agree(checks.operand_shape(operation, 2), (rank - 2, 2)):
        raise VerifyException(
            f"expected {rank - 2} pairs of padding, got {operation.operand_types[2]}"
        )
    shape = [size if role in ("b", "f") else -1 for size, role in zip(sizes, roles, strict=True)]
    checks.require_shape(operation, shape)


def verify_dot_general(operation: Operation) -> None:
    """Check the dimensions and the precision of a product. Raises VerifyException."""
    checks.verify_dot_general(operation)
    product_checks.verify_precision(operation)


FftOp = define(
    "stablehlo.fft",
    "operand -> result | fft_type:transform fft_length:numbers",
    (
        " $operand, type = ",
        Word("fft_type", FftTypeAttr),
        ", length = numbers($fft_length) attr-dict : signature($operand, $result)",
    ),
    verify=product_checks.verify_fft,
)

ROWS = [
    define(
        "stablehlo.dot_general",
        "lhs rhs -> result | dot_dimension_numbers precision_config? algorithm?",
        (" $lhs, $rhs", _DOT, " attr-dict : signature($lhs, $rhs, $result)"),
        verify=verify_dot_general,
    ),
    define(
        "stablehlo.dot",
        "lhs rhs -> result | precision_config?",
        (
            " $lhs, $rhs",
            _PRECISION,
            " attr-dict : signature($lhs, $rhs, $result)",
        ),
        verify=product_checks.verify_dot,
    ),
    define(
        "stablehlo.einsum",
        "lhs rhs -> result | einsum_config:str",
        " $lhs, $rhs, config = $einsum_config attr-dict : signature($lhs, $rhs, $result)",
    ),
    define(
        "stablehlo.unary_einsum",
        "operand -> result | einsum_config:str",
        " $operand, config = $einsum_config attr-dict : signature($operand, $result)",
    ),
    define(
        "stablehlo.convolution",
        f"lhs rhs -> result | {_CONVOLUTION_ATTRIBUTES}",
        (
            "($lhs, $rhs) dim_numbers = ",
            _CONVOLUTION,
            " attr-dict : signature($lhs, $rhs, $result)",
        ),
        verify=verify_convolution,
    ),
    define(
        "stablehlo.dynamic_conv",
        f"lhs rhs padding -> result | {_CONVOLUTION_ATTRIBUTES.replace('padding? ', '')}",
        (
            "($lhs, $rhs, $padding) dim_numbers = ",
            _DYNAMIC_CONVOLUTION,
            " attr-dict : signature($lhs, $rhs, $padding, $result)",
        ),
        verify=verify_dynamic_conv,
    ),
    FftOp,
    define(
        "stablehlo.cholesky",
        "a -> result | lower:bool?",
        " $a( , lower = bool($lower))? attr-dict : types($a, $result)",
        verify=product_checks.verify_cholesky,
    ),
    define(
        "stablehlo.triangular_solve",
        "a b -> result | left_side:bool lower:bool unit_diagonal:bool transpose_a:transposition",
        verify=product_checks.verify_triangular_solve,
    ),
    define(
        "stablehlo.rng",
        "a b shape -> result | rng_distribution:distribution",
        (
            " $a, $b, $shape, distribution = ",
            Word("rng_distribution", RngDistributionAttr),
            " attr-dict : signature($a, $b, $shape, $result)",
        ),
        pure=False,
        verify=product_checks.verify_rng,
    ),
    define(
        "stablehlo.rng_bit_generator",
        "initial_state -> output_state output | rng_algorithm:rng_algorithm",
        (
            " $initial_state, algorithm = ",
            Word("rng_algorithm", RngAlgorithmAttr),
            " attr-dict : signature($initial_state, $output_state, $output)",
        ),
        verify=product_checks.verify_random_bits,
    ),
    define(
        "stablehlo.batch_norm_training",
        "operand scale offset -> output batch_mean batch_var | epsilon:float feature_index:i64attr",
        verify=product_checks.verify_batch_norm,
    ),
    define(
        "stablehlo.batch_norm_inference",
        "operand scale offset mean variance -> result | epsilon:float feature_index:i64attr",
        verify=product_checks.verify_batch_norm,
    ),
    define(
        "stablehlo.batch_norm_grad",
        "operand scale mean variance grad_output -> grad_operand grad_scale grad_offset | "
        "epsilon:float feature_index:i64attr",
        verify=product_checks.verify_batch_norm,
    ),
]
"""The op classes of this module."""
