"""Table of the functions that execute operations, by operation name; other packages can extend it.

There are three kinds of functions, each registered with a decorator:

- `@impl("arith.addf")`: `function(op, operands, frame) -> results`, for operations that
  only compute. With `pointwise=True` it also accepts scalars that are arrays with one element per
  point of a vectorised loop nest (`runtime/abi/values.py`): loop bodies run on whole arrays.
- `@impl_with_regions("scf.for")`: a generator function of the same arguments, for operations that
  run regions, call functions or meet other devices. It yields other such generators (to run them
  and receive their results) or a `Rendezvous` (`spmd.py`), and returns the results.
- `@impl_branch("cf.br")`: `function(op, operands) -> (block, arguments)`, for terminators that
  choose the next block.

`results` is a sequence with one value per result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from ..ir.foreign_code import OpenTable, check_names
from ..runtime.abi.arrays import Array, Value
from ..runtime.abi.values import holds_numbers
from .spmd import Rendezvous

Results = Sequence[Value]
Routine = Generator[Any, Any, Any]
"""A suspended computation of one device. `frames.Process.run` runs it to its next rendezvous."""

Implementation = Callable[[Operation, Sequence[Value], Any], Results]
RegionRunner = Callable[[Operation, Sequence[Value], Any], Routine]
# A registered function may annotate more specific classes of operations and values.
AnyImplementation = TypeVar("AnyImplementation", bound=Callable[[Any, Any, Any], Results])
AnyRegionRunner = TypeVar("AnyRegionRunner", bound=Callable[[Any, Any, Any], Routine])
SuccessorFunction = Callable[[Operation, Sequence[Value]], tuple[Block, Sequence[Value]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """The implementation of an operation: exactly one of `execute` and `run_regions` is set."""

    execute: Implementation | None = None
    run_regions: RegionRunner | None = None
    pointwise: bool = False


KIND = "interpreter function"
"""What error messages call the functions that are registered here."""

_entries = OpenTable[Entry]()
_successor_functions = OpenTable[SuccessorFunction]()
_terminators: set[str] = set()


def impl(*names: str, pointwise: bool = False) -> Callable[[AnyImplementation], AnyImplementation]:
    """Register a function that computes operations of these names.

    The function may raise OperationError, or ArithmeticError, IndexError or ValueError, for values
    on which the operation is not defined; these become errors at the operation.
    """
    return _entries.decorator(
        "impl",
        names,
        KIND,
        entry=lambda function: Entry(execute=function, pointwise=pointwise),
        checked=_checked,
    )


def _checked(function: Implementation) -> Implementation:
    """Wrap a function of another package with a check of its results. It raises TypeError."""

    @wraps(function)
    def call(op: Operation, operands: Sequence[Value], frame: Any) -> Results:
        return _check_results(op, function(op, _protected(op, operands), frame))

    return call


def _checked_routine(function: RegionRunner) -> RegionRunner:
    """Wrap a generator function of another package with a check of what it yields and returns.

    It raises TypeError.
    """

    @wraps(function)
    def routine(op: Operation, operands: Sequence[Value], frame: Any) -> Routine:
        made = cast("object", function(op, _protected(op, operands), frame))
        if not isinstance(made, Generator):
            raise TypeError(f"returns a {type(made).__name__}, but must be a generator function")
        steps = cast("Routine", made)
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as done:
                return _check_results(op, done.value)
            if not isinstance(request, Generator | Rendezvous):
                kind = type(request).__name__
                raise TypeError(f"yields a {kind}, not a generator, as of frame.run_region")
            answer = yield request

    return routine


def _check_results(op: Operation, results: object) -> Results:
    """Return the results that a function has computed. Raises TypeError if there are others."""
    if not isinstance(results, Sequence):
        raise TypeError(
            f"returns a {type(results).__name__}, not a tuple with one value per result"
        )
    values = cast("Results", results)
    if len(values) != len(op.results):
        raise TypeError(f"returns {len(values)} values for {len(op.results)} results")
    for index, (result, value) in enumerate(zip(op.results, values, strict=True)):
        if holds_numbers(result.type) and not hasattr(value, "dtype"):
            kind = type(value).__name__
            raise TypeError(f"returns a {kind} for result #{index}, not a NumPy array")
    return values


def _protected(op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    """Return the operands with tensors read-only: other operations may read the same arrays."""
    return [
        _read_only(value) if isinstance(operand.type, TensorType) else value
        for operand, value in zip(op.operands, operands, strict=True)
    ]


def _read_only(value: Value) -> Value:
    if not isinstance(value, np.ndarray):
        return value
    array = cast("Array", value).view()
    array.flags.writeable = False
    return array


def impl_with_regions(*names: str) -> Callable[[AnyRegionRunner], AnyRegionRunner]:
    """Register a generator function that runs operations of these names.

    The function raises OperationError for operations that it cannot execute.
    """
    return _entries.decorator(
        "impl_with_regions",
        names,
        KIND,
        entry=lambda function: Entry(run_regions=function),
        checked=_checked_routine,
    )


def impl_branch(*names: str) -> Callable[[SuccessorFunction], SuccessorFunction]:
    """Register a function that chooses the successor of a terminator.

    The function raises OperationError if there is no successor.
    """
    return _successor_functions.decorator("impl_branch", names, KIND)


def terminates(*names: str) -> None:
    """Register terminators that pass their operands to the parent operation.

    `(yield frame.run_region(region, arguments)).values` are these operands there.
    """
    check_names("terminates", names, "acme.yield")
    _terminators.update(names)


def find_entry(name: str) -> Entry | None:
    """Return the implementation of an operation; `None` if there is none."""
    _load_dialect(name)
    return _entries.get(name)


def find_successor(name: str) -> SuccessorFunction | None:
    """Return the function that chooses the successor of a terminator; `None` if there is none."""
    _load_dialect(name)
    return _successor_functions.get(name)


def is_terminator(name: str) -> bool:
    """Return whether an operation ends its region and passes its operands to the parent."""
    _load_dialect(name)
    return name in _terminators


_MODULES = {
    "affine": ("affine", "pass_through"),
    "arith": ("arith",),
    "bufferization": ("memref", "pass_through"),
    "cf": ("cf",),
    "check": ("check",),
    "complex": ("arith", "complex_numbers"),
    "flow": ("arith", "flow_tensors", "kernels", "pass_through", "tensor"),
    "func": ("func",),
    "hal": (
        "hal.buffers",
        "hal.commands",
        "hal.dispatch",
        "hal.executables",
        "kernels",
        "pass_through",
    ),
    "io_parameters": ("hal.commands",),
    "iree_codegen": ("flow_tensors", "iree_codegen"),
    "iree_encoding": ("pass_through",),
    "iree_tensor_ext": ("flow_tensors", "kernels", "pass_through"),
    "linalg": ("linalg",),
    "llvm": ("pass_through",),
    "math": ("math",),
    "memref": ("memref", "pass_through", "tensor"),
    "scf": ("pass_through", "scf"),
    "sdy": ("pass_through",),
    "shard": ("pass_through", "shard"),
    "stablehlo": ("stablehlo.linear_algebra",),
    "stream": (
        "kernels",
        "pass_through",
        "stream.asynchronous",
        "stream.commands",
        "stream.tensors",
    ),
    "tensor": ("arith", "linalg", "tensor"),
    "tosa": ("math", "pass_through", "tensor", "tosa.operations", "tosa.data", "tosa.windows"),
    "util": ("func", "pass_through", "util"),
}
"""The modules of the package `dialects` that register operations of a dialect.

They are imported when a program first has one.
"""

_unloaded = dict(_MODULES)
"""The dialects that no program has had yet, with their modules."""


def _load_dialect(name: str) -> None:
    """Import the modules that register operations of the dialect of this operation."""
    for module in _unloaded.pop(name.partition(".")[0], ()):
        import_module(f".dialects.{module}", __package__)
