"""Report static statistics: transfers, dispatches and memory that a program uses.

Values that are only known at run time count as 0 bytes and are shown as `?` in workloads. They make
the sum of transient storage a minimum.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, ShapedType
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...dialects.stream.commands import CmdDispatchOp, CmdExecuteOp
from ...dialects.stream.executables import ExecutableOp
from ...dialects.stream.types import lifetime_of
from ...ir.attribute_access import constant_integer, symbol_name
from ...ir.diagnostics import OperationError, write_pass_output
from ...ir.host_programs import host_operations
from ...ir.regions import enclosing
from ...ir.syntax.assembly_format import values
from .kernels.exports import entry_points

RULE, THIN_RULE = (f"//{line * 76}//" for line in "=-")
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class DumpStatisticsPass(ModulePass):
    """Print how many transfers and dispatches a program has, and how much memory it uses."""

    name = "iree-stream-dump-statistics"

    output_format: Literal["pretty", "verbose", "csv"] = "pretty"
    """`pretty` for people, `csv` for spreadsheets; `verbose` is the same as `pretty`."""

    output_file: str = ""
    """The file to write to; `-` for standard output, empty for standard error."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = ProgramStatistics.of(op)
        lines = _csv(statistics) if self.output_format == "csv" else _pretty(statistics)
        text = "\n".join(lines) + "\n"
        if not self.output_file:
            write_pass_output(text)
        elif self.output_file == "-":
            sys.stdout.write(text)
        else:
            try:
                Path(self.output_file).write_text(text, encoding="utf-8")
            except OSError as problem:
                reason = problem.strerror or problem
                message = f"statistics cannot be written to '{self.output_file}': {reason}"
                raise OperationError(op, message) from problem


@dataclass
class ProgramStatistics:
    """The resources of a program and the operations that use them. Sizes are in bytes."""

    constants: int = 0
    variables: int = 0
    constant_bytes: int = 0
    transient_bytes: int = 0
    transient_is_open: bool = False
    """Whether the size of some transient storage is not known."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """Number of operations in the host program by name."""
    executes: list[Operation] = field(default_factory=list[Operation])
    executables: list[ExecutableOp] = field(default_factory=list[ExecutableOp])

    @classmethod
    def of(cls, module: ModuleOp) -> ProgramStatistics:
        statistics = cls()
        statistics.executables = [
            each for each in module.body.block.ops if isinstance(each, ExecutableOp)
        ]
        for operation in host_operations(module):
            statistics._add(operation)
        return statistics

    def count(self, name: str) -> int:
        """Return the number of operations `stream.NAME`."""
        return self.counts[f"stream.{name}"]

    def _add(self, operation: Operation) -> None:
        self.counts[operation.name] += 1
        if operation.name == "util.global":
            lifetime = lifetime_of(operation.properties["type"])
            self.constants += lifetime == "constant"
            self.variables += lifetime == "variable"
        elif operation.name == "util.buffer.constant":
            self.constant_bytes += _bytes_of(operation)
        elif operation.name == "stream.resource.alloca":
            size = constant_integer(values(operation, "storage_size")[0])
            self.transient_bytes += size or 0
            self.transient_is_open |= size is None
        elif isinstance(operation, CmdExecuteOp):
            self.executes.append(operation)


def _bytes_of(constant: Operation) -> int:
    """Return the size of a constant in bytes; 0 if its type does not give it."""
    value = constant.properties["value"]
    type_ = getattr(value, "type", None)
    if not isinstance(type_, ShapedType) or not type_.has_static_shape():
        return 0
    width = getattr(getattr(type_, "element_type", None), "bitwidth", 0)
    return prod(type_.get_shape()) * (-(-width // 8))


def _pretty(statistics: ProgramStatistics) -> Iterator[str]:
    yield from _heading("Aggregate Statistics (static, whole-program)")
    minimum = "minimum " if statistics.transient_is_open else ""
    transient, constant = statistics.transient_bytes, statistics.constant_bytes
    rows = (
        ("Constants", f"{statistics.constants}, estimated storage of {_size(constant)}"),
        ("Variables", f"{statistics.variables}, (TBD) {_size(0)}"),
        ("D->H Syncs", str(statistics.count("timepoint.await"))),
        (
            "Submissions",
            f"{len(statistics.executes)}, using cumulative {minimum}{_size(transient)}",
        ),
        ("DMA Fills", str(statistics.count("cmd.fill"))),
        ("DMA Copies", str(statistics.count("cmd.copy"))),
        ("Collectives", str(statistics.count("cmd.collective"))),
        ("Dispatches", str(statistics.count("cmd.dispatch"))),
        ("Async Calls", str(statistics.count("cmd.call"))),
        ("Executables", f"{len(statistics.executables)}{_reuse(statistics)}"),
    )
    yield "//"
    yield from (f"// {name:>11}: {text}" for name, text in rows)
    yield "//"
    for title in ("Constants / Variables", "Synchronization", "Streams"):
        yield from (*_heading(title), *_NOTHING_MORE)
    for execute in statistics.executes:
        parent = execute.parent_op()
        title = f"stream.cmd.execute {'' if parent is None else parent.name}"
        yield from (*_heading(title, THIN_RULE), f"// {_path(execute)}", *_NOTHING_MORE)
    yield from (*_heading("Executables"), *_NOTHING_MORE)
    for executable in statistics.executables:
        for export in executable.exports():
            title = f"{export.name} @{symbol_name(executable)}::@{export.sym_name.data}"
            path = _path(export.function() or export)
            yield from (*_heading(title, THIN_RULE), f"// {path}", *_NOTHING_MORE[:2])
        yield "//"


_NOTHING_MORE = ("//", "// TODO", "//")
"""Placeholder lines that iree-opt prints as well."""


def _heading(title: str, rule: str = RULE) -> tuple[str, str, str]:
    return rule, f"// {title}", rule


def _size(count: int) -> str:
    return f"{count} B ({count / MEBIBYTE:.2f} MiB)"


def _reuse(statistics: ProgramStatistics) -> str:
    """Return the share of dispatches beyond one per executable, as text."""
    dispatches = statistics.count("cmd.dispatch")
    if not dispatches:
        return ""
    return f", {round((1 - len(statistics.executables) / dispatches) * 100)}% reuse"


def _path(operation: Operation) -> str:
    """Return the operations around an operation as text, outermost first."""
    scopes = [(scope.name, symbol_name(scope)) for scope in enclosing(operation)]
    return " > ".join(
        name if symbol is None else f"{name} @{symbol}" for name, symbol in reversed(scopes)
    )


def _csv(statistics: ProgramStatistics) -> Iterator[str]:
    yield from _csv_heading("Aggregate Statistics (static, whole-program)")
    columns = {
        "Constants": statistics.constants,
        "Constant Size": statistics.constant_bytes,
        "Variables": statistics.variables,
        "Variable Size": 0,
        "Awaits": statistics.count("timepoint.await"),
        "Submissions": len(statistics.executes),
        "Transient Size": statistics.transient_bytes,
        "Fills": statistics.count("cmd.fill"),
        "Copies": statistics.count("cmd.copy"),
        "Dispatches": statistics.count("cmd.dispatch"),
        "Async Calls": statistics.count("cmd.call"),
        "Executables": len(statistics.executables),
    }
    yield _quoted(columns)
    yield ",".join(map(str, columns.values()))
    yield ""
    yield from _csv_heading("Execution")
    for execute in statistics.executes:
        yield f"; {_path(execute)}"
        yield _quoted(_COMMAND_COLUMNS)
        yield from _commands(execute.regions[0].block, 0)
        yield ""


_COMMAND_COLUMNS = (
    "Depth",
    "Command",
    "Symbol",
    "Length",
    "Invocations",
    "Workload",
    "Operands",
    "Resources",
)


def _csv_heading(title: str) -> tuple[str, ...]:
    return ";", f"; {title}", ";", ""


def _quoted(names: Iterable[str]) -> str:
    return ",".join(f'"{name}"' for name in names)


def _commands(block: Block, depth: int) -> Iterator[str]:
    """Yield a row for each fill, copy and dispatch."""
    for command in block.ops:
        for region in command.regions:
            for inner in region.blocks:
                yield from _commands(inner, depth + 1)
        if command.name in ("stream.cmd.fill", "stream.cmd.copy"):
            name = command.name.rpartition(".")[2]
            lengths = (*values(command, "target_length"), *values(command, "length"))
            yield f'{depth},"{name}",,{constant_integer(lengths[0]) or 0},,,,'
        elif isinstance(command, CmdDispatchOp):
            numbers = [constant_integer(each) for each in command.workload]
            invocations = prod(1 if number is None else number for number in numbers)
            workload = ";".join("?" if number is None else str(number) for number in numbers)
            counts = f"{len(command.uniform_operands)},{len(command.resources)}"
            kernel = next(entry_points(command))
            yield f'{depth},"dispatch","{kernel}",,{invocations},"{workload}",{counts}'
