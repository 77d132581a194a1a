"""Define an operation in one row: name, operands, results, properties, regions and format.

Example:

    row = Rows("hal", {"buffer": BufferType()})
    row("buffer.load", "source:buffer offset -> value:any", "<$source : type($source)>[...] ...")

Rows are for operations without methods of their own whose operands and properties code reads by
position or through `values`, not as typed fields. `name:kind` is an operand or result. The
default kind is index unless the rows set another one. `name:kind/kind` is one of several types,
`kind?` an optional value, `kind*` a variadic one. Properties follow `|`, regions a second `|`.
`verify=` adds checks to those of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.ir.core import OpTraits
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttrSizedOperandSegments,
    BaseAttr,
    EqAttrConstraint,
    IntConstraint,
    IRDLOperation,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    OptResultDef,
    ParamAttrConstraint,
    PropertyDef,
    RegionDef,
    ResultDef,
    SameVariadicOperandSize,
    VarOperandDef,
    VarRegionDef,
    VarResultDef,
    VerificationContext,
    traits_def,
)
from xdsl.irdl.operations import get_accessors_from_op_def
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    OpTrait,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ..index_lists import INDEX
from .assembly_format import Syntax
from .operations import SyntaxOperation

Kind = Attribute | type[Attribute] | AttrConstraint
"""An attribute matches itself, a class all of its attributes."""

_SIGNLESS = ParamAttrConstraint(IntegerType, (AnyAttr(), Signedness.SIGNLESS.constr()))
SIGNLESS = BaseAttr(IndexType) | _SIGNLESS
ELEMENT = BaseAttr(IndexType) | BaseAttr(IntegerType) | AnyFloatConstr
SCALAR = ELEMENT | BaseAttr(ComplexType)
SIGNLESS_SCALAR = SIGNLESS | AnyFloatConstr | BaseAttr(ComplexType)
NUMBER = SCALAR | BaseAttr(VectorType)

COMMON: Mapping[str, Kind] = {
    "any": Attribute,
    "element": ELEMENT,
    "memref": MemRefType,
    "number": NUMBER,
    "signless": SIGNLESS,
    "tensor": TensorType,
    "i1": i1,
    "i8": i8,
    "i16": i16,
    "i32": i32,
    "i64": i64,
    "index": INDEX,
    # Properties.
    "array": ArrayAttr,
    "attr": Attribute,
    "dict": DictionaryAttr,
    "function": FunctionType,
    "int": IntegerAttr,
    "i8attr": IntegerAttr.constr(i8),
    "i32attr": IntegerAttr.constr(i32),
    "i64attr": IntegerAttr.constr(i64),
    "indexattr": IntegerAttr.constr(INDEX),
    "positions": ArrayAttr.constr(IntegerAttr.constr(INDEX)),
    "str": StringAttr,
    "symbol": SymbolRefAttr,
    "type": TypeAttribute,
    "unit": UnitAttr,
}

PURE = (Pure(),)
READS = (MemoryReadEffect(),)


class Creates(MemoryEffect):
    """Allocates its results: unused ones can be dropped, but two of them are not the same."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


CREATES = (Creates(),)

_OPERANDS = {"": OperandDef, "?": OptOperandDef, "*": VarOperandDef}
_RESULTS = {"": ResultDef, "?": OptResultDef, "*": VarResultDef}
_REGIONS = {"": RegionDef, "*": VarRegionDef}
_PROPERTIES = {"": PropertyDef, "?": OptPropertyDef}


Entries = list[tuple[str, AttrConstraint, str]]
"""Names with their constraints and marks: `?`, `*` or nothing."""


@dataclass(eq=False)
class Row:
    """The definition of an operation as text. It is parsed when the op class is first used."""

    rows: Rows
    name: str
    values: str
    verify: Callable[[Operation], object] | None
    same_sizes: bool

    def define(self, traits: OpTraits) -> OpDef:
        """Parse the row into an op definition."""
        values, _, rest = self.values.partition("|")
        properties, _, regions = rest.partition("|")
        operands, _, results = values.partition("->")
        entries = self.rows.entries
        several = _lists(entries(operands)) > 1
        definition = OpDef(
            self.name,
            operands=[(n, _OPERANDS[m](c)) for n, c, m in entries(operands)],
            results=[(n, _RESULTS[m](c)) for n, c, m in entries(results)],
            properties={n: _PROPERTIES[m](c) for n, c, m in entries(properties)},
            regions=[(n, _REGIONS[m]()) for n, _, m in entries(regions)],
            traits=traits,
        )
        if several and self.same_sizes:
            definition.options = [SameVariadicOperandSize()]
        elif several:
            definition.options = [AttrSizedOperandSegments(True)]
            definition.properties["operandSegmentSizes"] = PropertyDef(BaseAttr(DenseArrayBase))
        return definition


class RowOperation(IRDLOperation):
    """An operation defined by a row. Its definition is created when the class is first used."""

    ROW: ClassVar[Row]
    _definition: ClassVar[OpDef | None] = None

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        if cls._definition is None:
            cls._definition = cls.ROW.define(cls.traits)
            for name, accessor in get_accessors_from_op_def(cls._definition, None).items():
                if name not in ("get_irdl_definition", "name", "verify_"):
                    setattr(cls, name, accessor)
        return cls._definition

    def verify_(self) -> None:
        self.get_irdl_definition().verify(self)
        super().verify_()
        if self.ROW.verify is not None:
            self.ROW.verify(self)


class Rows:
    """Creates the operation classes of one dialect, with short names for types."""

    def __init__(
        self,
        dialect: str,
        kinds: Mapping[str, Kind],
        default: str = "index",
        traits: Sequence[OpTrait] = (),
    ) -> None:
        """Set the dialect and its kinds.

        `default` is the kind of names without one; all operations have the `traits`.
        """
        self._dialect = dialect
        self._traits = traits
        self._default = default
        self._kinds = {**COMMON, **kinds}

    def __call__(
        self,
        name: str,
        values: str,
        syntax: Syntax,
        *,
        traits: Sequence[OpTrait] = (),
        verify: Callable[[Operation], object] | None = None,
        same_sizes: bool = False,
        base: type[IRDLOperation] | None = None,
        doc: str = "",
    ) -> type[RowOperation]:
        """Create the operation class `name`.

        `doc` is its docstring; `base` provides handwritten parsing and printing. Without a syntax
        and a base, only the generic form exists.

        `verify` raises VerifyException for what the kinds cannot express. With `same_sizes`,
        several variadic operands have equal lengths; otherwise a property stores their lengths.
        """
        full_name = f"{self._dialect}.{name}"
        namespace: dict[str, object] = {
            "__doc__": doc or f"`{full_name}`.",
            "name": full_name,
            "traits": traits_def(*traits, *self._traits),
            "ROW": Row(self, full_name, values, verify, same_sizes),
        }
        if syntax:
            namespace["SYNTAX"] = syntax
        words = name.replace(".", "_").split("_")
        class_name = "".join(word.capitalize() for word in words) + "Op"
        base = base or (SyntaxOperation if syntax else IRDLOperation)
        bases = (RowOperation,) if base is IRDLOperation else (RowOperation, base)
        return cast("type[RowOperation]", type(class_name, bases, namespace))

    def entries(self, text: str) -> Entries:
        """Parse the entries of one part of a row."""
        found: Entries = []
        for word in text.split():
            mark = word[-1] if word[-1] in "?*" else ""
            name, _, kind = word.removesuffix(mark).partition(":")
            kinds = [self._kinds[each] for each in (kind or self._default).split("/")]
            found.append((name, _constraint(*kinds), mark))
        return found


def _lists(entries: Entries) -> int:
    return sum(mark != "" for _, _, mark in entries)


@dataclass(frozen=True)
class OneOf(AttrConstraint[Attribute]):
    """A constraint to one of several types, which may be of one class, unlike those of `AnyOf`."""

    types: tuple[Attribute, ...]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if attr not in self.types:
            expected = " or ".join(map(str, self.types))
            raise VerifyException(f"expected {expected}, found {attr}")

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> Self:
        return self


def _constraint(kind: Kind, *others: Kind) -> AttrConstraint:
    if others:
        return OneOf(tuple(each for each in (kind, *others) if isinstance(each, Attribute)))
    if isinstance(kind, AttrConstraint):
        return kind
    if isinstance(kind, Attribute):
        return EqAttrConstraint(kind)
    return AnyAttr() if kind is Attribute else BaseAttr(kind)
