"""StableHLO's ops with a body that combines elements."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, integer, number_list, with_element
from ...ir.tensor_types import shape_text, shapes_agree
from . import checks, index_checks, product_checks
from .control_flow import ReturnOp
from .syntax import define

_COMPACT = frozenset(
    f"stablehlo.{name}" for name in "add multiply maximum minimum and or xor".split()
)
"""The ops that a compact reduction may apply."""


class ReduceSyntax(IRDLOperation):
    """The two custom forms of `stablehlo.reduce`: with pairs of arguments, or `applies`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs: list[UnresolvedOperand] = []
        initial: list[UnresolvedOperand] = []

        def pair() -> None:
            parser.parse_punctuation("(")
            inputs.append(parser.parse_unresolved_operand())
            parser.parse_keyword("init")
            parser.parse_punctuation(":")
            initial.append(parser.parse_unresolved_operand())
            parser.parse_punctuation(")")

        position = parser.pos
        pair()
        while parser.parse_optional_punctuation(","):
            pair()
        applied = None
        if parser.parse_optional_keyword("applies"):
            applied = parser.parse_identifier()
        for word in ("across", "dimensions"):
            parser.parse_keyword(word)
        parser.parse_punctuation("=")
        numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types: FunctionType = parser.parse_function_type()
        operands = parser.resolve_operands([*inputs, *initial], types.inputs.data, position)
        if applied is None:
            region = _parse_reducer(parser, len(inputs))
        else:
            region = _compact_region(parser, applied, types.inputs.data[-1], position)
        return cls.create(
            operands=operands,
            result_types=types.outputs.data,
            properties={"dimensions": DenseArrayBase.from_list(i64, numbers)},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        half = len(self.operands) // 2
        applied = _applied(self)
        for index in range(half):
            printer.print_string(", (" if index else "(")
            printer.print_ssa_value(self.operands[index])
            printer.print_string(" init: ")
            printer.print_ssa_value(self.operands[half + index])
            printer.print_string(")")
        if applied is not None:
            printer.print_string(f" applies {applied}")
        printer.print_string(
            f" across dimensions = {list(number_list(attribute(self, 'dimensions')))}"
        )
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        if applied is not None:
            return
        printer.print_string("\n reducer")
        block = self.regions[0].block
        for index in range(half):
            with printer.in_parens():
                pair = (block.args[index], block.args[half + index])
                printer.print_list(pair, printer.print_block_argument)
            printer.print_string(" ")
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    def prints_generically(self) -> bool:
        """Return whether the custom syntax cannot represent the op."""
        half = len(self.operands) // 2
        block = self.regions[0].blocks.first
        return not half or block is None or len(block.args) != 2 * half


def _parse_reducer(parser: Parser, count: int) -> Region:
    parser.parse_keyword("reducer")
    firsts: list[Parser.Argument] = []
    seconds: list[Parser.Argument] = []
    for _ in range(count):
        with parser.in_parens():
            firsts.append(parser.parse_argument())
            parser.parse_punctuation(",")
            seconds.append(parser.parse_argument())
    return parser.parse_region([*firsts, *seconds])


def _compact_region(parser: Parser, name: str, scalar: Attribute, position: int) -> Region:
    from .elementwise import BINARY_OPS

    classes = {each.name: each for each in BINARY_OPS}
    if name not in _COMPACT:
        parser.raise_error(f"expected one of {', '.join(sorted(_COMPACT))}", position)
    block = Block(arg_types=[scalar, scalar])
    combined = classes[name].create(operands=block.args, result_types=[scalar])
    block.add_ops([combined, ReturnOp.create(operands=combined.results)])
    return Region(block)


def _applied(operation: Operation) -> str | None:
    """Return the op that the compact form names; `None` if the body is anything else."""
    block = operation.regions[0].blocks.first
    if len(operation.operands) != 2 or block is None:
        return None
    body = list(block.ops)
    if len(body) != 2 or body[0].name not in _COMPACT or body[1].attributes or body[0].attributes:
        return None
    plain = tuple(body[0].operands) == tuple(block.args) and tuple(body[1].operands) == tuple(
        body[0].results
    )
    scalar = operation.operand_types[1]
    same = all(each == scalar for each in (*(a.type for a in block.args), *body[0].result_types))
    source, result = operation.operand_types[0], operation.result_types[0]
    kept = isinstance(source, TensorType) and isinstance(scalar, TensorType)
    same = same and kept and with_element(source, scalar.element_type) == source  # pyright: ignore
    same = same and isinstance(result, TensorType) and result.element_type == scalar.element_type  # pyright: ignore
    return body[0].name if plain and same else None


def verify_scatter(operation: Operation) -> None:
    """Check inputs, indices, updates and the body of a scatter. Raises VerifyException."""
    count = (len(operation.operands) - 1) // 2
    if count < 1 or len(operation.operands) != 2 * count + 1 or len(operation.results) != count:
        raise VerifyException("expected the same number of updates, results and inputs")
    index_checks.verify_scatter_indices(operation)
    types = operation.operand_types
    checks.verify_reducer(operation, [*types[:count], *types[count + 1 :]])


def verify_sort(operation: Operation) -> None:
    """Check that operands and results have one shape, and the comparator.

    Raises VerifyException.
    """
    count = len(operation.operands)
    if count < 1 or len(operation.results) != count:
        raise VerifyException("expected the same number of results and operands")
    for index in range(count):
        checks.require_shape(operation, checks.operand_shape(operation, 0), index)
        checks.require_shape(operation, checks.operand_shape(operation, index), index)
    rank = len(checks.operand_shape(operation, 0))
    dimension = integer(operation, "dimension", -1)
    if not -rank <= dimension < rank:
        raise VerifyException(f"expected the dimension to be in [{-rank}, {rank}), got {dimension}")
    checks.verify_scalar_body(operation, [t for t in operation.operand_types for _ in (0, 1)], i1)


def verify_reduce_window(operation: Operation) -> None:
    """Check that the results have one element per window. Raises VerifyException."""
    from .windows import reduction_windows

    count = len(operation.operands) // 2
    if count < 1 or len(operation.operands) != 2 * count or len(operation.results) != count:
        raise VerifyException("expected the same number of initial values, results and inputs")
    checks.verify_window_attributes(operation)
    windows = reduction_windows(operation)
    for index in range(count):
        sizes = checks.operand_shape(operation, index)
        counts = [window.count(size) for window, size in zip(windows, sizes, strict=True)]
        checks.require_shape(operation, counts, index)
    checks.verify_reducer(operation, checks.combined_types(operation, count))


def verify_select_and_scatter(operation: Operation) -> None:
    """Check that the source has one element per window of the operand. Raises VerifyException."""
    from .windows import reduction_windows

    checks.verify_window_attributes(operation)
    sizes = checks.operand_shape(operation, 0)
    checks.require_shape(operation, sizes)
    counts = [w.count(n) for w, n in zip(reduction_windows(operation), sizes, strict=True)]
    found = checks.operand_shape(operation, 1)
    if not shapes_agree(tuple(counts), found):
        raise VerifyException(
            f"expected a source of shape {shape_text(tuple(counts))}, got {shape_text(found)}"
        )
    operand, source, initial = operation.operand_types
    if checks.operand_shape(operation, 2):
        raise VerifyException("expected an initial value of rank 0")
    checks.verify_scalar_body(operation, [operand, operand], i1)
    checks.verify_reducer(operation, [initial, source], 1)


ROWS: list[type[IRDLOperation]] = [
    define(
        "stablehlo.reduce",
        "inputs* init_values* -> results_* | dimensions:numbers | body",
        verify=checks.verify_reduce,
        base=ReduceSyntax,
    ),
    define(
        "stablehlo.reduce_window",
        "inputs* init_values* -> results_* | window_dimensions:numbers window_strides:numbers? "
        "base_dilations:numbers? window_dilations:numbers? padding? | body",
        verify=verify_reduce_window,
    ),
    define(
        "stablehlo.select_and_scatter",
        "operand source init_value -> result | window_dimensions:numbers? window_strides:numbers? "
        "padding? | select scatter",
        verify=verify_select_and_scatter,
    ),
    define(
        "stablehlo.scatter",
        "inputs* scatter_indices updates* -> results_* | scatter_dimension_numbers "
        "indices_are_sorted:bool? unique_indices:bool? | update_computation",
        verify=verify_scatter,
    ),
    define(
        "stablehlo.sort",
        "inputs* -> results_* | dimension:i64attr? is_stable:bool? | comparator",
        verify=verify_sort,
    ),
    define(
        "stablehlo.map",
        "inputs* -> result | dimensions:numbers | computation",
        verify=product_checks.verify_map,
    ),
]
"""The op classes of this module."""
