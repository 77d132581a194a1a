"""A kernel's `ast` as LLVM IR, statement by statement.

Kernels hold few kinds of statements: assignments, `for` over `range`, `if`, calls of primitives and
`return`. Numbers without a type are 64-bit integers; everything else gets its type from the
primitive that it goes to or comes from. A variable that is assigned once is a value; others have
a place on the stack, which LLVM turns into registers.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..scalar_ops.primitives import Primitive, primitive
from .ast_builder import FLOAT_NAMES

_WORD = ir.IntType(64)
_BOOL = ir.IntType(1)

_LONG = ("exp_", "log_", "tanh_", "erf_", "sigmoid_")
"""Primitives that are long chains of instructions: several go on at once in vectorised loops."""

_INTERLEAVED = 4
"""How many vectors are computed at once in loops over such chains."""

_COMPARISONS: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.GtE: ">="}


def kernel_module(function: ast.FunctionDef, name: str) -> ir.Module:
    """A module with the function `name(bindings, constants, first_tile, last_tile)`."""
    module = ir.Module(name)
    words = _WORD.as_pointer()
    kind = ir.FunctionType(_WORD, (words, words, _WORD, _WORD))
    target: Any = ir.Function(module, kind, name)
    target.attributes.add("nounwind")
    _FunctionLowering(function, target).lower()
    return module


class _FunctionLowering:
    """The variables of one function, and where its code is written next."""

    def __init__(self, function: ast.FunctionDef, target: ir.Function) -> None:
        self._function = function
        self._builder: Any = ir.IRBuilder(target.append_basic_block("entry"))
        self._primitives: dict[str, Primitive] = {}
        names = [each.arg for each in function.args.args]
        self._values: dict[str, Any] = dict(zip(names, target.args, strict=True))
        self._places: dict[str, Any] = {}
        self._assignments = Counter(
            each.id
            for each in ast.walk(function)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )

    def lower(self) -> None:
        """Write the whole function."""
        self._body(self._function.body)

    # Statements -------------------------------------------------------------------------------

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for each in statements:
            self._statement(each)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign([ast.Name(name)], expression):
                self._assign(name, self._value(expression))
            case ast.Assign([ast.Subscript() as element], expression):
                self._builder.store(self._value(expression, _WORD), self._address(element))
            case ast.Expr(expression):
                self._value(expression)
            case ast.For(ast.Name(variable), ast.Call(_, bounds), body):
                self._loop(variable, bounds, body)
            case ast.If(test, body, orelse):
                self._branch(test, body, orelse)
            case ast.Return(ast.expr() as expression):
                self._builder.ret(self._value(expression, _WORD))
            case ast.Pass():
                pass
            case _:
                raise TypeError(f"a kernel does not hold {ast.dump(statement)}")

    def _assign(self, name: str, value: Any) -> None:
        if self._assignments[name] == 1:
            self._values[name] = value
            return
        if name not in self._places:
            with self._builder.goto_entry_block():
                self._places[name] = self._builder.alloca(value.type)
        place = self._places[name]
        self._builder.store(self._converted(value, place.type.pointee), place)

    def _loop(self, variable: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        builder = self._builder
        start, stop, *steps = (self._value(each, _WORD) for each in bounds)
        step = steps[0] if steps else ir.Constant(_WORD, 1)
        before = builder.block
        loop, after = builder.append_basic_block("loop"), builder.append_basic_block("end")
        builder.cbranch(builder.icmp_signed("<", start, stop), loop, after)
        builder.position_at_end(loop)
        index = builder.phi(_WORD)
        index.add_incoming(start, before)
        self._assign(variable, index)
        self._body(body)
        if not builder.block.is_terminated:
            following = builder.add(index, step, flags=("nsw",))
            index.add_incoming(following, builder.block)
            back = builder.cbranch(builder.icmp_signed("<", following, stop), loop, after)
            if _has_long_chain(body):
                back.set_metadata("llvm.loop", _interleaving(builder.module))
        builder.position_at_end(after)

    def _branch(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        builder = self._builder
        condition = self._value(test)
        if condition.type != _BOOL:
            condition = builder.icmp_signed("!=", condition, ir.Constant(condition.type, 0))
        then, after = builder.append_basic_block("then"), builder.append_basic_block("after")
        otherwise = builder.append_basic_block("else") if orelse else after
        builder.cbranch(condition, then, otherwise)
        for block, statements in ((then, body), (otherwise, orelse)):
            if not statements:
                continue
            builder.position_at_end(block)
            self._body(statements)
            if not builder.block.is_terminated:
                builder.branch(after)
        builder.position_at_end(after)

    # Expressions ------------------------------------------------------------------------------

    def _value(self, expression: ast.expr, wanted: Any = None) -> Any:
        """The value of an expression, of a type if one is wanted."""
        match expression:
            case ast.Constant(bool() | int() | float() as number):
                return _constant(number, wanted)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return _constant(-number, wanted)
            case ast.Name(name) if name in FLOAT_NAMES:
                return _constant(FLOAT_NAMES[name], wanted)
            case ast.Name(name):
                place = self._places.get(name)
                value = self._values[name] if place is None else self._builder.load(place)
            case ast.Call(ast.Name(name), arguments):
                value = self._call(name, arguments)
            case ast.BinOp(left, operator, right):
                value = self._arithmetic(left, operator, right)
            case ast.Compare(left, [operator], [right]):
                operands = self._value(left, _WORD), self._value(right, _WORD)
                value = self._builder.icmp_signed(_COMPARISONS[type(operator)], *operands)
            case ast.Subscript():
                value = self._builder.load(self._address(expression))
            case _:
                raise TypeError(f"a kernel does not hold {ast.dump(expression)}")
        return value if wanted is None else self._converted(value, wanted)

    def _call(self, name: str, arguments: Sequence[ast.expr]) -> Any:
        found = self._primitives.get(name)
        if found is None:
            found = self._primitives[name] = primitive(name)
        pairs = zip(arguments, found.arguments, strict=True)
        return found.emit(self._builder, [self._value(each, kind) for each, kind in pairs])

    def _arithmetic(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> Any:
        operands = self._value(left, _WORD), self._value(right, _WORD)
        match operator:
            case ast.Add():
                return self._builder.add(*operands)
            case ast.Sub():
                return self._builder.sub(*operands)
            case ast.Mult():
                return self._builder.mul(*operands)
            case _:
                raise TypeError(f"a kernel does not hold {ast.dump(operator)}")

    def _address(self, element: ast.Subscript) -> Any:
        """Of a word of the bindings or constants."""
        return self._builder.gep(self._value(element.value), [self._value(element.slice, _WORD)])

    def _converted(self, value: Any, wanted: Any) -> Any:
        """An integer as one of another width; other types fit already."""
        if value.type == wanted:
            return value
        if not isinstance(value.type, ir.IntType) or not isinstance(wanted, ir.IntType):
            raise TypeError(f"a kernel passes {value.type} for {wanted}")
        if value.type.width > wanted.width:
            return self._builder.trunc(value, wanted)
        return (self._builder.zext if value.type == _BOOL else self._builder.sext)(value, wanted)


def _has_long_chain(body: Sequence[ast.stmt]) -> bool:
    """Whether an innermost loop calls one of the `_LONG` primitives."""
    found = [node for each in body for node in ast.walk(each)]
    return not any(isinstance(node, ast.For) for node in found) and any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith(_LONG)
        for node in found
    )


def _interleaving(module: Any) -> Any:
    """Metadata of a loop; its first operand is itself, as LLVM wants it."""
    hint = ir.MetaDataString(module, "llvm.loop.interleave.count")
    count = module.add_metadata([hint, ir.Constant(ir.IntType(32), _INTERLEAVED)])
    loop = module.add_metadata([count, ir.Constant(_WORD, len(module.metadata))])
    loop.operands = (loop, count)
    return loop


def _constant(number: float, wanted: Any) -> Any:
    if wanted is None:
        is_word = isinstance(number, int)
        wanted = _BOOL if isinstance(number, bool) else _WORD if is_word else ir.DoubleType()
    if isinstance(wanted, ir.IntType):
        return ir.Constant(wanted, int(number))
    return ir.Constant(wanted, float(number))
