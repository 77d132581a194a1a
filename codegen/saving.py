"""Write compiled programs to files, and handle the IR in such files.

A file holds the host code of all public functions, the object code of their kernels and of the
native functions of the runtime, and constants. It also holds the IR, from which the program is
compiled again on a platform that cannot run its native code. The text of the IR refers to large
constants by name; their bytes are stored once, with the constants of the host code.
`runtime/saved/` reads and runs such files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from ..dialects.shard.boundary import Boundary
from ..dialects.stream.types import NamedParameter, NamedParameterAttr
from ..interpreter.frames import Program
from ..interpreter.function_signatures import argument_types, result_types
from ..interpreter.global_values import boundary_sharding, global_types, plain_types
from ..interpreter.rounding import roughest_types
from ..interpreter.run import boundaries, find_function
from ..ir.diagnostics import OperationError, remark
from ..ir.text.print_style import PrintStyle, argument_names
from ..ir.text.printer import print_operation
from ..runtime.abi.arrays import ROUNDED_TYPES
from ..runtime.abi.native_code import Native
from ..runtime.abi.shards import MAX_DEVICES
from ..runtime.collectives import Collective
from ..runtime.device_machines import MACHINE_FUNCTIONS
from ..runtime.host.program import ArrayAddress, Constant, HostProgram, not_started
from ..runtime.host.scalar_code import run_scalars
from ..runtime.messages.step_interpreter import run_messages
from ..runtime.native_registry import runtime_function, runtime_functions, used_functions
from ..runtime.saved.file_format import place_pieces, write_container
from ..runtime.saved.program import platform
from ..runtime.saved.tables import (
    constants_data,
    exchange_data,
    function_data,
    grid_data,
    sharding_data,
    sizes_data,
    type_data,
)
from ..runtime.threads.thread_group import collective_functions, message_functions
from ..sharding.grid import Grid
from .compile import CompiledProgram
from .host_code.lowering import HostEntry

SCOPE = "meshprog"
"""The scope of the parameters that stand for constants in the IR of a file."""

LARGE = 1024
"""Constants of at least so many bytes are stored outside of the text."""


def save_program(
    path: str | os.PathLike[str],
    program: CompiledProgram,
    source: ModuleOp,
    texts: Sequence[tuple[str, str]],
    functions: Sequence[str],
    grid: Grid | None,
    locate: Callable[[Operation], str],
    with_ir: bool = True,
) -> None:
    """Write a program to a file, completely or not at all.

    - `source`: the program before all passes;
    - `texts`: names and contents of the files that its locations refer to;
    - `functions`: the names of its public functions;
    - `grid`: the grid with its extents, for a program that leaves them open;
    - `locate`: returns the location of an operation as text;
    - `with_ir`: include the IR, so that the file can be compiled again.

    A function that calls Python at run time is stored without native code and compiled when it is
    run; a remark reports it. Raises OSError, and OperationError if native code is required.
    """
    writer = _Writer(source, locate)
    rows = [writer.function(program, name, grid) for name in functions]
    written: dict[str, str] = {}
    if with_ir:
        files = {f"text{number}": text for number, (_, text) in enumerate(texts)}
        written = {"ir": writer.text(program.module), "source": writer.text(source), **files}
    objects, runtime = writer.objects()
    header = {
        "platform": platform(),
        "devices": None if program.devices is None else list(program.devices),
        "open_grid": grid_data(grid),
        "texts": [name for name, _ in texts],
        "functions": rows,
        "runtime": runtime,
        "objects": list(
            zip(objects, place_pieces([each.image for each in objects.values()]), strict=True)
        ),
        "arrays": place_pieces(writer.arrays),
        "code": place_pieces(writer.code),
    }
    sections: dict[str, Sequence[bytes | memoryview]] = {
        **{name: [text.encode()] for name, text in written.items()},
        "code": writer.code,
        "objects": [each.image for each in objects.values()],
        "constants": writer.arrays,
    }
    write_container(path, header, sections)


class _NeedsPython(Exception):
    """An operation that calls Python at run time, with the reason."""

    def __init__(self, operation: Operation, message: str) -> None:
        super().__init__(message)
        self.operation = operation


class _Writer:
    """The tables that all functions of a file share."""

    def __init__(self, source: ModuleOp, locate: Callable[[Operation], str]) -> None:
        self._source = Program(source)
        self._locate = locate
        self.code: list[bytes | memoryview] = []
        self.arrays: list[bytes | memoryview] = []
        self._numbers: dict[bytes, int] = {}
        self._kernels: dict[str, Native] = {}
        self._collectives: list[Collective] = []
        self._has_messages = False
        self._has_scalars = False

    # Functions --------------------------------------------------------------------------------

    def function(self, program: CompiledProgram, name: str, grid: Grid | None) -> dict[str, Any]:
        """Return a function in the form that the file's header holds.

        A function that needs Python at run time is stored with the reason, and without host code.
        """
        target, own, entries = program.entries(name, grid)
        shards = boundaries(target)
        kinds = argument_types(target), result_types(target)
        whole = [
            plain_types(global_types(own_kinds, own_shards))
            for own_kinds, own_shards in zip(kinds, shards, strict=True)
        ]
        placed: Any = [[None] * len(each) for each in kinds]
        rows: list[Any] = []
        why = None
        try:
            if isinstance(entries, OperationError):
                raise _NeedsPython(entries.operation, entries.message)
            if own is not None:
                placed = [[_placed(target, each, own) for each in both] for both in shards]
            rows = [self._entry(each, own, len(entries), at) for at, each in enumerate(entries)]
        except _NeedsPython as need:
            own, placed = None, [[None] * len(each) for each in kinds]
            op = need.operation
            why = (
                f"@{name} has no native code of its own: {self._locate(op)}: '{op.name}' op {need}"
            )
            message = f"{need}: a saved program compiles @{name} when it is run"
            remark("backend", op, message)
        return {
            "name": name,
            "arguments": argument_names(find_function(self._source, name)),
            "types": [[type_data(each) for each in both] for both in whole],
            "grid": grid_data(own),
            "placed": placed,
            "entries": rows,
            "why": why,
            "rounding": self._rounding(name),
        }

    def _rounding(self, name: str) -> list[str | None]:
        """Return, for each result, the least precise float type computed before all passes."""
        names = {dtype: name for name, dtype in ROUNDED_TYPES.items()}
        found = roughest_types(self._source, find_function(self._source, name))
        return [None if each is None else names[each] for each in found]

    def _entry(self, entry: HostEntry, grid: Grid | None, count: int, number: int) -> Any:
        """Return a function's host code for processes whose number modulo `count` is `number`."""
        linked = entry.program
        program = linked.program
        exchanges = self._exchanges(program, grid)
        arrays = [self.constant(each.reshape(-1).view(np.uint8).data) for each in program.arrays]

        def stored(constants: Sequence[Constant]) -> tuple[Constant, ...]:
            return tuple(
                ArrayAddress(arrays[each.number]) if isinstance(each, ArrayAddress) else each
                for each in constants
            )

        linked.compile()
        self._has_scalars |= linked.has_scalars
        natives = [native for native in linked.natives if native is not None]
        self._kernels.update((each.name, each) for each in natives)
        self.code.append(linked.code.data)
        return {
            "number": entry.number,
            "arguments": [None if each is None else list(each) for each in entry.arguments],
            "results": [None if each.shape is None else list(each.shape) for each in entry.results],
            "devices": list(entry.devices),
            "constants": [entry.constants.get(each, 0) for each in range(len(entry.devices))],
            "code": len(self.code) - 1,
            "names": [each.name for each in program.functions],
            "functions": [
                function_data(replace(each, constants=stored(each.constants)))
                for each in linked.program_code.functions
            ],
            "kernels": [
                [native.name, kernel.name]
                for native, kernel in zip(natives, program.kernels, strict=True)
            ],
            "failures": len(program.failures),
            "checks": [sizes_data(each) for each in program.known_sizes],
            "exchanges": exchanges,
            "globals": constants_data(stored(program.globals)),
            "global_blocks": list(program.global_blocks),
        }

    def _exchanges(self, program: HostProgram, grid: Grid | None) -> list[Any]:
        """Return what each process does at each exchange.

        Raises _NeedsPython for a call that is not an exchange, and for an exchange whose shapes or
        peers depend on values at run time.
        """
        rows: list[Any] = []
        for number, call in enumerate(program.python):
            count = 0 if grid is None or call.recorded is None else grid.device_count()
            found = [call.recorded(each) for each in range(count)] if call.recorded else []
            if not found:
                raise _NeedsPython(_user(program, number), "runs in Python at each call")
            if None in found:
                message = "communicates with numbers that are only known at run time"
                raise _NeedsPython(_user(program, number), message)
            starts = call.prepare is not not_started
            rows.append([call.name, starts, [exchange_data(each) for each in found]])
            steps = [step for each in found for step in each.steps]
            collectives = [each for each in steps if isinstance(each, Collective)]
            self._collectives += collectives
            self._has_messages |= len(collectives) < len(steps)
        return rows

    # Tables -----------------------------------------------------------------------------------

    def constant(self, data: memoryview) -> int:
        """Return the number of a constant; equal bytes are stored once."""
        digest = sha256(data).digest()
        found = self._numbers.get(digest)
        if found is None:
            found = self._numbers[digest] = len(self.arrays)
            self.arrays.append(data)
        return found

    def objects(self) -> tuple[dict[str, Native], dict[str, str]]:
        """Return all object code by symbol, and the symbol of each runtime function by its name."""
        needed = {*runtime_functions(*MACHINE_FUNCTIONS)}
        if not self._has_scalars:
            needed.remove(runtime_function(run_scalars))
        if self._has_messages:
            needed |= message_functions()
        for each in self._collectives:
            needed |= {*collective_functions(each), runtime_function(run_messages)}
        runtime = {key: native for key, native in used_functions().items() if native in needed}
        objects = {each.name: each for each in (*runtime.values(), *self._kernels.values())}
        return objects, {key: native.name for key, native in runtime.items()}

    def text(self, module: ModuleOp) -> str:
        """Return the text of a module with large constants replaced by parameter names."""
        named = module.clone()
        for attributes in _attributes(named):
            for name, value in attributes.items():
                if isinstance(value, DenseIntOrFPElementsAttr):
                    constant = cast("DenseIntOrFPElementsAttr[Any]", value)
                    if len(constant.data.data) >= LARGE:
                        number = self.constant(memoryview(constant.data.data))
                        key = StringAttr(str(number))
                        attributes[name] = NamedParameterAttr(
                            StringAttr(SCOPE), key, NoneAttr(), constant.type
                        )
        return print_operation(named, PrintStyle(generic=True, locations=True))


def restore_constants(module: ModuleOp, constant: Callable[[int], memoryview]) -> None:
    """Replace the parameter names in a module read from a file by the constants they stand for.

    `constant` returns the bytes of the constant with a number. Raises ValueError if the constant is
    not of tensor type; exceptions of `constant` pass through.
    """
    for attributes in _attributes(module):
        for name, value in attributes.items():
            if not isinstance(value, NamedParameter) or value.scope != StringAttr(SCOPE):
                continue
            kind = value.type
            if not isinstance(kind, TensorType):
                raise ValueError(f"a constant of type {kind}")
            data = BytesAttr(bytes(constant(int(value.key.data))))
            tensor = cast("TensorType[AnyDenseElement]", kind)
            attributes[name] = DenseIntOrFPElementsAttr(tensor, data)


def _attributes(module: ModuleOp) -> Iterator[dict[str, Attribute]]:
    for operation in module.walk():
        yield operation.properties
        yield operation.attributes


def _placed(function: Operation, boundary: Boundary | None, grid: Grid) -> Any:
    """Return the sharding of an argument or result as data, `None` if it is not a shard.

    Raises _NeedsPython for too many devices, and for shards with halos or partial sums.
    """
    if grid.device_count() > MAX_DEVICES:
        raise _NeedsPython(function, f"runs on more than {MAX_DEVICES} devices")
    if boundary is None:
        return None
    sharding = boundary_sharding(function, grid, boundary, boundary.sharding.rank)
    if sharding.halos or sharding.partials:
        raise _NeedsPython(function, f"takes or returns a tensor by {sharding}")
    return sharding_data(sharding)


def _user(program: HostProgram, number: int) -> Operation:
    """Return the operation that a call of Python is lowered from."""
    for function in program.functions:
        for instruction in function.instructions:
            is_call = instruction.kind.name in ("python", "exchange")
            if is_call and instruction.operands[0] == number:
                assert isinstance(instruction.source, Operation)
                return instruction.source
    raise ValueError(f"nothing calls Python function {number}")
