"""Commands of the `stream` dialect: ordered work of devices on ranges of resources.

Everything that is verified apart from operand types is in the directives of `SYNTAX`
(`dispatch_directives.py`, `regions.py`, `ir/syntax/resource_directives.py`).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.directives import RegionBody
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.symbol_directives import EntryPoints, exports_of
from .dispatch_directives import DispatchResources
from .executables import ExecutableExportOp
from .regions import COMMAND_REGIONS, Captures, YieldOp, verify_commands, verify_parent
from .rows import CANONICALIZATION, PLACED, row
from .types import BindingType, ResourceType

CmdFlushOp = row(
    "cmd.flush",
    "target:any_resource target_size target_offset target_length | source_affinity:attr?",
    "( to($source_affinity))? $target[$target_offset for $target_length]"
    " : type($target){$target_size} attr-dict-with-keyword",
    doc="Make writes to a range visible to another device.",
)


CmdInvalidateOp = row(
    "cmd.invalidate",
    "target:any_resource target_size target_offset target_length | source_affinity:attr?",
    "( from($source_affinity))? $target[$target_offset for $target_length]"
    " : type($target){$target_size} attr-dict-with-keyword",
    doc="Make writes of another device to a range visible.",
)


CmdDiscardOp = row(
    "cmd.discard",
    "target:any_resource target_size target_offset target_length",
    " $target[$target_offset for $target_length] : type($target){$target_size}"
    " attr-dict-with-keyword",
    doc="Discard the contents of a range.",
)


CmdFillOp = row(
    "cmd.fill",
    "target:any_resource target_size target_offset target_length value:i8/i16/i32",
    " $value, $target[$target_offset for $target_length] : type($value)"
    " -> type($target){$target_size} attr-dict-with-keyword",
    doc="Fill a range with a repeated pattern.",
)


CmdCopyOp = row(
    "cmd.copy",
    "source:any_resource source_size source_offset target:any_resource target_size target_offset"
    " length",
    " $source[$source_offset], $target[$target_offset], $length"
    " : type($source){$source_size} -> type($target){$target_size} attr-dict-with-keyword",
    doc="Copy a range of a resource to another.",
)


@irdl_op_definition
class CmdDispatchOp(SyntaxOperation):
    """Dispatch a kernel on ranges of resources, with scalar uniform operands.

    The verifier asks that the numbers of resources and the types of uniform operands match the
    arguments of the exported function.
    """

    name = "stream.cmd.dispatch"
    workload = var_operand_def(INDEX)
    entry_points = prop_def(ArrayAttr[SymbolRefAttr])
    uniform_operands = var_operand_def()
    resources = var_operand_def(ResourceType)
    resource_sizes = var_operand_def(INDEX)
    resource_offsets = var_operand_def(INDEX)
    resource_lengths = var_operand_def(INDEX)
    resource_accesses = prop_def(ArrayAttr[IntegerAttr])
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(CANONICALIZATION)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        EntryPoints(),
        "([$workload])?(($uniform_operands : type($uniform_operands)))? ",
        DispatchResources(),
        " attr-dict-with-keyword",
    )

    def verify_(self) -> None:
        super().verify_()
        for point, export in exports_of(self):
            function = export.function() if isinstance(export, ExecutableExportOp) else None
            block = None if function is None else function.regions[0].blocks.first
            if block is None:
                continue
            numbers = [type_ for type_ in block.arg_types if not isinstance(type_, BindingType)]
            bindings = len(block.args) - len(numbers)
            if numbers != list(self.uniform_operands.types) or bindings != len(self.resources):
                given = ", ".join(map(str, self.uniform_operands.types))
                raise VerifyException(
                    f"{point} takes {bindings} bindings and ({', '.join(map(str, numbers))}), "
                    f"but is given {len(self.resources)} resources and ({given})"
                )


CmdExecuteOp = row(
    "cmd.execute",
    "resource_operands:any_resource* resource_operand_sizes* await_timepoint:timepoint?"
    " -> result_timepoint:timepoint | affinity:attr? once:unit? | body",
    (
        "( once$once)?( on($affinity))?( await($await_timepoint) =>)? with",
        Captures(),
        " => type($result_timepoint) attr-dict-with-keyword",
    ),
    traits=PLACED,
    verify=verify_commands,
    doc="""Execute commands once a timepoint is reached.

    The region sees only the captured resources; `result_timepoint` is reached when the commands
    have completed.
    """,
)


NESTED = (" ", RegionBody("body", terminator=False, end=YieldOp), " attr-dict-with-keyword")


def _verify_nested(operation: Operation) -> None:
    verify_parent(operation, COMMAND_REGIONS)
    verify_commands(operation)


CmdSerialOp = row(
    "cmd.serial",
    "|  | body",
    NESTED,
    verify=_verify_nested,
    doc="Execute commands one after another.",
)

CmdConcurrentOp = row(
    "cmd.concurrent",
    "|  | body",
    NESTED,
    verify=_verify_nested,
    doc="Execute commands that may run concurrently.",
)
