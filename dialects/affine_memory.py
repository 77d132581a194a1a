"""Affine loops in any order, and accesses to memory at affine expressions of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.affine import LoadOp, StoreOp, YieldOp
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import number_list
from ..ir.dialect_extension import variant
from ..ir.index_lists import INDEX
from ..ir.syntax.assembly_format import Parsed
from ..ir.syntax.region_headers import add_terminator, parse_types
from ..ir.syntax.rows import Rows
from ..ir.text.affine_text import AffineValueParser, print_expression
from .atomic_kinds import kind_names, named_kind
from .memref import PREFETCH


def _map_of(operation: Operation, name: str = "map") -> AffineMap:
    return cast(AffineMapAttr, operation.properties[name]).data


def _print_results(printer: Printer, found: AffineMap, operands: Sequence[SSAValue]) -> None:
    dimensions, symbols = operands[: found.num_dims], operands[found.num_dims :]
    printer.print_list(
        found.results, lambda each: print_expression(printer, each, dimensions, symbols)
    )


def _print_subscripts(printer: Printer, operation: Operation, memref: int) -> None:
    printer.print_ssa_value(operation.operands[memref])
    with printer.in_square_brackets():
        _print_results(printer, _map_of(operation), operation.operands[memref + 1 :])


def _parse_access(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
    """Read `affine.load` or `affine.store`; xDSL reads no attributes of them."""
    stored: list[UnresolvedOperand] = []
    if cls.name == StoreOp.name:
        stored.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(",")
    memref = parser.parse_unresolved_operand()
    found, indices = parser.parse_affine_map_of_ssa_ids()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start, type_ = parser.pos, parser.parse_type()
    if not isinstance(type_, MemRefType):
        parser.raise_error(f"expected a memref, found '{type_}'", start)
    accessed = cast("MemRefType[Attribute]", type_)
    element = accessed.element_type
    values: list[SSAValue] = [parser.resolve_operand(each, element) for each in stored]
    values.append(parser.resolve_operand(memref, accessed))
    return cls.create(
        operands=[*values, *indices],
        result_types=[] if stored else [element],
        properties={"map": AffineMapAttr(found)},
        attributes=attributes,
    )


def _print_access(operation: Any, printer: Printer) -> None:
    """Print `affine.load` or `affine.store`; xDSL prints symbols as it prints dimensions."""
    printer.print_string(" ")
    if isinstance(operation, StoreOp):
        printer.print_ssa_value(operation.value)
        printer.print_string(", ")
    _print_subscripts(printer, operation, int(isinstance(operation, StoreOp)))
    printer.print_op_attributes(operation.attributes)
    printer.print_string(" : ")
    printer.print_attribute(operation.memref.type)


_ACCESS = {"parse": classmethod(_parse_access), "print": _print_access}
AffineLoadOp = variant(LoadOp, LoadOp.name, {**_ACCESS})
AffineStoreOp = variant(StoreOp, StoreOp.name, {**_ACCESS})


@dataclass(frozen=True, slots=True)
class _Subscripts:
    """`%memref[%i + 1, symbol(%n)]`."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("map",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.operands["memref"] = [parser.parse_unresolved_operand()]
        reader = AffineValueParser(parser)
        found, operands = reader.map_to(reader.parse_expressions(parser.Delimiter.SQUARE))
        parsed.attributes["map"] = AffineMapAttr(found)
        parsed.operands["indices"] = operands

    def print(self, printer: Printer, operation: Operation) -> None:
        _print_subscripts(printer, operation, 0)


AffinePrefetchOp = Rows("affine", {"map": AffineMapAttr})(
    "prefetch",
    "memref:memref indices* | map:map isWrite:attr localityHint:i32attr isDataCache:attr",
    (" ", _Subscripts(), *PREFETCH),
    traits=(MemoryReadEffect(), MemoryWriteEffect()),
    doc="Tell the machine that an element will be read or written.",
)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds of all loops: a map whose results are grouped by loops, and its operands."""

    map: AffineMap
    groups: tuple[int, ...]
    operands: Sequence[SSAValue]

    @classmethod
    def parse(cls, parser: Parser, choose: str) -> _Bounds:
        """Read `(0, max(%i, 4))`, where `choose` is the word before several bounds."""
        reader = AffineValueParser(parser)
        results: list[AffineExpr] = []
        groups: list[int] = []

        def bound() -> None:
            several = parser.parse_optional_keyword(choose) is not None
            paren = parser.Delimiter.PAREN
            found = reader.parse_expressions(paren) if several else [reader.parse_expression()]
            results.extend(found)
            groups.append(len(found))

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)
        found, operands = reader.map_to(results)
        values = [parser.resolve_operand(operand, INDEX) for operand in operands]
        return cls(found, tuple(groups), values)

    def print(self, printer: Printer, choose: str) -> None:
        limits = list(accumulate(self.groups, initial=0))

        def bound(limits: tuple[int, int]) -> None:
            results = self.map.results[slice(*limits)]
            part = AffineMap(self.map.num_dims, self.map.num_symbols, results)
            if len(results) == 1:
                _print_results(printer, part, self.operands)
                return
            printer.print_string(choose)
            with printer.in_parens():
                _print_results(printer, part, self.operands)

        with printer.in_parens():
            printer.print_list(list(pairwise(limits)), bound)

    def properties(self, name: str) -> dict[str, Attribute]:
        type_ = TensorType(i32, [len(self.groups)])
        groups = DenseIntElementsAttr.from_list(type_, self.groups)
        return {f"{name}BoundsMap": AffineMapAttr(self.map), f"{name}BoundsGroups": groups}


@irdl_op_definition
class AffineParallelOp(IRDLOperation):
    """Run the iterations of a loop nest in any order, and combine what they yield by kinds."""

    name = "affine.parallel"

    map_operands = var_operand_def(INDEX)
    reductions = prop_def(ArrayAttr[IntegerAttr])
    lowerBoundsMap = prop_def(AffineMapAttr)
    lowerBoundsGroups = prop_def(DenseIntElementsAttr)
    upperBoundsMap = prop_def(AffineMapAttr)
    upperBoundsGroups = prop_def(DenseIntElementsAttr)
    steps = prop_def(ArrayAttr[IntegerAttr])
    res = var_result_def()
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @property
    def _bounds(self) -> tuple[_Bounds, _Bounds]:
        lower, upper = self.lowerBoundsMap.data, self.upperBoundsMap.data
        count = lower.num_dims + lower.num_symbols
        return (
            _Bounds(lower, number_list(self.lowerBoundsGroups), self.operands[:count]),
            _Bounds(upper, number_list(self.upperBoundsGroups), self.operands[count:]),
        )

    # Custom parser: the header binds the arguments of the body; the terminator is optional.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parens = parser.Delimiter.PAREN
        induction = parser.parse_comma_separated_list(
            parens, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower = _Bounds.parse(parser, "max")
        parser.parse_keyword("to")
        upper = _Bounds.parse(parser, "min")
        steps = [1] * len(induction)
        if parser.parse_optional_keyword("step") is not None:
            steps = parser.parse_comma_separated_list(parens, parser.parse_integer)
        kinds: list[IntegerAttr] = []
        types: Sequence[Attribute] = ()
        if parser.parse_optional_keyword("reduce") is not None:
            start = parser.pos
            names = parser.parse_comma_separated_list(parens, parser.parse_str_literal)
            kinds = [named_kind(parser, name, start) for name in names]
            parser.parse_punctuation("->")
            types = parse_types(parser)
        body = parser.parse_region([each.resolve(INDEX) for each in induction])
        add_terminator(body, YieldOp)
        return cls.create(
            operands=[*lower.operands, *upper.operands],
            result_types=types,
            properties={
                "reductions": ArrayAttr(kinds),
                "steps": ArrayAttr([IntegerAttr(step, i64) for step in steps]),
                **lower.properties("lower"),
                **upper.properties("upper"),
            },
            attributes=parser.parse_optional_attr_dict(),
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        lower, upper = self._bounds
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(" = ")
        lower.print(printer, "max")
        printer.print_string(" to ")
        upper.print(printer, "min")
        steps = [step.value.data for step in self.steps]
        if any(step != 1 for step in steps):
            printer.print_string(f" step ({', '.join(map(str, steps))})")
        if self.results:
            names = ", ".join(f'"{name}"' for name in kind_names(self.reductions))
            printer.print_string(f" reduce ({names}) -> (")
            printer.print_list(self.result_types, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_block_terminators=bool(self.results)
        )
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        lower, upper = self._bounds
        wanted = len(lower.operands) + upper.map.num_dims + upper.map.num_symbols
        if len(self.operands) != wanted:
            raise VerifyException(f"expects {wanted} operands of its bounds")
        if any(sum(each.groups) != len(each.map.results) for each in (lower, upper)):
            raise VerifyException("expects groups that cover all bounds")
        loops = len(self.body.block.args)
        counts = (len(self.steps), *(len(bounds.groups) for bounds in self._bounds))
        if any(count != loops for count in counts) or any(
            type_ != INDEX for type_ in self.body.block.arg_types
        ):
            raise VerifyException(
                f"expects a lower bound, an upper bound, a step and an index of the body for each "
                f"of {loops} loops"
            )
        if any(step.value.data < 1 for step in self.steps):
            raise VerifyException("steps must be positive")
        names = kind_names(self.reductions)
        if None in names or len(names) != len(self.results):
            raise VerifyException(f"expects a reduction for each of {len(self.results)} results")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or list(last.operand_types) != list(self.result_types):
            raise VerifyException("expects a body that yields a value for each result")


OPERATIONS = [AffineLoadOp, AffineStoreOp, AffinePrefetchOp, AffineParallelOp]
