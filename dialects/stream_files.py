"""Host memory and files as sources and targets of resources: how constants come onto devices."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from ..ir.syntax.resource_directives import ON_AFFINITY, Sized, at_offset, offset_for_length, placed
from ..ir.syntax.rows import ATTRIBUTES_WITH_KEYWORD, Operand, Syntax, Type
from .stream_async import INDEX, TIMEPOINT, PlacedOperation
from .stream_resources import AwaitOrColon
from .stream_types import FileType, ResourceType, TimepointType
from .util_types import BufferType


@irdl_op_definition
class ResourceTryMapOp(PlacedOperation):
    """Host memory as a resource without a copy, if the device can; whether it could comes first."""

    name = "stream.resource.try_map"
    source = operand_def(BufferType)
    source_offset = operand_def(INDEX)
    result_size = operand_def(INDEX)
    did_map = result_def(i1)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        *at_offset("source"),
        " : ",
        Type("source"),
        " -> ",
        Type("did_map"),
        ", ",
        Sized("result", "result_size"),
    )


@irdl_op_definition
class FileConstantOp(PlacedOperation):
    """A part of host memory as a file."""

    name = "stream.file.constant"
    source = operand_def(BufferType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    source_length = operand_def(INDEX)
    result = result_def(FileType)

    SYNTAX: ClassVar[Syntax] = placed(
        *offset_for_length("source"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        Type("result"),
    )


@irdl_op_definition
class FileReadOp(PlacedOperation):
    """Bytes of a file into a resource, from a timepoint on."""

    name = "stream.file.read"
    source = operand_def(FileType)
    source_offset = operand_def(i64)
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    length = operand_def(INDEX)
    await_timepoint = opt_operand_def(TIMEPOINT)
    result_timepoint = result_def(TimepointType)

    SYNTAX: ClassVar[Syntax] = (
        ON_AFFINITY,
        AwaitOrColon(),
        " ",
        *at_offset("source"),
        ", ",
        *at_offset("target"),
        ", ",
        Operand("length"),
        " : ",
        Type("source"),
        " -> ",
        Sized("target", "target_size"),
        " => ",
        Type("result_timepoint"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class FileWriteOp(PlacedOperation):
    """Bytes of a resource into a file, from a timepoint on."""

    name = "stream.file.write"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    target = operand_def(FileType)
    target_offset = operand_def(i64)
    length = operand_def(INDEX)
    await_timepoint = opt_operand_def(TIMEPOINT)
    result_timepoint = result_def(TimepointType)

    SYNTAX: ClassVar[Syntax] = (
        ON_AFFINITY,
        AwaitOrColon(),
        " ",
        *at_offset("source"),
        ", ",
        *at_offset("target"),
        ", ",
        Operand("length"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        Type("target"),
        " => ",
        Type("result_timepoint"),
        ATTRIBUTES_WITH_KEYWORD,
    )


STREAM_FILE_OPERATIONS: list[type[Operation]] = [
    FileConstantOp,
    FileReadOp,
    FileWriteOp,
    ResourceTryMapOp,
]
