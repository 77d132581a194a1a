"""Whether commands wait for all that they must come after: the interpreter runs them in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from mesh_opt.dialects.stream.commands import CmdExecuteOp
from mesh_opt.dialects.stream.types import TimepointType
from mesh_opt.ir.syntax.assembly_format import values
from mesh_opt.ir.value_flow import value_flow
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

WRITES = 2


@dataclass
class Timeline:
    """What has been submitted, and what of it is known to be done."""

    submitted: list[tuple[Operation, SSAValue, bool]] = field(default_factory=list)
    """Operations, the resources they use, and whether they write to them."""
    before: dict[SSAValue, frozenset[Operation]] = field(default_factory=dict)
    """By timepoint what is done when it is reached."""
    done: frozenset[Operation] = frozenset()
    """What the host has waited for."""

    def check(self, block: Block) -> None:
        """Fail where an operation of a block may overtake one that uses the same bytes."""
        for operation in block.ops:
            waits = values(operation, "await_timepoint") if operation.name in WAITING else ()
            behind = self.done.union(*(self.before.get(each, frozenset()) for each in waits))
            if operation.name == "stream.timepoint.await":
                self.done = behind
            elif operation.name == "stream.timepoint.join":
                joined = (self.before.get(each, frozenset()) for each in operation.operands)
                self.before[operation.results[0]] = frozenset().union(*joined)
            elif operation.name in USES:
                for resource, writes in uses(operation).items():
                    for other, used, wrote in self.submitted:
                        if used is resource and (writes or wrote):
                            assert other in behind, f"{operation}\nmay overtake\n{other}"
                    self.submitted.append((operation, resource, writes))
                self.before[operation.results[-1]] = behind | {operation}
            elif operation.name != "stream.executable":
                self._check_regions(operation)

    def _check_regions(self, operation: Operation) -> None:
        """Check regions until it is known what is done before the timepoints that loops carry."""
        sources: dict[SSAValue, list[SSAValue]] = {}
        for source, target in value_flow(operation.walk()):
            sources.setdefault(target, []).append(source)
        blocks = [block for region in operation.regions for block in region.blocks]
        arguments = [each for block in blocks for each in block.args if each in sources]
        arguments = [each for each in arguments if each.type == TimepointType()]
        carried: dict[SSAValue, frozenset[Operation]] = {}
        while True:
            known = {**self.before, **carried}
            for block in blocks:
                for argument in set(arguments).intersection(block.args) - set(carried):
                    known[argument] = done_before(argument, sources, known)
                inner = Timeline(list(self.submitted), dict(known), self.done)
                inner.check(block)
                known |= inner.before
            found = {each: done_before(each, sources, known) for each in arguments}
            if found == carried:
                break
            carried = found
        for result in operation.results:
            self.before[result] = done_before(result, sources, known)


def done_before(
    value: SSAValue,
    sources: dict[SSAValue, list[SSAValue]],
    known: dict[SSAValue, frozenset[Operation]],
) -> frozenset[Operation]:
    """What is done when a timepoint is reached that may be any of those forwarded to it."""
    found = [known[source] for source in sources.get(value, ()) if source in known]
    return found[0].intersection(*found[1:]) if found else frozenset()


USES = frozenset({"stream.cmd.execute", "stream.resource.alloca", "stream.resource.dealloca"})
WAITING = USES | {"stream.timepoint.await"}


def uses(operation: Operation) -> dict[SSAValue, bool]:
    """The resources that an operation works on, and whether it writes to them."""
    if not isinstance(operation, CmdExecuteOp):
        return {
            root(value): True
            for value in (*operation.operands[:1], *operation.results[:1])
            if value.type.name == "stream.resource"
        }
    block = operation.body.block
    roots = [root(value) for value in operation.resource_operands]
    found = dict.fromkeys(roots, False)
    for command in block.walk():
        written: list[SSAValue] = []
        if command.name not in ("stream.cmd.flush", "stream.cmd.invalidate"):
            written = list(values(command, "target"))
        if command.name == "stream.cmd.dispatch":
            accesses = command.properties["resource_accesses"]
            assert isinstance(accesses, ArrayAttr)
            pairs = zip(values(command, "resources"), accesses, strict=True)
            written = [value for value, access in pairs if access.value.data & WRITES]
        for value in written:
            found[roots[block.args.index(value)]] = True
    return found


def root(value: SSAValue) -> SSAValue:
    """The resource that a value is."""
    while isinstance(value, OpResult) and value.op.name in (
        "stream.timepoint.await",
        "stream.resource.subview",
    ):
        value = value.op.operands[value.index]
    return value
