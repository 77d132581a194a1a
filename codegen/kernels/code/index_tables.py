"""Compute indices that follow from a float once for a row, not for each element.

An image that is resized reads `x[h, fptosi(floor(w / 2.0))]`: CPUs without AVX-512 convert one
number at a time. What a loop of known length computes from its own index alone is the same in each
of its runs, so that a table holds it, and a check of an index is done there, too:

    for w: table[w] = fptosi(floor(w / 2.0))
    for h:
      for w: result[h, w] = x[h, table[w]]
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...scalar_ops.primitives import LAST_SCOPE
from .ast_builder import AstBuilder

CONVERSIONS = frozenset(("fptosi", "fptoui"))
"""The operations that make a table worth its memory."""

MAX_TABLE = 4096
"""The most numbers in a table, which is on the stack."""

_TABLE_TYPES = frozenset(("i64", "i32", "f32", "f64"))


def with_index_tables(code: AstBuilder, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the loops over tiles of a kernel, with tables in front of them."""
    tables: list[ast.stmt] = []
    found = [_with_tables(code, each, tables, is_inside=False) for each in body]
    if not tables:
        return list(body)
    has_tiles = ast.Compare(ast.Name("first"), [ast.Lt()], [ast.Name("last")])
    return [ast.If(has_tiles, tables, []), *found]


def _with_tables(
    code: AstBuilder, statement: ast.stmt, tables: list[ast.stmt], *, is_inside: bool
) -> ast.stmt:
    """Return a loop whose innermost loops read tables; add the code that fills these.

    `is_inside` says that it is in a loop over tiles. A loop that may not run has no tables in it:
    its indices are never computed.
    """
    if not isinstance(statement, ast.For) or (is_inside and not _turns(statement)):
        return statement
    if is_inside and not any(isinstance(each, ast.For) for each in statement.body):
        return _Row(code, statement).tabulated(tables)
    inner = [_with_tables(code, each, tables, is_inside=True) for each in statement.body]
    return ast.For(statement.target, statement.iter, inner, [])


def _turns(loop: ast.For) -> range:
    """Return the indices of a loop with constant bounds and a step of 1, none for others."""
    match loop.iter:
        case ast.Call(ast.Name("range"), [ast.Constant(int(start)), ast.Constant(int(stop))]):
            return range(start, stop)
        case _:
            return range(0)


@dataclass
class _Row:
    """An innermost loop, and which of its statements depend on its index alone."""

    code: AstBuilder
    loop: ast.For
    moved: list[ast.stmt] = field(default_factory=list[ast.stmt])
    kept: list[ast.stmt] = field(default_factory=list[ast.stmt])
    types: dict[str, str] = field(default_factory=dict[str, str])
    """The variables that depend on the index alone, and the elements that they are."""
    constants: set[str] = field(default_factory=set[str])

    def tabulated(self, tables: list[ast.stmt]) -> ast.stmt:
        """Return the loop with loads from tables, or as it is."""
        turns, target = _turns(self.loop), self.loop.target
        assert isinstance(target, ast.Name)
        self._divide(target.id)
        kept = [node for each in self.kept for node in ast.walk(each)]
        read = {node.id for node in kept if isinstance(node, ast.Name)}
        wanted = [name for name in self.types if name in read and name != target.id]
        if (
            turns.stop > MAX_TABLE
            or not any(map(_converts, self.moved))
            or self._has_mixed_checks
            or not _TABLE_TYPES.issuperset(self.types[name] for name in wanted)
        ):
            return self.loop
        # Variables keep their names in front, where checks that fail may name them.
        index = self.code.fresh()
        names, fills, loads = {target.id: index}, list(self.moved), list[ast.stmt]()
        for name in wanted:
            kind, table = self.types[name], self.code.fresh()
            names[name] = self.code.fresh()
            tables.append(_set(table, _call(f"scratch_{kind}_{turns.stop}")))
            at, binding = ast.Name(table), f"{kind}_{LAST_SCOPE}"
            fills.append(
                ast.Expr(_call(f"store_{binding}", at, ast.Name(target.id), ast.Name(name)))
            )
            loads.append(_set(names[name], _call(f"load_{binding}", at, ast.Name(index))))
        tables.append(ast.For(target, self.loop.iter, fills, []))
        for node in kept:
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        target = ast.Name(index, ast.Store())
        return ast.For(target, self.loop.iter, [*loads, *self.kept], [])

    def _divide(self, index: str) -> None:
        """Divide the statements of the loop; constants are needed on both sides."""
        self.types[index] = "i64"
        for each in self.loop.body:
            match each:
                case ast.Assign([ast.Name(name)], value) if self._follows(value):
                    self.moved.append(each)
                    if _names(value):
                        self.types[name] = _type(value)
                    else:
                        self.kept.append(each)
                        self.constants.add(name)
                case ast.If() if _tested(each) in self.types:
                    self.moved.append(each)
                case _:
                    self.kept.append(each)

    @property
    def _has_mixed_checks(self) -> bool:
        """Whether a check that is not moved may name a variable that is."""
        tests = set(map(_tested, self.kept))
        for each in self.kept:
            match each:
                case ast.Assign([ast.Name(name)], value) if name in tests:
                    if not _names(value).isdisjoint(self.types):
                        return True
                case _:
                    pass
        return False

    def _follows(self, value: ast.expr) -> bool:
        """Return whether a value is computed, not loaded, from the index and constants alone."""
        is_loaded = any(name.startswith(("load", "vload")) for name in _called(value))
        return not is_loaded and _names(value) <= self.types.keys() | self.constants


def _called(value: ast.AST) -> set[str]:
    """Return the primitives that an expression calls."""
    calls = (node.func for node in ast.walk(value) if isinstance(node, ast.Call))
    return {each.id for each in calls if isinstance(each, ast.Name)}


def _names(value: ast.expr) -> set[str]:
    """Return the variables that an expression reads, without constants of the kernel."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return {each for each in names - _called(value) if not each.startswith("c")}


def _tested(statement: ast.stmt) -> str:
    """Return the variable of a check that only records that it has failed, else nothing."""
    match statement:
        case ast.If(ast.Name(name), [ast.Assign(_, ast.Constant())], []):
            return name
        case _:
            return ""


def _type(value: ast.expr) -> str:
    """Return the element that an expression computes; nothing for a comparison."""
    match value:
        case ast.Call(ast.Name(primitive)):
            return "" if primitive.startswith("cmp") else primitive.rpartition("_")[2]
        case _:
            return "i64"


def _converts(statement: ast.stmt) -> bool:
    return any(name.partition("_")[0] in CONVERSIONS for name in _called(statement))


def _call(primitive: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(primitive), list(arguments), [])


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
