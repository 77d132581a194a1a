"""Verification: dominance, terminators, and which operation is at fault."""

from __future__ import annotations

import pytest
from mesh_opt.ir import symbols as symbol_lookup
from mesh_opt.ir.attribute_access import symbol_name
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.verification import verification_errors, verify
from mesh_opt.tools.diagnostics import position_of
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation


def parse(text: str) -> ModuleOp:
    return parse_module(new_context(True), Source(text, "x"))


def function(body: str) -> ModuleOp:
    return parse(f"func.func @f(%a: i32, %c: i1) -> i32 {{\n{body}\n}}")


GOOD = [
    "return %a : i32",
    "cf.br ^b\n^b:\n%x = arith.addi %a, %a : i32\ncf.br ^d\n^d:\nreturn %x : i32",
    "%x = arith.addi %a, %a : i32\ncf.cond_br %c, ^t, ^e\n^t:\ncf.br ^e\n^e:\nreturn %x : i32",
    # A loop: the header dominates the body and itself.
    "cf.br ^h(%a : i32)\n^h(%i: i32):\n%n = arith.addi %i, %a : i32\n"
    "cf.cond_br %c, ^h(%n : i32), ^x\n^x:\nreturn %n : i32",
    # Nothing reaches ^u, so nothing is wrong in it.
    "return %a : i32\n^u:\n%y = arith.addi %x, %x : i32\n%x = arith.addi %a, %a : i32\ncf.br ^u",
    # A region sees what comes before its operation.
    '%x = arith.addi %a, %a : i32\n"t.r"() ({\n"t.u"(%x) : (i32) -> ()\n}) : () -> ()\n'
    "return %a : i32",
]

BAD = [
    "%y = arith.addi %x, %a : i32\n%x = arith.addi %a, %a : i32\nreturn %y : i32",
    "%x = arith.addi %x, %a : i32\nreturn %x : i32",
    "cf.cond_br %c, ^t, ^e\n^t:\n%x = arith.addi %a, %a : i32\ncf.br ^e\n^e:\nreturn %x : i32",
    '"t.r"() ({\n"t.u"(%x) : (i32) -> ()\n}) : () -> ()\n'
    "%x = arith.addi %a, %a : i32\nreturn %x : i32",
    '%x = "t.r"() ({\n"t.u"(%x) : (i32) -> ()\n}) : () -> i32\nreturn %x : i32',
    "cf.br ^b\n^b:\n%y = arith.addi %x, %x : i32\ncf.br ^d\n^d:\n"
    "%x = arith.addi %a, %a : i32\nreturn %x : i32",
]


@pytest.mark.parametrize("body", GOOD)
def test_dominance_holds(body: str) -> None:
    verify(function(body))


@pytest.mark.parametrize("body", BAD)
def test_dominance_does_not_hold(body: str) -> None:
    with pytest.raises(OperationError, match="does not dominate this use") as raised:
        verify(function(body))
    assert raised.value.notes[0].operation is not None


GENERATED = """
%{0} = tensor.generate %n {{
^bb0(%i: index):
  tensor.yield %{1} : i32
}} : tensor<?xi32>"""


def test_equal_operations_may_read_other_values() -> None:
    later = "\n%x = arith.addi %a, %a : i32\nreturn %a : i32"
    size = "%n = arith.constant 4 : index"
    verify(function(size + GENERATED.format("p", "a") + GENERATED.format("q", "a") + later))
    with pytest.raises(OperationError, match="does not dominate this use"):
        verify(function(size + GENERATED.format("p", "a") + GENERATED.format("q", "x") + later))


@pytest.mark.parametrize("operation", ["linalg.index 0", "linalg.index 1"])
def test_operations_that_need_their_parent(operation: str) -> None:
    inside = """
    %p = tensor.empty() : tensor<2xindex>
    %q = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
        outs(%p : tensor<2xindex>) {{
    ^bb0(%o: index):
      %i = linalg.index 0 : index
      linalg.yield %i : index
    }} -> tensor<2xindex>
    %r = {} : index
    return %a : i32"""
    with pytest.raises(OperationError, match="expected parent op with LinalgOp interface"):
        verify(function(inside.format(operation)))


def test_module_is_a_graph_region() -> None:
    verify(parse('"t.u"(%x) : (i32) -> ()\n%x = "t.d"() : () -> i32'))


def test_outer_values_do_not_enter_isolated_regions() -> None:
    module = parse('%x = "t.d"() : () -> i32\nfunc.func @f() {\n"t.u"() : () -> ()\nfunc.return\n}')
    definition, func = module.body.block.ops
    user = next(op for op in func.walk() if op is not func)
    user.operands = [definition.results[0]]
    with pytest.raises(OperationError):
        verify(module)


def test_one_error_for_each_function() -> None:
    text = "func.func @{0}(%a: i32) -> i64 {{\n  return %a : i32\n}}\n"
    module = parse("".join(text.format(name) for name in "fgh"))
    errors = list(verification_errors(module))
    assert [place.line for error in errors if (place := position_of(error.operation))] == [2, 5, 8]


def test_made_up_operation_is_placed_near_where_it_was_made() -> None:
    from xdsl.dialects.builtin import UNKNOWN_LOC

    module = function("%x = arith.addi %a, %a : i32\n%y = arith.addi %x, %x : i32\nreturn %y : i32")
    (func,) = module.body.block.ops
    first, second, _ = func.regions[0].block.ops
    second.location = UNKNOWN_LOC
    place = position_of(second)
    assert place is not None and place == position_of(first)


def test_many_blocks_take_linear_time() -> None:
    blocks = "".join(f"^b{i}:\ncf.br ^b{i + 1}\n" for i in range(3000))
    verify(function(f"cf.br ^b0\n{blocks}^b3000:\nreturn %a : i32"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n^a:\n^b:\n return\n}", "has an empty block"),
        (
            "func.func @f() {\n func.func @g() {\n return\n }\n return\n}",
            "symbol's parent must have the SymbolTable trait",
        ),
    ],
)
def test_errors_of_changed_operations(text: str, message: str) -> None:
    with pytest.raises(OperationError, match=message):
        verify(parse(text))


def test_a_call_of_what_is_no_function_type() -> None:
    module = parse(
        '"func.func"() <{sym_name = "g", function_type = () -> ()}> ({\n'
        '"func.call"() <{callee = @h}> : () -> ()\n"func.return"() : () -> ()\n}) : () -> ()\n'
        '"func.func"() <{sym_name = "h", function_type = 7 : i64, sym_visibility = "private"}> ({\n'
        "}) : () -> ()"
    )
    messages = [str(error) for error in verification_errors(module)]
    assert len(messages) == 2
    assert "'@h' does not reference a valid function" in messages[0]


def test_loops_with_arguments_of_another_type() -> None:
    module = function(
        '%r = "scf.while"(%a) ({\n^bb0(%x: i1):\n"scf.condition"(%x, %a) : (i1, i32) -> ()\n}, {\n'
        '^bb0(%y: i32):\n"scf.yield"(%y) : (i32) -> ()\n}) : (i32) -> i32\nreturn %r : i32'
    )
    with pytest.raises(OperationError, match="Block arguments with wrong type"):
        verify(module)


def test_symbols_are_looked_up_in_tables_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200
    calls = "\n".join(
        f"func.func @f{number}() {{ func.call @f{number + 1}() : () -> () return }}"
        for number in range(count)
    )
    module = parse(f"{calls}\nfunc.func private @f{count}()")
    asked = 0

    def counted(operation: Operation) -> str | None:
        nonlocal asked
        asked += 1
        return symbol_name(operation)

    monkeypatch.setattr(symbol_lookup, "symbol_name", counted)
    verify(module)
    assert asked == count + 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("func.call @g(%a) : (i32) -> i32", "'@g' could not be found in symbol table"),
        ("func.call @ff(%a) : (i32) -> i32", "found in symbol table; did you mean 'f'"),
        ("func.call @f(%a) : (i32) -> i32", "number of operands for callee: 1"),
        ("func.call @f(%a, %c) : (i32, i1) -> (i32, i32)", "number of results for callee: 2"),
        ("func.call @f(%c, %c) : (i1, i1) -> i32", "expected operand type i32, but provided i1"),
        ("func.call @f(%a, %c) : (i32, i1) -> i64", "expected result type i32, but provided i64"),
        ("func.call @m(%a) : (i32) -> i32", "'@m' does not reference a valid function"),
    ],
)
def test_calls_of_functions(call: str, message: str) -> None:
    results = ":2" if call.endswith("(i32, i32)") else ""
    module = parse(
        f"func.func @f(%a: i32, %c: i1) -> i32 {{\n%r{results} = {call}\nreturn %a : i32\n}}\n"
        "module @m {}"
    )
    with pytest.raises(OperationError, match=message):
        verify(module)


def test_dominators_of_a_long_chain() -> None:
    count = 300
    blocks = "\n".join(
        f"cf.cond_br %c, ^b{number}, ^b{number}\n^b{number}:" for number in range(count)
    )
    verify(function(f"%x = arith.addi %a, %a : i32\n{blocks}\nreturn %x : i32"))
