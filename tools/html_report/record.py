"""Record the data of a report while passes run."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError, Remark
from ...ir.nesting_limits import deep_recursion
from ...ir.regions import outermost
from ...ir.text.print_style import PrintStyle
from ...ir.text.printer import ModulePrinter
from ...passes.encoding.encoding_report import EncodedTensor, encoded_tensors
from ...passes.manager.pass_manager import Observer
from ...passes.sharding.annotations.placed_values import PlacedGroup, placed_groups
from ...passes.sharding.cost.collective_traffic import bytes_sent
from ...passes.sharding.cost.cost_report import module_costs
from ...passes.sharding.cost.program_cost import Cost
from ...sharding.collective_rows import COLLECTIVES, RECV
from ..diagnostics import position_of, positions_of_location
from .graph import Node, function_graphs

MAX_OPERATIONS = 20_000
"""Costs of larger programs are not computed at every stage."""

LONGEST_LINE = 2_000
"""The maximum length of a line shown; constants may have millions of characters."""


@dataclass(frozen=True, slots=True)
class RecordedRemark:
    """A remark of a pass."""

    category: str
    message: str
    place: str


@dataclass(slots=True)
class RecordedStage:
    """The program after a pass."""

    name: str
    lines: list[str]
    places: dict[int, list[str]]
    """The input positions of each line's operation, by line number."""
    sends: dict[int, tuple[str, float | None]]
    """The collective in a line and the bytes that a device sends, by line number."""
    shardings: list[PlacedGroup]
    costs: dict[str, Cost]
    graphs: dict[str, list[Node]]
    layouts: list[EncodedTensor]
    remarks: list[RecordedRemark] = field(default_factory=list[RecordedRemark])


class StageRecorder(Observer):
    """Records the program before the pipeline and after each pass, and remarks."""

    def __init__(self, module: ModuleOp) -> None:
        self.stages = [_recorded("input", module)]
        self._remarks: list[RecordedRemark] = []

    def remark(self, remark: Remark) -> None:
        """Record a remark for the pass that is running."""
        notes = [f" ({note.message})" for note in remark.notes]
        message = f"{remark.message}{''.join(notes)}"
        found = RecordedRemark(remark.category, message, str(position_of(remark.operation) or ""))
        if found not in self._remarks:
            self._remarks.append(found)

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Record the program after the pass."""
        root = outermost(operation)
        if isinstance(root, ModuleOp):
            symbol = symbol_name(operation) if operation is not root else None
            name = f"{current.name} on @{symbol}" if symbol else current.name
            self.stages.append(_recorded(name, root))
            self.stages[-1].remarks, self._remarks = self._remarks, []


class _LinePrinter(ModulePrinter):
    """A printer that records the line of each operation."""

    def __init__(self) -> None:
        super().__init__(PrintStyle(hex_larger=16))
        self._main = self._text
        self.line = 0
        """The number of complete lines."""
        self.operations: list[tuple[int, Operation]] = []

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        before = self.line
        super().print_string(text, indent=indent)
        if "\n" in text and self._text is self._main and self.line == before:
            self.line += text.count("\n")

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        super()._print_new_line(indent, print_message)
        self.line += self._text is self._main

    def print_op(self, op: Operation) -> None:
        self.operations.append((self.line, op))
        super().print_op(op)


def _recorded(name: str, module: ModuleOp) -> RecordedStage:
    printer = _LinePrinter()
    with deep_recursion():
        printer.print_op(module)
    text = printer.finish()
    lines = [line[:LONGEST_LINE] for line in text.rstrip("\n").split("\n")]
    # Alias definitions precede the program.
    above = text.count("\n") - printer.line
    places: dict[int, list[str]] = {}
    sends: dict[int, tuple[str, float | None]] = {}
    for line, operation in printer.operations:
        found = list(dict.fromkeys(map(str, positions_of_location(operation.location))))
        if found:
            places[line + above] = found
        if operation.name in COLLECTIVES and operation.name != RECV.operation:
            sends[line + above] = operation.name, _sent(operation)
    begins = {operation: line + above for line, operation in printer.operations}
    return RecordedStage(
        name,
        lines,
        places,
        sends,
        *_measured(module, len(printer.operations)),
        function_graphs(module, begins),
        _layouts(module) if "#iree_encoding" in text else [],
    )


def _layouts(module: ModuleOp) -> list[EncodedTensor]:
    try:
        return list(encoded_tensors(module))
    except (OperationError, VerifyException, ValueError):
        return []


def _measured(module: ModuleOp, size: int) -> tuple[list[PlacedGroup], dict[str, Cost]]:
    """Return shardings and costs, as far as they can be computed."""
    shardings: list[PlacedGroup] = []
    costs: dict[str, Cost] = {}
    try:
        shardings = placed_groups(module)
        if size <= MAX_OPERATIONS:
            costs = module_costs(module)
    except (OperationError, VerifyException):
        pass  # Between two passes, a program may be in a state that only the next pass understands.
    return shardings, costs


def _sent(operation: Operation) -> float | None:
    try:
        return bytes_sent(operation)
    except (OperationError, VerifyException):
        return None
