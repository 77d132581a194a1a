"""MLIR's `index` dialect: its text is read as `arith`, whose ops mean the same for indices.

After parsing, a program has no `index` ops.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, i1, i64
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ..ir.diagnostics import OperationError
from ..ir.dialect_extension import attribute_class, dialect_of
from ..ir.index_lists import INDEX
from ..ir.locations import builder_before
from ..ir.regions import walk
from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.keyword_attributes import OpaqueKeywordAttribute, Word, word
from ..ir.syntax.rows import PURE, Rows
from ..ir.text.parser import AFTER_READING
from .arith.dialect import ExtendedArith

_BITS = 64
"""The width of an index."""

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""The predicates of comparisons, in the order of those of `arith.cmpi`."""

_BINARY = {
    "add": "arith.addi",
    "and": "arith.andi",
    "ceildivs": "arith.ceildivsi",
    "ceildivu": "arith.ceildivui",
    "divs": "arith.divsi",
    "divu": "arith.divui",
    "floordivs": "arith.floordivsi",
    "maxs": "arith.maxsi",
    "maxu": "arith.maxui",
    "mins": "arith.minsi",
    "minu": "arith.minui",
    "mul": "arith.muli",
    "or": "arith.ori",
    "rems": "arith.remsi",
    "remu": "arith.remui",
    "shl": "arith.shli",
    "shrs": "arith.shrsi",
    "shru": "arith.shrui",
    "sub": "arith.subi",
    "xor": "arith.xori",
}
_CASTS = {"casts": "arith.index_cast", "castu": "arith.index_castui"}
_SPECIAL = {
    "bool.constant": "arith.constant",
    "cmp": "arith.cmpi",
    "constant": "arith.constant",
    "sizeof": "arith.constant",
}

_MEANINGS = {f"index.{name}": arith for name, arith in (_BINARY | _CASTS | _SPECIAL).items()}
"""The `arith` op with the meaning of each `index` op."""

CmpPredicateAttr = attribute_class(
    "index.cmp_predicate",
    "A comparison of two indices: `#index<cmp_predicate slt>`.",
    OpaqueKeywordAttribute,
    WORDS=_PREDICATES,
)


def _verify_cast(operation: Operation) -> None:
    types = (operation.operands[0].type, operation.results[0].type)
    if not any(
        isinstance(one, IndexType) and isinstance(other, IntegerType)
        for one, other in (types, types[::-1])
    ):
        raise VerifyException(
            f"converts between index and an integer, not {types[0]} to {types[1]}"
        )


_rows = Rows("index", {"bool": IntegerAttr.constr(i1), "predicate": CmpPredicateAttr}, traits=PURE)


def _row(
    name: str, values: str, syntax: Syntax, verify: Callable[[Operation], None] | None = None
) -> type[Operation]:
    doc = f"Read as `{_MEANINGS[f'index.{name}']}`."
    return _rows(name, values, syntax, verify=verify, doc=doc)


_COMPARISON: Syntax = (" ", Word("pred", CmpPredicateAttr), "($lhs, $rhs) attr-dict")
_CONVERSION = " $input attr-dict : type($input) to type($output)"

ROWS = [
    *(_row(name, "lhs rhs -> result", " $lhs, $rhs attr-dict") for name in _BINARY),
    *(_row(name, "input:any -> output:any", _CONVERSION, _verify_cast) for name in _CASTS),
    _row("cmp", "lhs rhs -> result:i1 | pred:predicate", _COMPARISON),
    _row("constant", "-> result | value:indexattr", " signed-index($value) attr-dict"),
    _row("bool.constant", "-> result:i1 | value:bool", " bool($value) attr-dict"),
    _row("sizeof", "-> result", " attr-dict"),
]


def translate_index(module: ModuleOp) -> None:
    """Replace `index` ops by those of `arith`; run after a module has been parsed.

    Raises OperationError for an op with other operands or results than its kind.
    """
    classes = {operation.name: operation for operation in ExtendedArith.operations}
    for operation in list(walk(module)):
        if (meaning := _MEANINGS.get(operation.name)) is not None:
            _verify(operation)
            made = classes[meaning].create(
                operands=operation.operands,
                result_types=operation.result_types,
                properties=_properties(operation),
                attributes=operation.attributes,
            )
            builder_before(operation).insert(made)
            made.results[0].name_hint = operation.results[0].name_hint
            Rewriter.replace_op(operation, [], made.results)


def _verify(operation: Operation) -> None:
    """Check an op that is about to be replaced, so that its faults are found in its own terms."""
    try:
        operation.verify(verify_nested_ops=False)
    except VerifyException as error:
        raise OperationError(operation, str(error)) from error


def _properties(operation: Operation) -> dict[str, Attribute]:
    if operation.name == "index.sizeof":
        return {"value": IntegerAttr(_BITS, INDEX)}
    if operation.name == "index.cmp":
        return {"predicate": IntegerAttr(_PREDICATES.index(word(operation, "pred")), i64)}
    return operation.properties


AFTER_READING["index"] = translate_index

Index = dialect_of("index", globals())
