"""Give kernels each number once, and none that is the same constant wherever they are run.

    stream.cmd.dispatch @ex::@f(%n, %c4, %n : index, index, index) {...}
    stream.cmd.dispatch @ex::@f(%m, %c4, %m : index, index, index) {...}

run a kernel that takes one number: `%c4` is a constant of the kernel, and the third number is the
first. Kernels that one dispatch chooses from are given the same numbers, so they change together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DictionaryAttr, IndexType, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.stream.commands import CmdDispatchOp
from ...ir.attribute_access import boundary_attributes
from ...ir.host_programs import host_operations
from ...ir.locations import located_builder
from ...ir.symbols import root_symbol
from .kernels.exports import Kernel, Kernels, entry_points
from .kernels.uniform_operands import replace_uniform_operands, retype_kernel, uniform_arguments

Replacement = int | ConstantOp | None
"""What a number of a kernel is: another number of it, a constant, or itself."""


@dataclass(frozen=True)
class FoldUniformOperandsPass(ModulePass):
    """Drop numbers of kernels that are constants or given twice."""

    name = "iree-stream-fold-uniform-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = Kernels(op)
        groups: dict[Operation, _Group] = {}
        for dispatch in host_operations(op):
            if not isinstance(dispatch, CmdDispatchOp):
                continue
            group = _Group([dispatch], [])
            for entry in entry_points(dispatch):
                kernel = kernels.of_entry_point(entry, dispatch)
                group.add(kernel, None if kernel is None else groups.get(kernel.function))
            for function in group.functions:
                groups[function] = group
        for group in dict.fromkeys(groups.values()):
            group.fold()


@dataclass(eq=False)
class _Group:
    """Dispatches, and the kernels that they choose from."""

    dispatches: list[CmdDispatchOp]
    functions: list[Operation]
    known: bool = True
    """Whether all that calls the kernels, and all kernels, are seen."""

    def add(self, kernel: Kernel | None, other: _Group | None) -> None:
        """Take in a kernel, and all that is run in its place elsewhere."""
        if kernel is None:
            self.known = False
        elif other is not None and other is not self:
            self.dispatches += [each for each in other.dispatches if each not in self.dispatches]
            self.functions += [each for each in other.functions if each not in self.functions]
            self.known &= other.known
        elif kernel.function not in self.functions:
            self.functions.append(kernel.function)
            self.known &= not _is_called(kernel)

    def fold(self) -> None:
        blocks = [function.regions[0].blocks.first for function in self.functions]
        entries = [block for block in blocks if block is not None and block.first_op is not None]
        counts = {len(each.uniform_operands) for each in self.dispatches}
        counts |= {len(uniform_arguments(block)) for block in entries}
        if not self.known or len(entries) != len(self.functions) or len(counts) != 1:
            return
        replacements = _replacements([each.uniform_operands for each in self.dispatches])
        if not any(each is not None for each in replacements):
            return
        for function, block in zip(self.functions, entries, strict=True):
            _drop_arguments(function, block, replacements)
        for dispatch in self.dispatches:
            pairs = zip(dispatch.uniform_operands, replacements, strict=True)
            replace_uniform_operands(dispatch, [each for each, other in pairs if other is None])


def _is_called(kernel: Kernel) -> bool:
    """Whether code of the executable calls a kernel, too."""
    name = root_symbol(kernel.function, "sym_name")
    return any(root_symbol(each, "callee") == name for each in kernel.executable.walk())


def _replacements(sites: Sequence[Sequence[SSAValue]]) -> list[Replacement]:
    columns = list(zip(*sites, strict=True))
    found: list[Replacement] = []
    for number, column in enumerate(columns):
        constants = [_constant(value) for value in column]
        first = constants[0]
        if first is not None and all(
            each is not None and each.value == first.value for each in constants
        ):
            found.append(first)
        else:
            # What it is the same as may not be a constant: both would be.
            earlier = columns.index(column)
            found.append(earlier if earlier < number else None)
    return found


def _constant(value: SSAValue) -> ConstantOp | None:
    """The constant that an integer or index is; floats stay, as in IREE."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
        return value.op if isinstance(value.type, IntegerType | IndexType) else None
    return None


def _drop_arguments(function: Operation, block: Block, replacements: list[Replacement]) -> None:
    """Put what they are in the place of a kernel's arguments."""
    told = [boundary_attributes(function, "arg_attrs", each.index) for each in block.args]
    numbers = uniform_arguments(block)
    builder = located_builder(InsertPoint.at_start(block), function)
    dropped: list[BlockArgument] = []
    for argument, replacement in zip(numbers, replacements, strict=True):
        if isinstance(replacement, ConstantOp):
            argument.replace_all_uses_with(builder.insert(replacement.clone()).result)
        elif replacement is not None:
            argument.replace_all_uses_with(numbers[replacement])
        else:
            continue
        dropped.append(argument)
    gone = {argument.index for argument in dropped}
    kept: list[Attribute] = [
        DictionaryAttr(entry) for index, entry in enumerate(told) if index not in gone
    ]
    for argument in dropped:
        block.erase_arg(argument)
    retype_kernel(function, block, kept)
