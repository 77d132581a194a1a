"""Which function executes which operation: a table by operation name, open to other packages.

Three kinds of functions are registered, each with a decorator:

- `@impl("arith.addf")`: `function(op, operands, frame) -> results`, for operations that
  only compute. With `pointwise=True` it also accepts scalars that are arrays with one element
  per point of a vectorised loop nest (see `values`), which lets bodies run on whole arrays.
- `@impl_with_regions("scf.for")`: a generator function of the same arguments, for operations that
  run regions, call functions or meet other devices. It yields other such generators (to run them
  and receive what they return) or a `Rendezvous` (see `spmd`), and returns the results.
- `@impl_branch("cf.br")`: `function(op, operands) -> (block, arguments)`, for terminators that
  choose the next block.

`results` is a sequence with one value per result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from xdsl.ir import Block, Operation

from ..ir.foreign_code import guarded
from ..runtime.abi.arrays import Value

Results = Sequence[Value]
Routine = Generator[Any, Any, Any]
"""A suspended computation of one device; `machine.Device.run` runs it to its next rendezvous."""

Executor = Callable[[Operation, Sequence[Value], Any], Results]
Driver = Callable[[Operation, Sequence[Value], Any], Routine]
# What is registered may say of which class its operations and values are.
AnyExecutor = TypeVar("AnyExecutor", bound=Callable[[Any, Any, Any], Results])
AnyDriver = TypeVar("AnyDriver", bound=Callable[[Any, Any, Any], Routine])
Brancher = Callable[[Operation, Sequence[Value]], tuple[Block, Sequence[Value]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is registered for an operation name: exactly one of `execute` and `drive`."""

    execute: Executor | None = None
    drive: Driver | None = None
    pointwise: bool = False


KIND = "interpreter function"
"""What the functions here are called where they fail."""

_entries: dict[str, Entry] = {}
_branchers: dict[str, Brancher] = {}
_terminators: set[str] = set()


def impl(*names: str, pointwise: bool = False) -> Callable[[AnyExecutor], AnyExecutor]:
    """Register the function that computes operations of these names, in the place of another.

    It raises OperationError, or ArithmeticError, IndexError, TypeError or ValueError, for values
    that the operation is not defined on; these become errors at the operation.
    """

    def register(function: AnyExecutor) -> AnyExecutor:
        for name in names:
            _entries[name] = Entry(execute=guarded(KIND, function), pointwise=pointwise)
        return function

    return register


def impl_with_regions(*names: str) -> Callable[[AnyDriver], AnyDriver]:
    """Register the generator function that runs operations of these names, in the place of another.

    It raises OperationError for what cannot be executed.
    """

    def register(function: AnyDriver) -> AnyDriver:
        for name in names:
            _entries[name] = Entry(drive=guarded(KIND, function))
        return function

    return register


def impl_branch(*names: str) -> Callable[[Brancher], Brancher]:
    """Register the function that says where a terminator of these names goes, in the place of
    another. It raises OperationError where that is nowhere.
    """

    def register(function: Brancher) -> Brancher:
        for name in names:
            _branchers[name] = guarded(KIND, function)
        return function

    return register


def terminates(*names: str) -> None:
    """Register terminators that hand their operands to the operation around them."""
    _terminators.update(names)


def find_entry(name: str) -> Entry | None:
    """What executes operations of a name."""
    return _entries.get(name)


def find_brancher(name: str) -> Brancher | None:
    """What follows a terminator of a name, if it chooses a block."""
    return _branchers.get(name)


def is_terminator(name: str) -> bool:
    """Whether an operation of a name ends its region and hands over its operands."""
    return name in _terminators


_MODULES = (
    "affine",
    "arith",
    "bufferization",
    "cf",
    "check",
    "complex_numbers",
    "encodings",
    "func",
    "hal_buffers",
    "hal_commands",
    "hal_executables",
    "hal_interface",
    "inner_tiled",
    "kernels",
    "linalg",
    "linear_algebra",
    "math_functions",
    "memref",
    "pass_through",
    "scf",
    "shard",
    "stream_async",
    "stream_commands",
    "stream_tensors",
    "tensor",
    "tosa",
    "tosa_data",
    "tosa_windows",
    "util",
)
"""The files of this folder that register operations."""


def load_own_dialects() -> None:
    """Import the files of this package that register operations."""
    for module in _MODULES:
        import_module(f".{module}", __package__)
