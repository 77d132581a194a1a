"""The memref ops that xDSL lacks, or for which it parses only the generic syntax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    UnrankedMemRefType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import BaseAttr, IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..ir.dialect_extension import extended, variant
from ..ir.syntax.assembly_format import Parsed, Syntax
from ..ir.syntax.operations import SyntaxOperation
from ..ir.syntax.region_headers import add_terminator
from ..ir.syntax.rows import PURE, Rows
from ..ir.syntax.typed_values import print_elements
from .atomic_kinds import kind_name, named_kind

_SYNTAX: dict[type[IRDLOperation], Syntax] = {
    memref.CopyOp: " $source, $destination attr-dict : type($source) to type($destination)",
    memref.CastOp: " $source attr-dict : type($source) to type($dest)",
    memref.MemorySpaceCastOp: " $source attr-dict : type($source) to type($dest)",
    memref.RankOp: " $source attr-dict : type($source)",
}


def _with_syntax(operation: type[IRDLOperation], syntax: Syntax) -> type[IRDLOperation]:
    own = ("parse", "print", "prints_generically")
    members = {name: vars(SyntaxOperation)[name] for name in own}
    return variant(operation, operation.name, {"SYNTAX": syntax, **members})


def _memref_type(operation: Operation, index: int = 0) -> MemRefType[Attribute]:
    found = operation.operands[index].type
    if not isinstance(found, MemRefType):
        raise VerifyException(f"expects a memref, found {found}")
    return cast("MemRefType[Attribute]", found)


@dataclass(frozen=True, slots=True)
class _Contents:
    """Nothing, ` = uninitialized` or ` = dense<...>`: the type is that of the memref."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("initial_value",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_punctuation("=") is None:
            return
        if parser.parse_optional_keyword("uninitialized") is not None:
            parsed.attributes["initial_value"] = UnitAttr()
            return
        parser.parse_keyword("dense")
        type_ = parsed.attributes["type"]
        if not isinstance(type_, MemRefType):
            parser.raise_error(f"type should be a memref, found '{type_}'")
        tensor = TensorType(cast(Any, type_).element_type, type_.get_shape())
        constant = parser.parse_dense_int_or_fp_elements_attr(tensor)
        parsed.attributes["initial_value"] = constant

    def print(self, printer: Printer, operation: Operation) -> None:
        value = operation.properties.get("initial_value")
        if value is None:
            return
        if isinstance(value, UnitAttr):
            printer.print_string(" = uninitialized")
            return
        printer.print_string(" = ")
        print_elements(printer, value)


def _verify_global(operation: Operation) -> None:
    type_, value = operation.properties["type"], operation.properties.get("initial_value")
    if not isinstance(type_, MemRefType) or not type_.has_static_shape():
        raise VerifyException("type should be static shaped memref")
    if value is None or isinstance(value, UnitAttr):
        return
    found = getattr(value, "type", None)
    if found != TensorType(cast(Any, type_).element_type, type_.get_shape()):
        raise VerifyException(f"initial value of type {found} does not fit {type_}")


@dataclass(frozen=True, slots=True)
class _Kind:
    """The word for the property `kind`."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("kind",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        start = parser.pos
        parsed.attributes["kind"] = named_kind(parser, parser.parse_identifier(), start)

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_string(str(kind_name(operation.properties["kind"])))

    def fits(self, operation: Operation) -> bool:
        return kind_name(operation.properties["kind"]) is not None


def _verify_access(operation: Operation) -> None:
    """Check the number of indices of an op on `value? memref indices`, and its element type."""
    index = 1 if operation.name == "memref.atomic_rmw" else 0
    accessed = _memref_type(operation, index)
    given, rank = len(operation.operands) - index - 1, accessed.get_num_dims()
    if given != rank:
        raise VerifyException(f"expects {rank} indices, one per dimension, found {given}")
    element = accessed.element_type
    if index and operation.operands[0].type != element:
        raise VerifyException(f"combines {operation.operands[0].type} with elements of {element}")
    if operation.results and operation.results[0].type != element:
        raise VerifyException(f"returns {operation.results[0].type}, expected {element}")


def _verify_update(operation: Operation) -> None:
    _verify_access(operation)
    block, element = operation.regions[0].block, operation.results[0].type
    last = block.last_op
    if list(block.arg_types) != [element]:
        raise VerifyException(f"expects a body with one argument of type {element}")
    if not isinstance(last, AtomicYieldOp) or list(last.operand_types) != [element]:
        raise VerifyException(f"expects a body that ends in memref.atomic_yield of {element}")


class _Accessed:
    """The type of the memref, whose element is the result."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        start, found = parser.pos, parser.parse_type()
        if not isinstance(found, MemRefType):
            parser.raise_error(f"expected a memref, found '{found}'", start)
        parsed.types["memref"] = [found]
        parsed.types["result"] = [cast("MemRefType[Attribute]", found).element_type]

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_attribute(operation.operands[0].type)


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of two words for a property of type i1, the word of `false` first."""

    name: str
    words: tuple[str, str]

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.name,)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        found = self.words.index(parser.parse_keyword_in(self.words))
        parsed.attributes[self.name] = IntegerAttr(found, i1)

    def print(self, printer: Printer, operation: Operation) -> None:
        number = cast(IntegerAttr, operation.properties[self.name]).value.data
        printer.print_string(self.words[number != 0])


@dataclass(frozen=True, slots=True)
class _Locality:
    """`locality<3>`: how long data stays in the cache."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("localityHint",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            parsed.attributes["localityHint"] = IntegerAttr(parser.parse_integer(), i32)

    def print(self, printer: Printer, operation: Operation) -> None:
        number = cast(IntegerAttr, operation.properties["localityHint"]).value.data
        printer.print_string(f"locality<{number}>")


PREFETCH: Syntax = (
    ", ",
    _Choice("isWrite", ("read", "write")),
    ", ",
    _Locality(),
    ", ",
    _Choice("isDataCache", ("instr", "data")),
    " attr-dict : type($memref)",
)
"""What follows the subscripts of a prefetch."""


@dataclass(frozen=True, slots=True)
class _Permutation:
    """`(i, j) -> (j, i)`: an affine map without its name, as the property `permutation`."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("permutation",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes["permutation"] = AffineMapAttr(parser.parse_affine_map())

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_string(str(cast(AffineMapAttr, operation.properties["permutation"]).data))


def _verify_transpose(operation: Operation) -> None:
    found = cast(AffineMapAttr, operation.properties["permutation"]).data
    source = _memref_type(operation)
    rank = source.get_num_dims()
    if found.num_symbols or sorted(found.results, key=str) != sorted(
        AffineMap.identity(rank).results, key=str
    ):
        raise VerifyException(f"expected a permutation of {rank} dimensions, found {found}")
    order = [cast(AffineDimExpr, each).position for each in found.results]
    shape = tuple(source.get_shape()[each] for each in order)
    result = cast("MemRefType[Attribute]", operation.results[0].type)
    if result.get_shape() != shape or result.element_type != source.element_type:
        raise VerifyException(f"result type {result} is not that of {source} in this order")


@dataclass(frozen=True, slots=True)
class _Scope:
    """` -> (T, ...)` and a region, whose terminator is not printed if it returns nothing."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        types: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            delimiter = parser.Delimiter.PAREN
            found = parser.parse_optional_comma_separated_list(delimiter, parser.parse_type)
            types = [parser.parse_type()] if found is None else found
        parsed.types["res"] = [*types]
        parsed.regions["bodyRegion"] = region = parser.parse_region()
        add_terminator(region, AllocaScopeReturnOp)

    def print(self, printer: Printer, operation: Operation) -> None:
        if operation.results:
            printer.print_string("-> (")
            printer.print_list(operation.result_types, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        shown = bool(operation.results)
        printer.print_region(operation.regions[0], print_block_terminators=shown)


_row = Rows("memref", {"memrefs": BaseAttr(MemRefType) | BaseAttr(UnrankedMemRefType)})
_ACCESS = (MemoryReadEffect(), MemoryWriteEffect())

GlobalOp = _row(
    "global",
    "| sym_visibility:str? constant:unit? sym_name:str type:type initial_value:attr?"
    " alignment:i64attr?",
    (
        "( $sym_visibility)?( constant$constant)? @$sym_name : type($type)",
        _Contents(),
        " attr-dict",
    ),
    traits=(SymbolOpInterface(),),
    verify=_verify_global,
    doc="Define memory that lives as long as the program.",
)

AllocaScopeOp = _row(
    "alloca_scope",
    "-> res:any* || bodyRegion",
    (" ", _Scope(), " attr-dict"),
    traits=(RecursiveMemoryEffect(),),
    doc="Run a region, at whose end what it has allocated by memref.alloca is freed.",
)

AllocaScopeReturnOp = _row(
    "alloca_scope.return",
    "ops:any*",
    "( $ops : type($ops))? attr-dict",
    traits=(IsTerminator(),),
    doc="Return the results of memref.alloca_scope.",
)

AtomicRmwOp = _row(
    "atomic_rmw",
    "value:any memref:memref indices* -> result:any | kind:i64attr",
    (
        " ",
        _Kind(),
        " $value, $memref[$indices] attr-dict : (type($value), type($memref)) -> type($result)",
    ),
    traits=_ACCESS,
    verify=_verify_access,
    doc="Combine an element with a value; return the element before.",
)

GenericAtomicRmwOp = _row(
    "generic_atomic_rmw",
    "memref:memref indices* -> result:any || atomic_body",
    (" $memref[$indices] : ", _Accessed(), " $atomic_body attr-dict"),
    traits=_ACCESS,
    verify=_verify_update,
    doc="Replace an element by what a region computes from it; return the element before.",
)

AtomicYieldOp = _row(
    "atomic_yield",
    "result:any",
    " $result : type($result) attr-dict",
    traits=(IsTerminator(),),
    doc="Return the new element of memref.generic_atomic_rmw.",
)

PrefetchOp = _row(
    "prefetch",
    "memref:memref indices* | isWrite:attr localityHint:i32attr isDataCache:attr",
    (" $memref[$indices]", *PREFETCH),
    traits=_ACCESS,
    verify=_verify_access,
    doc="Tell the machine that an element will be read or written.",
)

ReshapeOp = _row(
    "reshape",
    "source:memrefs shape:memref -> result:memrefs",
    " $source($shape) attr-dict : (type($source), type($shape)) -> type($result)",
    traits=(MemoryReadEffect(),),
    doc="View contiguous memory with the sizes in a second memref.",
)

ReallocOp = _row(
    "realloc",
    "source:memref dynamicResultSize? -> result:memref | alignment:i64attr?",
    " $source(($dynamicResultSize))? attr-dict : type($source) to type($result)",
    traits=_ACCESS,
    doc="Return a memref of another size with the first elements of one that is freed.",
)

DistinctObjectsOp = _row(
    "distinct_objects",
    "operands_:memref* -> res:memref*",
    " $operands_ attr-dict : type($operands_, $res)",
    traits=PURE,
    doc="Return the operands, of which no two share memory.",
)

TransposeOp = _row(
    "transpose",
    "in:memref -> result:memref | permutation:attr",
    (" $in ", _Permutation(), " attr-dict : type($in) to type($result)"),
    traits=PURE,
    verify=_verify_transpose,
    doc="View memory with its dimensions in another order.",
)

_OPERATIONS: list[type[IRDLOperation]] = [
    *(_with_syntax(*each) for each in _SYNTAX.items()),
    *(GlobalOp, AllocaScopeOp, AllocaScopeReturnOp, AtomicRmwOp, GenericAtomicRmwOp, AtomicYieldOp),
    *(PrefetchOp, ReshapeOp, ReallocOp, DistinctObjectsOp, TransposeOp),
]

ExtendedMemRef = extended(memref.MemRef, _OPERATIONS)
