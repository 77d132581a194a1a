"""The memref ops for which xDSL parses only the generic syntax."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.irdl import IRDLOperation

from ..ir.dialect_extension import extended, variant
from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.operations import SyntaxOperation

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


ExtendedMemRef = extended(memref.MemRef, [_with_syntax(*each) for each in _SYNTAX.items()])
