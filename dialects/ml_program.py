"""The globals of the `ml_program` dialect of MLIR, as torch-mlir and TensorFlow write them.

    ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
    %0 = ml_program.global_load @seed : tensor<i64>
    ml_program.global_store @seed = %0 : tensor<i64>

Functions, subgraphs, tokens and `#ml_program.extern` are not known.
"""

from __future__ import annotations

import sys
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..ir.dialect_extension import dialect_of
from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.operations import SyntaxOperation
from ..ir.syntax.rows import PURE, READS, Rows
from ..ir.syntax.symbol_directives import Visibility
from .util.functions import symbol_of


@irdl_op_definition
class GlobalOp(SyntaxOperation):
    """Define a global of the module. One that is not mutable must have an initial value."""

    name = "ml_program.global"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    type = prop_def(Attribute)
    is_mutable = opt_prop_def(UnitAttr)
    value = opt_prop_def(Attribute)
    traits = traits_def(SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = (
        Visibility(),
        "( mutable$is_mutable)? @$sym_name(($value))? : $type attr-dict",
    )

    def verify_(self) -> None:
        super().verify_()
        if self.is_mutable is None and self.value is None:
            raise VerifyException("immutable global must have an initial value")


def _global_of(access: Operation) -> GlobalOp:
    """Return the global that is read or written. Raises VerifyException if there is none."""
    return symbol_of(access, "global", GlobalOp, " global: ")


def _verify_load(load: Operation) -> None:
    found, result = _global_of(load), load.results[0].type
    if found.type != result:
        raise VerifyException(f"cannot load from global typed '{found.type}' as '{result}'")


def _verify_constant_load(load: Operation) -> None:
    _verify_load(load)
    found = _global_of(load)
    if found.is_mutable is not None:
        raise VerifyException(f"cannot load as const from mutable global @{found.sym_name.data}")


def _verify_store(store: Operation) -> None:
    found, value = _global_of(store), store.operands[0].type
    if found.is_mutable is None:
        raise VerifyException(f"cannot store to an immutable global @{found.sym_name.data}")
    if found.type != value:
        raise VerifyException(f"cannot store to a global typed '{found.type}' from '{value}'")


_row = Rows("ml_program", {}, default="any")
_LOAD = "-> result | global:symbol", " @$global : type($result) attr-dict"

GlobalLoadOp = _row(
    "global_load",
    *_LOAD,
    traits=READS,
    verify=_verify_load,
    doc="Return the value that a global has now.",
)

GlobalLoadConstOp = _row(
    "global_load_const",
    *_LOAD,
    traits=PURE,
    verify=_verify_constant_load,
    doc="Return the value of a global that is not mutable.",
)

GlobalStoreOp = _row(
    "global_store",
    "value | global:symbol",
    " @$global = $value : type($value) attr-dict",
    verify=_verify_store,
    doc="Set the value of a mutable global.",
)


MlProgram = dialect_of("ml_program", sys.modules[__name__])
