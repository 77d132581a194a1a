"""Lower a function block by block and step by step, and end the lifetime of each value.

A region borrows the values it captures, without a reference, because it may run several times
(`value_lowering.py` describes ownership).

The files of this package register the functions that lower operations:

- `@lowers("scf.for")`: `function(lowering, op)`, which binds the results;
- `@lowers_branch("cf.br")`: `function(lowering, op, graph)`, for terminators with successors.

Four keys are not names of operations: `kernel` lowers a step that a kernel executes, `start` a step
that begins a collective, `python` a step in the interpreter, and `other` an operation that has no
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.attribute_access import operation_name
from ...ir.regions import captured, reachable_blocks
from ...ir.rules import Rules
from ...ir.value_flow import given_to_successors
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.program import HostFunction, Register
from ..kernels.schedule import Step
from .liveness import BlockLiveness
from .program_lowering import ProgramLowering
from .value_lowering import ValueLowering
from .values import (
    AlwaysFails,
    HostValue,
    NotLowered,
    flatten_all,
    received,
    register_count,
    unflatten,
)

Rule = Callable[[Any, Any], None]
BranchRule = Callable[[Any, Operation, Any], None]
ExitRule = Callable[[Operation, Sequence[HostValue]], None]
"""Called at the end of a region with the terminator and its operands."""

lowers = Rules[Rule]()
lowers_branch = Rules[BranchRule]()

_MODULES = (
    "collective_steps",
    "control_flow",
    "executable_steps",
    "global_steps",
    "kernel_steps",
    "python_steps",
    "scalar_steps",
    "buffer_view_steps",
    "stream_steps",
    "tensor_steps",
)
"""The files of this package that register functions."""


def load_rules() -> None:
    """Import the files in `_MODULES`, which fills the tables."""
    for module in _MODULES:
        import_module(f".{module}", __package__)


class FunctionLowering(ValueLowering):
    """The state of one function while it is lowered."""

    def __init__(self, program: ProgramLowering, function: HostFunction) -> None:
        super().__init__(program, function)
        self.fresh: frozenset[SSAValue] = frozenset()
        """Arguments of an executable's function that are new buffers, not accessed elsewhere."""
        self.tied: frozenset[SSAValue] = frozenset()
        """Arguments of an executable's function that are tied: read first, then overwritten."""
        self.workgroup: Mapping[str, Sequence[IndexOrInt]] | None = None
        """The `id`, `count` and `size` of workgroups, in a kernel that runs once for each."""

    def lower_function(
        self, op: Operation, types: Sequence[Attribute], results_: Sequence[Attribute]
    ) -> None:
        """Lower the body of a function whose arguments and results are passed as given types.

        Buffer views are passed as tensors. Raises NotLowered if the function has no body.
        """
        region = op.regions[0]
        entry = region.blocks.first
        if entry is None:
            raise NotLowered(op, "has no body to run")
        self.builder.source = op
        arguments = [
            [self.builder.argument() for _ in range(register_count(each, op))] for each in types
        ]
        contents = [
            received(words, argument, op)
            for words, argument in zip(arguments, entry.args, strict=True)
        ]
        results = [
            self.builder.result() for each in results_ for _ in range(register_count(each, op))
        ]

        def leave(end: Operation, values: Sequence[HostValue]) -> None:
            self.builder.move_all(results, flatten_all(values, results_, end))
            self.builder.emit("return")

        self.lower_region(region, contents, leave)
        self.builder.finish(self.program.accepts)

    def lower_region(self, region: Region, words: Sequence[HostValue], leave: ExitRule) -> None:
        """Lower a region; `words` are its entry block's arguments, one by one or flattened.

        At each terminator that leaves the region, `leave` is called with the terminator and its
        operands, each of which carries a reference. Raises NotLowered for an operation without host
        code.
        """
        self._forget(region)
        outer, self.owned = self.owned, set()
        dying = self.dying
        liveness = self.program.liveness(region)
        blocks = reachable_blocks(region)
        if blocks:
            numbers = [word for word in words if isinstance(word, int | Register)]
            if len(numbers) < len(words):
                for argument, content in zip(blocks[0].args, words, strict=True):
                    self.bind(argument, content)
            else:
                self._bind_arguments(blocks[0], numbers)
            self._lower_blocks(blocks, liveness, leave)
        self.owned, self.dying = outer, dying

    def _forget(self, region: Region) -> None:
        """Forget the values of a region: a kernel's body is lowered again for each dispatch."""
        for block in region.blocks:
            self.forget(block.args)
            for operation in block.ops:
                self.forget(operation.results)

    def _bind_arguments(self, block: Block, words: Sequence[IndexOrInt]) -> None:
        rest = list(words)
        for argument in block.args:
            op = block.parent_op()
            count = register_count(argument.type, op) if op else 1
            held = [self.builder.hold(word) for word in rest[:count]]
            if op is not None:
                self.bind(argument, unflatten(held, argument.type, op))
            del rest[:count]

    def _lower_blocks(
        self, blocks: Sequence[Block], liveness: dict[Block, BlockLiveness], leave: ExitRule
    ) -> None:
        """Lower blocks; the first is not a branch target."""
        entry, *others = blocks
        if not others:
            self._lower_block(entry, liveness[entry], leave, None)
            return
        graph = BlockGraph(self, others, liveness)
        with self.builder.scope():
            self._lower_block(entry, liveness[entry], leave, graph)
        for block in others:
            with self.builder.scope():
                self.builder.bind_label(graph.labels[block])
                self.owned = {v for v in liveness[block].live_in if v in self.values}
                self._bind_arguments(block, graph.registers[block])
                self._lower_block(block, liveness[block], leave, graph)

    def _lower_block(
        self, block: Block, liveness: BlockLiveness, leave: ExitRule, graph: BlockGraph | None
    ) -> None:
        schedule = self.program.schedule(block)
        for value in liveness.unread:
            self.release(value)
        for step, dead in zip(schedule.steps, liveness.dead, strict=False):
            self.builder.source = step.operation
            # Values captured by the operation's regions stay alive while the regions run.
            self.dying = frozenset(dead).difference(captured(step.operation))
            try:
                self._lower_step(step)
            except AlwaysFails as error:
                self.fail_with(error)
                return
            self.dying = frozenset(dead)
            for value in dead:
                self.release(value)
        end = schedule.terminator
        if end is None:
            return
        self.builder.source = end
        branch = lowers_branch.get(operation_name(end))
        if branch is not None and graph is not None:
            branch(self, end, graph)
            return
        self.dying = frozenset(self.owned).difference(captured(end))
        values = [self.acquire(operand) for operand in end.operands]
        if end.regions:
            # The regions of the terminator read values of the block.
            leave(end, values)
            self.release_all()
        else:
            self.release_all()
            leave(end, values)

    def _lower_step(self, step: Step) -> None:
        if step.starts:
            lowers["start"](self, step.operation)
        elif step.is_host:
            self.lower_host(step.operation)
        elif step.kernel is not None:
            lowers["kernel"](self, step)
        else:
            self.infer_shapes(step.operation)

    def lower_host(self, op: Operation) -> None:
        """Lower an operation without a kernel by its rule."""
        name = operation_name(op)
        lowers.get(name, lowers["other"])(self, op)

    @contextmanager
    def branch(self) -> Generator[None]:
        """Lower code that may be skipped: it does not change which values are owned after it."""
        owned = set(self.owned)
        with self.builder.scope():
            yield
        self.owned = owned


class BlockGraph:
    """The blocks of a region with branches: a label and argument registers for each."""

    def __init__(
        self,
        lowering: FunctionLowering,
        blocks: Sequence[Block],
        liveness: dict[Block, BlockLiveness],
    ) -> None:
        builder = lowering.builder
        self._lowering = lowering
        self._liveness = liveness
        self.labels = {block: builder.label() for block in blocks}
        self.registers = {
            block: [
                builder.register()
                for argument in block.args
                for _ in range(register_count(argument.type, _owner(block)))
            ]
            for block in blocks
        }

    def go(self, op: Operation, number: int) -> None:
        """Branch from the current block to one of the successors of a terminator.

        Raises NotLowered for a branch to the region's first block.
        """
        lowering, block = self._lowering, op.successors[number]
        arguments = given_to_successors(op, op.operands)[number]
        if block not in self.labels:
            raise NotLowered(op, "branches to the first block of its region")
        alive = self._liveness[block].live_in
        with lowering.branch():
            lowering.dying = frozenset(lowering.owned - alive)
            types = [value.type for value in arguments]
            words = flatten_all(map(lowering.acquire, arguments), types, op)
            lowering.release_all(alive)
            lowering.builder.move_all(self.registers[block], words)
            lowering.builder.jump(self.labels[block])


def _owner(block: Block) -> Operation:
    op = block.parent_op()
    if op is None:
        raise ValueError("a block outside of every operation")
    return op
