"""Sparse conditional constant propagation: constants through branches that may be taken."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import HasFolder
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...ir.value_flow import forwards
from ..manager.module_pass import module_pass

_CONSTANT = "arith.constant"
_CONDITIONAL = "cf.cond_br"
_IF, _YIELD = "scf.if", "scf.yield"


@module_pass("sccp")
def sccp(module: ModuleOp) -> None:
    """Replace values that are the same constant on all executable paths.

    Branches of `cf` and `scf.if` are analysed. Regions of other operations and calls may produce
    any value. An operation is constant if its folder returns a constant.
    """
    solver = _Solver()
    solver.enter(module.body)
    solver.solve()
    solver.replace()


@dataclass
class _Solver:
    """The lattice value of each SSA value: absent (unknown), a constant, or `None` (varying)."""

    values: dict[SSAValue, Attribute | None] = field(
        default_factory=dict[SSAValue, Attribute | None]
    )
    executable: set[Block] = field(default_factory=set[Block])
    waiting: list[Operation] = field(default_factory=list[Operation])

    def enter(self, region: Region) -> None:
        """Mark a region as executable, with unknown entry arguments."""
        if region.blocks:
            for argument in region.blocks[0].args:
                self.learn(argument, None)
            self.reach(region.blocks[0])

    def reach(self, block: Block) -> None:
        """Mark a block as executable."""
        if block not in self.executable:
            self.executable.add(block)
            self.waiting += block.ops

    def learn(self, value: SSAValue, constant: Attribute | None) -> None:
        """Join a constant, or `None` for varying, into the lattice value of an SSA value."""
        known = value in self.values
        if known and self.values[value] in (None, constant):
            return
        self.values[value] = None if known else constant
        self.waiting += (
            use.operation for use in value.uses if use.operation.parent in self.executable
        )

    def solve(self) -> None:
        """Visit ops until the fixpoint."""
        while self.waiting:
            self._visit(self.waiting.pop())

    def _visit(self, op: Operation) -> None:
        if any(operand not in self.values for operand in op.operands):
            return  # It is visited again once all operands have a lattice value.
        known = [self.values[operand] for operand in op.operands]
        if op.successors:
            self._branch(op, known)
        elif op.name == _YIELD and (parent := op.parent_op()) is not None and parent.name == _IF:
            for result, constant in zip(parent.results, known, strict=True):
                self.learn(result, constant)
        elif op.name == _IF:
            self._if(op, known[0])
        elif op.regions:
            for region in op.regions:
                self.enter(region)
            self._varies(op)
        else:
            self._fold(op, known)

    def _branch(self, op: Operation, known: list[Attribute | None]) -> None:
        passed = [known[first : first + len(inputs)] for first, inputs in forwards(op)]
        varies = [[None] * len(block.args) for block in op.successors]
        edges = list(zip(op.successors, passed or varies, strict=True))
        if op.name == _CONDITIONAL and (condition := _truth(known[0])) is not None:
            edges = edges[:1] if condition else edges[1:]
        for block, constants in edges:
            for argument, constant in zip(block.args, constants, strict=True):
                self.learn(argument, constant)
            self.reach(block)

    def _if(self, op: Operation, condition: Attribute | None) -> None:
        truth = _truth(condition)
        for region, runs in zip(op.regions, (truth is not False, truth is not True), strict=True):
            if runs:
                self.enter(region)

    def _varies(self, op: Operation) -> None:
        for result in op.results:
            self.learn(result, None)

    def _fold(self, op: Operation, known: list[Attribute | None]) -> None:
        """Call the folder of an op, with constants as operands."""
        if op.name == _CONSTANT:
            self.learn(op.results[0], op.properties["value"])
            return
        trait = op.get_trait(HasFolder)
        if trait is None:
            self._varies(op)
            return
        constants = {
            operand: constant
            for operand, value in zip(op.operands, known, strict=True)
            if (constant := _constant(value)) is not None
        }
        copy = op.clone({operand: constant.result for operand, constant in constants.items()})
        folded = trait.fold(copy)
        self.values.update({constant.result: constant.value for constant in constants.values()})
        for index, result in enumerate(op.results):
            found = None if folded is None else folded[index]
            self.learn(result, self.values.get(found) if isinstance(found, SSAValue) else found)
        copy.operands = ()
        for constant in constants.values():
            del self.values[constant.result]

    def replace(self) -> None:
        """Replace constant values by constants, and erase ops that become dead."""
        for value, known in self.values.items():
            owner = value.owner
            constant = _constant(known)
            if constant is None or not value.uses or getattr(owner, "name", "") == _CONSTANT:
                continue
            if isinstance(owner, Block):
                Rewriter.insert_op(constant, InsertPoint.at_start(owner))
                if isinstance(value, BlockArgument):
                    constant.location = value.location
            else:
                Rewriter.insert_op(constant, InsertPoint.before(owner))
                constant.location = owner.location
            constant.result.name_hint = value.name_hint
            value.replace_all_uses_with(constant.result)
            if isinstance(owner, Operation) and is_trivially_dead(owner):
                Rewriter.erase_op(owner)


def _truth(constant: Attribute | None) -> bool | None:
    return bool(constant.value.data) if isinstance(constant, IntegerAttr) else None


def _constant(value: Attribute | None) -> ConstantOp | None:
    """Return an `arith.constant`; `None` for attributes that it cannot hold."""
    if isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr):
        return ConstantOp(value)  # pyright: ignore
    return None
