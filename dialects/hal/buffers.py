"""Types and ops of the `hal` dialect at the boundary of a program: imports and exports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, PrintsProperty
from ...ir.syntax.directives import verify_type
from ...ir.syntax.rows import PURE, OneOf
from ..stream.rows import PLACED
from .objects import row
from .types import BufferType, BufferViewType

_WORD = re.compile(r"[a-zA-Z_][\w$.]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Keyword(PrintsProperty):
    """A keyword stored as a string property; for the default keyword the property is absent."""

    name: str
    default: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        word = parser.parse_identifier()
        if word != self.default:
            parsed.attributes[self.name] = StringAttr(word)

    def print(self, printer: Printer, operation: Operation) -> None:
        word = operation.get_attr_or_prop(self.name)
        printer.print_string(word.data if isinstance(word, StringAttr) else self.default)

    def fits(self, operation: Operation) -> bool:
        word = operation.get_attr_or_prop(self.name)
        if not isinstance(word, StringAttr):
            return True
        return word.data != self.default and _WORD.fullmatch(word.data) is not None


BUFFER_OR_VIEW = OneOf((BufferType(), BufferViewType()))


def _verify_element_type(operation: Operation) -> None:
    found = operation.properties["type"]
    if not isinstance(found, IntegerType | IndexType | AnyFloat | ComplexType):
        raise VerifyException("unsupported element type")


def _verify_encoding_type(operation: Operation) -> None:
    if "encoding_type" in operation.properties:
        raise VerifyException("unsupported encoding type")


ElementTypeOp = row(
    "element_type",
    "-> result:i32 | type:attr",
    "<type($type)> attr-dict : type($result)",
    traits=PURE,
    doc="Return the integer that encodes an element type at run time.",
    verify=_verify_element_type,
)


EncodingTypeOp = row(
    "encoding_type",
    "-> result:i32 | encoding_type:attr?",
    (
        "<",
        Keyword("encoding_type", "dense_row_major"),
        "> attr-dict : type($result)",
    ),
    traits=PURE,
    doc="Return the integer that encodes an order of elements at run time.",
    verify=_verify_encoding_type,
)


BufferViewDimOp = row(
    "buffer_view.dim",
    "buffer_view:view -> result | index:indexattr",
    "<$buffer_view : type($buffer_view)>[index($index)] : type($result) attr-dict-with-keyword",
    traits=PURE,
    doc="Return the size of one dimension of a buffer view.",
)


BufferViewAssertOp = row(
    "buffer_view.assert",
    "buffer_view:view element_type:i32 encoding_type:i32 shape* | message:str",
    (
        "<$buffer_view : type($buffer_view)> message($message) shape([$shape]) type(",
        # `type($element_type)` would mean the type of an operand, so the format is split here.
        "$element_type) encoding($encoding_type) attr-dict-with-keyword",
    ),
    doc="Fail unless a buffer view has the given shape and element type.",
)


@dataclass(frozen=True, slots=True)
class ImportType(PrintsProperty):
    """The type that a tensor is imported from or exported as, often the type of the value itself.

    It is written first; ` as T` with the type of the value follows if that differs.
    """

    name: str
    value: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.types[self.value] = [parser.parse_type()]
        parsed.attributes[self.name] = parsed.types[self.value][0]
        if parser.parse_optional_keyword("as") is not None:
            parsed.types[self.value] = [parser.parse_type()]

    def print(self, printer: Printer, operation: Operation) -> None:
        encoding = cast(Attribute, operation.get_attr_or_prop(self.name))
        printer.print_attribute(encoding)
        value = cast(Attribute, getattr(operation, self.value).type)
        if value != encoding:
            printer.print_string(" as ")
            printer.print_attribute(value)

    def verify(self, operation: Operation) -> None:
        verify_type(self.name, operation.get_attr_or_prop(self.name))


TensorImportOp = row(
    "tensor.import",
    "source:buffer/view target_dims* wait_fence:fence? byte_offset?"
    " -> target:tensor | target_encoding:attr consume:unit? name:str? affinity:attr?",
    (
        "( on($affinity))?( wait($wait_fence) =>)?( consume$consume)? $source"
        "( offset($byte_offset))?( $name)? : type($source) -> ",
        ImportType("target_encoding", "target"),
        "dims($target_dims, $target) attr-dict",
    ),
    traits=(*PURE, *PLACED),
    doc="""Import a buffer or buffer view that a caller passes as a tensor.

    `target_encoding` is the type of the tensor in the buffer. With `wait_fence` the contents are
    available when the fence is signalled; `consume` passes ownership to the program. The tensor
    starts at `byte_offset`, or at the start of the buffer.
    """,
)


TensorExportOp = row(
    "tensor.export",
    "source:tensor source_dims* -> target:buffer/view"
    " | source_encoding:attr name:str? affinity:attr?",
    (
        "( on($affinity))? $source( $name)? : ",
        ImportType("source_encoding", "source"),
        "dims($source_dims, $source) -> type($target) attr-dict",
    ),
    traits=(*PURE, *PLACED),
    doc="""Export a tensor as a buffer or buffer view for the caller.

    `source_encoding` is the type that the tensor has in the buffer.
    """,
)


TensorBarrierOp = row(
    "tensor.barrier",
    "sources:tensor* signal_fence:fence -> results_:tensor*",
    " join($sources : type($sources, $results_)) => $signal_fence"
    " : type($signal_fence) attr-dict-with-keyword",
    doc="Signal a fence once tensors are ready.",
)


TensorAliasOp = row(
    "tensor.alias",
    "source:tensor source_dims* storage:buffer/view wait_fence:fence?"
    " -> result:tensor | affinity:attr?",
    "( on($affinity))?( wait($wait_fence) =>)? $source : shaped($source_dims, $source, $result)"
    " to $storage : type($storage) attr-dict",
    traits=(*PURE, *PLACED),
    doc="Place the contents of a tensor in a buffer of the caller.",
)


TensorTransientsOp = row(
    "tensor.transients",
    "source:tensor source_dims* storage:buffer/view -> result:tensor | affinity:attr?",
    "( on($affinity))? $source : shaped($source_dims, $source, $result)"
    " from $storage : type($storage) attr-dict",
    traits=(*PURE, *PLACED),
    doc="Place transient storage for computing a tensor in a buffer of the caller.",
)
