"""Mistakes in functions that another package registers are errors that name them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mesh_opt.api import CompilationError, ExecutionError, compile
from mesh_opt.extend import (
    Frame,
    OpSharding,
    Partitioner,
    dialect_rule,
    elementwise_rule,
    impl,
    impl_branch,
    impl_with_regions,
    partition,
    partition_by_rule,
    register_dialects,
    sharding_rule,
    terminates,
)
from mesh_opt.interpreter import registry as meanings
from mesh_opt.passes.sharding.partition import registry as handlers
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
)

PROGRAM = """
shard.grid @g(shape = 2)
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4x3xf32>
  %y = theta.double %a : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
"""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    name = "theta.token"


@irdl_op_definition
class DoubleOp(IRDLOperation):
    name = "theta.double"
    source = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class TokenOp(IRDLOperation):
    name = "theta.token"
    token = result_def(TokenType)
    assembly_format = "attr-dict `:` type($token)"


sharding_rule("theta.double")(elementwise_rule)


@pytest.fixture(autouse=True)
def registrations() -> Iterator[None]:
    """Forget what a test registers."""
    yield
    for name in ("theta.double", "theta.token", "theta.twice"):
        meanings._entries.pop(name, None)
        handlers._HANDLERS.pop(name, None)
    meanings._terminators.discard("theta.yield")


def context() -> Context:
    found = Context()
    register_dialects(found)
    found.register_dialect("theta", lambda: Dialect("theta", [DoubleOp, TokenOp], [TokenType]))
    return found


DECORATORS = {
    "sharding_rule": (sharding_rule, "acme.double"),
    "dialect_rule": (dialect_rule, "acme"),
    "partition": (partition, "acme.double"),
    "impl": (impl, "acme.double"),
    "impl_with_regions": (impl_with_regions, "acme.double"),
    "impl_branch": (impl_branch, "acme.double"),
}


@pytest.mark.parametrize("name", DECORATORS)
def test_decorators_take_names_and_a_function(name: str) -> None:
    decorator: Any = DECORATORS[name][0]
    example = DECORATORS[name][1]
    with pytest.raises(TypeError, match=rf"@{name} decorates a function, not 3"):
        decorator(f"theta{example.removeprefix('acme')}")(3)
    wrong = "double" if "." in example else "theta.double"
    with pytest.raises(TypeError, match=rf"@{name} takes names, as in .*: '{wrong}'"):
        decorator(wrong)
    if name != "dialect_rule":
        with pytest.raises(TypeError, match=rf"@{name} takes names, as in .*, and has none"):
            decorator()


def test_terminates_takes_names() -> None:
    with pytest.raises(TypeError, match=r"terminates takes names, as in .*: 'theta'"):
        terminates("theta")


def test_a_rule_of_an_operation_that_has_one() -> None:
    """The error is raised where the second rule is, also if the first is not loaded yet."""
    text = """
from mesh_opt.extend import sharding_rule
try:
    @sharding_rule("tosa.abs")
    def rule(operation): ...
except ValueError as error:
    print(error)
"""
    assert _python(text) == "operation tosa.abs already has a factor rule\n"


def test_a_handler_replaces_one_that_is_loaded_later() -> None:
    text = '''
from mesh_opt.api import compile
from mesh_opt.extend import partition, run_replicated

@partition("tensor.concat")
def whole(partitioner, operation):
    print("whole")
    run_replicated(partitioner, operation)

compile("""
shard.grid @g(shape = 2)
func.func @main(%x: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4x3xf32>
  %y = tensor.concat dim(0) %a, %a : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}
""", "spmd")
'''
    assert _python(text) == "whole\n"


def _python(text: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True
    ).stdout


def _wrong_type(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[Any]
) -> Operation:
    return DoubleOp.create(operands=operands, result_types=[op_sharding.operation.results[0].type])


@pytest.mark.parametrize(
    ("emit", "message"),
    [
        (lambda *_: None, "TypeError: emit returns a NoneType, not an operation"),
        (
            lambda _, op_sharding, operands: DoubleOp.create(operands=operands),
            r"TypeError: emit returns an operation with results of \(\), not of"
            r" \(tensor<2x3xf32>\), as OpSharding.result_types has it",
        ),
        (_wrong_type, r"with results of \(tensor<4x3xf32>\), not of \(tensor<2x3xf32>\)"),
    ],
)
def test_what_emit_returns(emit: Callable[..., Any], message: str) -> None:
    @partition("theta.double")
    def handler(partitioner: Partitioner, operation: Operation) -> None:
        partition_by_rule(partitioner, operation, emit)

    with pytest.raises(
        CompilationError, match=f"<string>:6:8: .* op in partition handler .*{message}"
    ):
        compile(PROGRAM, "spmd", context=context())


def test_what_emit_returns_is_located() -> None:
    """An error at run time is where the source has the operation, not at its function."""

    @partition("theta.double")
    def handler(partitioner: Partitioner, operation: Operation) -> None:
        partition_by_rule(partitioner, operation, emit)

    def emit(_: Partitioner, op_sharding: OpSharding, operands: list[Any]) -> Operation:
        return DoubleOp.create(operands=operands, result_types=op_sharding.result_types)

    @impl("theta.double")
    def double(operation: Operation, operands: Any, frame: Frame) -> Any:
        raise KeyError(3)

    program = compile(PROGRAM, "spmd", context=context())
    with pytest.raises(ExecutionError, match=r"<string>:6:8: .* function .*double: KeyError: 3"):
        program["main"](np.zeros((4, 3), np.float32))


def test_endless_recursion_names_the_function() -> None:
    def deeper(operation: Operation) -> Any:
        return deeper(operation)

    @partition("theta.double")
    def handler(partitioner: Partitioner, operation: Operation) -> None:
        deeper(operation)

    message = "<string>:6:8: .* in partition handler .*handler: RecursionError: maximum recursion"
    with pytest.raises(CompilationError, match=message):
        compile(PROGRAM, "spmd", context=context())


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_terminator_of_another_package(backend: str) -> None:
    """It passes its operands to the operation around it."""
    terminates("theta.yield")

    @impl_with_regions("theta.twice")
    def twice(operation: Operation, operands: Any, frame: Frame) -> Any:
        for _ in range(2):
            operands = (yield frame.run_region(operation.regions[0], operands)).values
        return operands

    text = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = "theta.twice"(%x) ({
      ^bb0(%a: tensor<3xf32>):
        %b = arith.addf %a, %a : tensor<3xf32>
        "theta.yield"(%b) : (tensor<3xf32>) -> ()
      }) : (tensor<3xf32>) -> tensor<3xf32>
      func.return %y : tensor<3xf32>
    }
    """
    found = context()
    found.allow_unregistered = True
    y = compile(text, context=found, backend=backend)["main"](np.ones(3, np.float32))
    assert np.array_equal(y, np.full(3, 4, np.float32))


def _yields(operation: Operation, operands: Any, frame: Frame) -> Any:
    yield 3


def _returns_list(operation: Operation, operands: Any, frame: Frame) -> Any:
    yield from ()
    return ([1],)


def _returns_nothing(operation: Operation, operands: Any, frame: Frame) -> Any:
    yield from ()


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize(
    ("decorator", "function", "message"),
    [
        (impl, lambda *_: ("a",), "returns a str for result #0, not a NumPy array"),
        (
            impl_with_regions,
            lambda *_: (np.zeros((4, 3), np.float32),),
            "returns a tuple, but must be a generator function",
        ),
        (impl_with_regions, _yields, "yields a int, not a generator, as of frame.run_region"),
        (impl_with_regions, _returns_list, "returns a list for result #0, not a NumPy array"),
        (impl_with_regions, _returns_nothing, "returns a NoneType, not a tuple"),
    ],
)
def test_what_interpreter_functions_return(
    decorator: Any, function: Callable[..., Any], message: str, backend: str
) -> None:
    decorator("theta.double")(function)
    program = compile(PROGRAM, context=context(), backend=backend)
    with pytest.raises(ExecutionError, match=f"<string>:6:8: .* interpreter function .*{message}"):
        program["main"](np.zeros((4, 3), np.float32))


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_operands_are_read_only(backend: str) -> None:
    @impl("theta.double")
    def double(operation: Operation, operands: Any, frame: Frame) -> Any:
        return (np.multiply(operands[0], 2, out=operands[0]),)

    program = compile(PROGRAM, context=context(), backend=backend)
    x = np.ones((4, 3), np.float32)
    with pytest.raises(ExecutionError, match="ValueError: output array is read-only"):
        program["main"](x)
    assert (x == 1).all()


def test_values_of_other_types_are_any_objects() -> None:
    @impl("theta.token")
    def token(operation: Operation, operands: Any, frame: Frame) -> Any:
        return (7,)

    text = "func.func @main() {\n  %t = theta.token : !theta.token\n  func.return\n}\n"
    compile(text, context=context(), backend="interpreter")["main"]()
