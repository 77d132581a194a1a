"""Lower the `ast` of a kernel or a native function to LLVM IR, statement by statement.

The statements are assignments, `for` over `range`, `while`, `if`, calls and `return`. Numbers
without a type are 64-bit integers; other values get their type from the primitive that takes or
returns them. A variable that is assigned once is an SSA value; others are stack slots, which LLVM
promotes to registers.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...scalar_ops.primitives import Primitive, add_alias_scopes, primitive
from .ast_builder import FLOAT_NAMES
from .loop_hints import LoopHint, has_loop, loop_hints, stores

_WORD = ir.IntType(64)
_BOOL = ir.IntType(1)

_MAX_COPIES = 32
"""The most loops of a function that are duplicated to unswitch a condition: one copy a branch."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}

_DIVISIONS: dict[type[ast.operator], str] = {
    ast.FloorDiv: "floordivsi_i64",
    ast.Mod: "floormodsi_i64",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
"""Methods of `IRBuilder`; divisions are primitives, because they round as in Python."""


def kernel_module(function: ast.FunctionDef, name: str) -> ir.Module:
    """Return a module with the function `name(bindings, constants, first_tile, last_tile)`."""
    module = ir.Module(name)
    words = _WORD.as_pointer()
    kind = ir.FunctionType(_WORD, (words, words, _WORD, _WORD))
    target: Any = ir.Function(module, kind, name)
    target.attributes.add("nounwind")
    FunctionLowering(function, target, _meaning).lower()
    add_alias_scopes(module)
    return module


def _meaning(name: str) -> Primitive | float:
    """Return what a name means that is not a variable of a kernel."""
    number = FLOAT_NAMES.get(name)
    return primitive(name) if number is None else number


class FunctionLowering:
    """The variables of one function, and the position where its code is appended.

    `meaning` returns what a name is that is not a variable: a number, a primitive or a function.
    """

    def __init__(
        self,
        function: ast.FunctionDef,
        target: ir.Function,
        meaning: Callable[[str], Primitive | ir.Function | float],
    ) -> None:
        self._function = function
        self._builder: Any = ir.IRBuilder(target.append_basic_block("entry"))
        kind: Any = target.function_type
        self._result: Any = kind.return_type
        self._meaning = meaning
        self._called: dict[str, Any] = {}
        self._copies = 0
        self._arguments = {
            each.arg: value for each, value in zip(function.args.args, target.args, strict=True)
        }
        self._values: dict[str, Any] = {}
        self._places: dict[str, Any] = {}
        self._assignments = stores(function.body) + Counter(self._arguments.keys())

    def lower(self) -> None:
        """Lower the whole function."""
        for name, value in self._arguments.items():
            self._assign(name, value)
        self._body(self._function.body)
        if not self._builder.block.is_terminated:
            # Only a function without a result reaches its end.
            is_void = isinstance(self._result, ir.VoidType)
            (self._builder.ret_void if is_void else self._builder.unreachable)()

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
            case ast.Assign([ast.Tuple(names)], expression):
                self._unpack(names, expression)
            case ast.AugAssign(ast.Name(name), operator, right):
                self._assign(name, self._arithmetic(ast.Name(name), operator, right))
            case ast.Expr(ast.Constant(str())):
                pass
            case ast.Expr(expression):
                self._value(expression)
            case ast.While(test, body):
                self._while(test, body)
            case ast.For(ast.Name(variable), ast.Call(_, bounds), body):
                self._loop(variable, bounds, body)
            case ast.If(test, body, orelse):
                self._branch(test, body, orelse)
            case ast.Return(None):
                self._builder.ret_void()
            case ast.Return(ast.expr() as expression):
                self._builder.ret(self._value(expression, self._result))
            case ast.Pass():
                pass
            case _:
                raise TypeError(f"native code does not support {ast.dump(statement)}")

    def _unpack(self, names: Sequence[ast.expr], expression: ast.expr) -> None:
        if isinstance(expression, ast.Tuple):
            values = [self._value(each) for each in expression.elts]
        else:
            whole = self._value(expression)
            values = [self._builder.extract_value(whole, number) for number in range(len(names))]
        for each, value in zip(names, values, strict=True):
            self._assign(_name(each), value)

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
        is_open = self._copies < _MAX_COPIES and not has_loop(body)
        choice = self._fixed_choice(variable, body) if is_open else None
        if choice is None:
            self._plain_loop(variable, bounds, body)
            return
        self._copies += 1
        tests, chosen = choice
        self._body(tests)
        rest = [each for each in body if each not in tests]
        at = rest.index(chosen)
        sides = [[*rest[:at], *side, *rest[at + 1 :]] for side in (chosen.body, chosen.orelse)]
        turns = ast.Call(ast.Name("range"), list(bounds), [])
        then, otherwise = ([ast.For(ast.Name(variable), turns, side, [])] for side in sides)
        self._branch(chosen.test, then, otherwise)

    def _fixed_choice(
        self, variable: str, body: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], ast.If] | None:
        """An `if` of a loop that is decided before it, and the statements that decide it.

        Then there is a loop for either side: it may fill vectors.
        """
        varying = {variable, *stores(body)}
        tests: list[ast.stmt] = []
        for each in body:
            names = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
            match each:
                case ast.If(ast.Name(name), _, [_, *_]) if name not in varying:
                    return tests, each
                case ast.Assign([ast.Name(name)], value) if (
                    _is_test(value) and self._assignments[name] == 1 and names & varying == {name}
                ):
                    tests.append(each)
                    varying.remove(name)
                case _:
                    pass
        return None

    def _plain_loop(
        self, variable: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]
    ) -> None:
        builder = self._builder
        values = [self._value(each, _WORD) for each in bounds]
        if len(values) == 1:
            values.insert(0, ir.Constant(_WORD, 0))
        start, stop, *steps = values
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
            if hints := loop_hints(bounds, body, self._assignments):
                back.set_metadata("llvm.loop", _loop_metadata(builder.module, hints))
        builder.position_at_end(after)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        builder = self._builder
        head, loop, after = (builder.append_basic_block(each) for each in ("while", "do", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        builder.cbranch(self._condition(test), loop, after)
        builder.position_at_end(loop)
        self._body(body)
        if not builder.block.is_terminated:
            builder.branch(head)
        builder.position_at_end(after)

    def _branch(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        builder = self._builder
        condition = self._condition(test)
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
        """Return the value of an expression, converted to a type if one is wanted."""
        match expression:
            case ast.Constant(bool() | int() | float() as number):
                return _constant(number, wanted)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return _constant(-number, wanted)
            case ast.Name(name) if name in self._assignments:
                place = self._places.get(name)
                value = self._values[name] if place is None else self._builder.load(place)
            case ast.Name(name):
                return _constant(self._number(name), wanted)
            case ast.Call(ast.Name(name), arguments):
                value = self._call(name, arguments)
            case ast.BinOp(left, operator, right):
                value = self._arithmetic(left, operator, right)
            case ast.Compare(left, operators, rights):
                value = self._comparison(left, operators, rights)
            case ast.BoolOp(operator, operands):
                value = self._either(isinstance(operator, ast.Or), operands)
            case ast.UnaryOp(ast.Not(), operand):
                value = self._builder.not_(self._condition(operand))
            case ast.IfExp(test, first, second):
                value = self._choice(test, first, second, wanted or _WORD)
            case ast.Tuple(elements):
                value: Any = ir.Constant(wanted, None)
                for number, each in enumerate(elements):
                    element = self._value(each, wanted.elements[number])
                    value = self._builder.insert_value(value, element, number)
            case ast.Subscript():
                value = self._builder.load(self._address(expression))
            case _:
                raise TypeError(f"native code does not support {ast.dump(expression)}")
        return value if wanted is None else self._converted(value, wanted)

    def _number(self, name: str) -> float:
        number = self._meaning(name)
        if not isinstance(number, int | float):
            raise TypeError(f"{name} is not a number")
        return number

    def _call(self, name: str, arguments: Sequence[ast.expr]) -> Any:
        if name not in self._called:
            self._called[name] = self._meaning(name)
        found = self._called[name]
        if isinstance(found, Primitive):
            return found.emit(self._builder, self._arguments_of(arguments, found.arguments))
        kind: Any = found.function_type
        return self._builder.call(found, self._arguments_of(arguments, kind.args))

    def _arguments_of(self, arguments: Sequence[ast.expr], kinds: Sequence[Any]) -> list[Any]:
        return [self._value(each, kind) for each, kind in zip(arguments, kinds, strict=True)]

    def _arithmetic(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> Any:
        operands = self._value(left, _WORD), self._value(right, _WORD)
        division = _DIVISIONS.get(type(operator))
        if division is not None:
            return primitive(division).emit(self._builder, operands)
        method = _ARITHMETIC.get(type(operator))
        if method is None:
            raise TypeError(f"native code does not support {ast.dump(operator)}")
        return getattr(self._builder, method)(*operands)

    def _condition(self, expression: ast.expr) -> Any:
        """Return an expression as an i1."""
        value = self._value(expression)
        if value.type == _BOOL:
            return value
        return self._builder.icmp_signed("!=", value, ir.Constant(value.type, 0))

    def _comparison(
        self, left: ast.expr, operators: Sequence[ast.cmpop], rights: Sequence[ast.expr]
    ) -> Any:
        """Return a comparison of words; a chain evaluates all operands, unlike in Python."""
        builder = self._builder
        value = self._value(left, _WORD)
        result: Any = None
        for operator, right in zip(operators, rights, strict=True):
            if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, ast.Tuple):
                holds = self._is_one_of(value, right.elts)
                holds = builder.not_(holds) if isinstance(operator, ast.NotIn) else holds
            else:
                following = self._value(right, _WORD)
                holds = builder.icmp_signed(_COMPARISONS[type(operator)], value, following)
                value = following
            result = holds if result is None else builder.and_(result, holds)
        return result

    def _is_one_of(self, value: Any, others: Sequence[ast.expr]) -> Any:
        found = ir.Constant(_BOOL, 0)
        for each in others:
            other = self._value(each, _WORD)
            found = self._builder.or_(found, self._builder.icmp_signed("==", value, other))
        return found

    def _either(self, is_or: bool, operands: Sequence[ast.expr]) -> Any:
        """Return `or` or `and`, with short-circuiting."""
        builder = self._builder
        after = builder.append_basic_block("decided")
        incoming: list[tuple[Any, Any]] = []
        for number, each in enumerate(operands):
            truth = self._condition(each)
            incoming.append((truth, builder.block))
            if number == len(operands) - 1:
                builder.branch(after)
            else:
                following = builder.append_basic_block("open")
                targets = (after, following) if is_or else (following, after)
                builder.cbranch(truth, *targets)
                builder.position_at_end(following)
        builder.position_at_end(after)
        return self._phi(_BOOL, incoming)

    def _choice(self, test: ast.expr, first: ast.expr, second: ast.expr, kind: Any) -> Any:
        """Return `first if test else second`."""
        builder = self._builder
        then, otherwise, after = (
            builder.append_basic_block(each) for each in ("first", "second", "chosen")
        )
        builder.cbranch(self._condition(test), then, otherwise)
        incoming: list[tuple[Any, Any]] = []
        for block, expression in ((then, first), (otherwise, second)):
            builder.position_at_end(block)
            incoming.append((self._value(expression, kind), builder.block))
            builder.branch(after)
        builder.position_at_end(after)
        return self._phi(kind, incoming)

    def _phi(self, kind: Any, incoming: Sequence[tuple[Any, Any]]) -> Any:
        phi = self._builder.phi(kind)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    def _address(self, element: ast.Subscript) -> Any:
        """Return the address of an element of an array of words."""
        return self._builder.gep(self._value(element.value), [self._value(element.slice, _WORD)])

    def _converted(self, value: Any, wanted: Any) -> Any:
        """Convert an integer to another width. Raises TypeError for other types that differ."""
        if value.type == wanted:
            return value
        if not isinstance(value.type, ir.IntType) or not isinstance(wanted, ir.IntType):
            raise TypeError(f"native code passes {value.type} for {wanted}")
        if value.type.width > wanted.width:
            return self._builder.trunc(value, wanted)
        return (self._builder.zext if value.type == _BOOL else self._builder.sext)(value, wanted)


def _name(expression: ast.expr) -> str:
    if not isinstance(expression, ast.Name):
        raise TypeError(f"native code does not support {ast.dump(expression)}")
    return expression.id


def _is_test(value: ast.expr) -> bool:
    """Return whether an expression only compares and adds."""
    match value:
        case ast.Call(ast.Name(name)):
            return name.startswith(("cmp", "andi_i1", "ori_i1"))
        case ast.BinOp(_, ast.Add() | ast.Sub() | ast.Mult()):
            return True
        case _:
            return False


def _loop_metadata(module: Any, hints: Sequence[LoopHint]) -> Any:
    """Return the metadata of a loop; its first operand is itself, as LLVM requires."""
    rows = [
        module.add_metadata(
            [ir.MetaDataString(module, name), *(ir.Constant(ir.IntType(32), n) for n in numbers)]
        )
        for name, *numbers in hints
    ]
    loop = module.add_metadata([*rows, ir.Constant(_WORD, len(module.metadata))])
    loop.operands = (loop, *rows)
    return loop


def _constant(number: float, wanted: Any) -> Any:
    if wanted is None:
        is_word = isinstance(number, int)
        wanted = _BOOL if isinstance(number, bool) else _WORD if is_word else ir.DoubleType()
    if isinstance(wanted, ir.IntType):
        return ir.Constant(wanted, int(number))
    return ir.Constant(wanted, float(number))
