"""Load and store each global of a function as rarely as its code allows.

    %0 = util.global.load @a               %0 = util.global.load @a
    %1 = arith.addi %0, %n                 %1 = arith.addi %0, %n
    util.global.store %1, @a         =>    %2 = arith.muli %1, %1
    %2 = util.global.load @a               util.global.store %2, @a
    %3 = arith.muli %2, %2                 util.call @g()
    util.global.store %3, @a
    util.call @g()

Globals that are never changed are loaded once, where the function starts. Of others, a block loads
the value before it uses or changes it, and stores the last one. Calls, and ops whose regions access
the global, separate what comes before them from what comes after.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS, GLOBAL_LOAD, GLOBAL_STORE, INITIALIZER
from ...ir.symbols import root_symbol, symbols_in
from ..manager.module_pass import module_pass
from .global_accesses import accessed_in


@module_pass("iree-util-simplify-global-accesses")
def simplify_global_accesses(module: ModuleOp) -> None:
    """Load and store each global of a function as rarely as its code allows."""
    constant = {
        name
        for name, variable in symbols_in(module, ("util.global",)).items()
        if "is_mutable" not in variable.properties
    }
    for function in module.body.block.ops:
        if function.name not in FUNCTIONS_AND_INITIALIZERS:
            continue
        unchanging = constant if function.name != INITIALIZER else frozenset[str]()
        (body,) = function.regions
        _hoist_loads(body, unchanging)
        for block in body.blocks:
            for run in _runs(block, unchanging):
                run.simplify(block)


def _hoist_loads(body: Region, unchanging: Container[str]) -> None:
    """Load each unchanging global once with each of its types, at the start of a function."""
    loads: dict[tuple[str, Attribute], Operation] = {}
    for block in body.blocks:
        for op in list(block.ops):
            name = root_symbol(op, "global")
            if op.name != GLOBAL_LOAD or name not in unchanging:
                continue
            key = name, op.results[0].type
            if key in loads:
                Rewriter.replace_op(op, [], loads[key].results)
                continue
            _move(op, _start(body.blocks[0], next(reversed(loads.values()), None)))
            loads[key] = op


@dataclass(eq=False)
class _Run:
    """Accesses to one global in a block, with nothing between them that may access it, too.

    The run starts after the op `after`, or with the block, and ends before the op `before`.
    """

    name: str
    after: Operation | None
    before: Operation
    accesses: list[Operation] = field(default_factory=list[Operation])

    def simplify(self, block: Block) -> None:
        """Keep a load at the start, if the run starts with one, and one store at the end.

        Accesses of different types, as `tensor<?xf32>` and `tensor<4xf32>`, are unchanged.
        """
        if len({value.type for op in self.accesses for value in (*op.operands, *op.results)}) > 1:
            return
        value: SSAValue | None = None
        store: Operation | None = None
        for op in self.accesses:
            if op.name == GLOBAL_STORE:
                if store is not None:
                    Rewriter.erase_op(store)
                store, value = op, op.operands[0]
            elif value is None:
                value = op.results[0]
                _move(op, _start(block, self.after))
            else:
                Rewriter.replace_op(op, [], [value])
        if store is not None:
            _move(store, InsertPoint.before(self.before))


def _runs(block: Block, unchanging: Container[str]) -> list[_Run]:
    """Return the runs of a block; loads of unchanging globals are in none."""
    runs: list[_Run] = []
    current: dict[str, _Run] = {}
    start: Operation | None = None
    starts: dict[str, Operation] = {}
    for op in block.ops:
        if op.name in (GLOBAL_LOAD, GLOBAL_STORE):
            name = root_symbol(op, "global")
            if op.name == GLOBAL_STORE or name not in unchanging:
                run = current.setdefault(name, _Run(name, starts.get(name, start), op))
                run.accesses.append(op)
            continue
        touched = None if op is block.last_op else accessed_in(op)
        for name in list(current) if touched is None else touched & current.keys():
            run = current.pop(name)
            run.before = op
            runs.append(run)
        if touched is None:
            start = op
            starts.clear()
        else:
            starts.update(dict.fromkeys(touched, op))
    return sorted(runs, key=lambda run: run.name)


def _start(block: Block, after: Operation | None) -> InsertPoint:
    return InsertPoint.at_start(block) if after is None else InsertPoint.after(after)


def _move(op: Operation, point: InsertPoint) -> None:
    if point.insert_before is not op:
        op.detach()
        Rewriter.insert_op(op, point)
