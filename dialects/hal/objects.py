"""Ops on the runtime objects of a program: allocators, buffers, channels, devices and fences."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Operation, OpResult
from xdsl.irdl import BaseAttr
from xdsl.parser import Parser
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import INDEX
from ...ir.syntax.keyword_attributes import KeywordIndex
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.rows import CREATES, PURE, READS, OneOf, Rows
from ...ir.syntax.typed_values import type_carried_by
from ..stream.rows import PLACED
from ..stream.types import KNOWN_LIFETIMES
from ..util.types import BufferType as HostBufferType
from . import bitfields  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .attributes import CollectiveAttr
from .interface import PipelineLayoutAttr
from .targets import DeviceType
from .types import (
    AllocatorType,
    BufferType,
    BufferViewType,
    ChannelType,
    CommandBufferType,
    ExecutableType,
    FenceType,
    FileType,
)

row = Rows(
    "hal",
    {
        "allocator": AllocatorType(),
        "bound": OneOf((BufferType(), INDEX)),
        "buffer": BufferType(),
        "channel": ChannelType(),
        "collective": CollectiveAttr,
        "commands": CommandBufferType(),
        "device": DeviceType(),
        "executable": ExecutableType(),
        "fence": FenceType(),
        "file": FileType(),
        "host": HostBufferType(),
        "layout": PipelineLayoutAttr,
        "names": ArrayAttr.constr(BaseAttr(StringAttr)),
        "view": BufferViewType(),
    },
)


class _WithNamedResults(SyntaxOperation):
    """An operation whose variadic results have a name each."""

    def result_groups(self) -> Sequence[Sequence[OpResult]]:
        """Return the results one by one."""
        return [(result,) for result in self.results]


DEVICES = Repeated(
    "($devices, $queue_affinities : type($devices), type($queue_affinities))",
    delimiter=Parser.Delimiter.SQUARE,
)
"""`[(%device, %queue : !hal.device, i64), ...]`."""

RESULT = " : type($result) attr-dict-with-keyword"
DEVICE = "<$device : type($device)>"
ON_DEVICE = " device($device : type($device))"
BUFFER = "<$buffer : type($buffer)>"
VIEW = "<$buffer_view : type($buffer_view)>"
CHANNEL = "<$channel : type($channel)>"
FENCE = "<$fence : type($fence)>"
INSTRUMENT = "[$buffer : type($buffer) for $workgroup_key]"

ReturnOp = row(
    "return",
    "operands_:any*",
    "( $operands_ : type($operands_))? attr-dict",
    traits=(IsTerminator(),),
)

FenceSignalOp = row(
    "fence.signal",
    "fence:fence",
    f"{FENCE} attr-dict-with-keyword",
    doc="Signal a fence.",
)


def _verify_query(query: Operation) -> None:
    default = query.properties.get("default_value")
    if default is not None and type_carried_by(default) != query.results[1].type:
        raise VerifyException("type mismatch between result and default value")


ROWS = (
    # Allocators.
    row(
        "allocator.allocate",
        "allocator:allocator queue_affinity:i64 memory_types:i32 buffer_usage:i32 result_size"
        " -> result:buffer",
        (
            "<$allocator : type($allocator)> affinity($queue_affinity) type(",
            "$memory_types) usage($buffer_usage)"
            " : type($result){$result_size} attr-dict-with-keyword",
        ),
    ),
    row(
        "allocator.import",
        "allocator:allocator queue_affinity:i64 memory_types:i32 buffer_usage:i32 source:host"
        " offset length -> did_import:i1 result:buffer",
        (
            "<$allocator : type($allocator)> source($source : type($source))[$offset, $length]"
            " affinity($queue_affinity) type(",
            "$memory_types) usage($buffer_usage)"
            " : type($did_import), type($result) attr-dict-with-keyword",
        ),
    ),
    row(
        "allocator.resolve_memory_properties",
        "-> memory_types:i32 buffer_usage:i32 | affinity:attr? lifetime:i32attr",
        (
            "( for($affinity))? lifetime(",
            KeywordIndex("lifetime", KNOWN_LIFETIMES, first=1),
            ") : type($memory_types), type($buffer_usage) attr-dict-with-keyword",
        ),
        traits=(*PURE, *PLACED),
    ),
    row(
        "allocator.select",
        "devices:device* queue_affinities:i64* memory_types:i32 buffer_usage:i32"
        " -> selected_device:device selected_queue_affinity:i64",
        (
            " from(",
            DEVICES,
            ") type(",
            "$memory_types) usage($buffer_usage)"
            " : type($selected_device), type($selected_queue_affinity) attr-dict-with-keyword",
        ),
        traits=PURE,
        same_sizes=True,
    ),
    row(
        "memory_type",
        "-> result:i32 | type:i32attr",
        "<memory-types($type)> attr-dict : type($result)",
        traits=PURE,
    ),
    row(
        "buffer_usage",
        "-> result:i32 | usage:i32attr",
        "<buffer-usage($usage)> attr-dict : type($result)",
        traits=PURE,
    ),
    # Buffers.
    row(
        "buffer.assert",
        "buffer:buffer allocator:allocator minimum_length"
        " | message:str memory_types:i32attr buffer_usage:i32attr",
        f"{BUFFER} message($message) allocator($allocator : type($allocator))"
        " minimum_length($minimum_length) type(memory-types($memory_types))"
        " usage(buffer-usage($buffer_usage)) attr-dict-with-keyword",
    ),
    row("buffer.allocation.discard", "buffer:buffer -> result:i1", BUFFER + RESULT),
    row(
        "buffer.allocation.is_terminal",
        "buffer:buffer -> result:i1",
        BUFFER + RESULT,
        traits=READS,
    ),
    row("buffer.allocation.preserve", "buffer:buffer", f"{BUFFER} attr-dict-with-keyword"),
    row("buffer.length", "buffer:buffer -> result", BUFFER + RESULT, traits=PURE),
    row(
        "buffer.load",
        "buffer:buffer offset -> result:number",
        f"{BUFFER}[$offset]{RESULT}",
        traits=READS,
    ),
    row(
        "buffer.store",
        "value:number buffer:buffer offset",
        f"{BUFFER}[$offset] value($value : type($value)) attr-dict-with-keyword",
    ),
    row(
        "buffer.subspan",
        "buffer:buffer offset length -> result:buffer",
        f"{BUFFER}[$offset, $length]{RESULT}",
        traits=PURE,
    ),
    # Buffer views.
    row("buffer_view.buffer", "buffer_view:view -> result:buffer", VIEW + RESULT, traits=PURE),
    row("buffer_view.element_type", "buffer_view:view -> result:i32", VIEW + RESULT, traits=PURE),
    row("buffer_view.encoding_type", "buffer_view:view -> result:i32", VIEW + RESULT, traits=PURE),
    row("buffer_view.rank", "buffer_view:view -> result", VIEW + RESULT, traits=PURE),
    row(
        "buffer_view.create",
        "buffer:buffer offset length element_type:i32 encoding_type:i32 shape* -> result:view",
        (
            " buffer($buffer : type($buffer))[$offset, $length] shape([$shape]) type(",
            f"$element_type) encoding($encoding_type){RESULT}",
        ),
        traits=PURE,
    ),
    row(
        "buffer_view.trace",
        "views:view* | key:str",
        " $key = $views : type($views) attr-dict-with-keyword",
    ),
    # Channels.
    row(
        "channel.create",
        "device:device queue_affinity:i64 id:host group:host rank:i32 count:i32 -> result:channel"
        " | flags:i64attr",
        f"{ON_DEVICE} affinity($queue_affinity) flags(reserved-flags($flags)) id($id)"
        f" group($group) rank($rank) count($count){RESULT}",
        traits=CREATES,
    ),
    row(
        "channel.split",
        "channel:channel color:i32 key:i32 -> result:channel | flags:i64attr",
        f"{CHANNEL} color($color) key($key) flags(reserved-flags($flags)){RESULT}",
        traits=CREATES,
    ),
    row(
        "channel.rank_and_count",
        "channel:channel -> rank:i32 count:i32",
        f"{CHANNEL} : type($rank), type($count) attr-dict-with-keyword",
        traits=PURE,
    ),
    # Devices.
    row(
        "device.allocator",
        "device:device -> result:allocator",
        DEVICE + RESULT,
        traits=PURE,
    ),
    row(
        "device.query",
        "device:device -> ok:i1 value:any | category:str key:str default_value:attr?",
        f"{DEVICE} key($category :: $key) : type($ok), type($value)"
        "( = $default_value)? attr-dict-with-keyword",
        traits=PURE,
        verify=_verify_query,
    ),
    row(
        "device.resolve",
        "-> results_:device/allocator/i64* | affinity:attr?",
        "( on($affinity))? attr-dict : type($results_)",
        traits=(*PURE, *PLACED),
        base=_WithNamedResults,
    ),
    row(
        "device.memoize",
        "device:device queue_affinity:i64 -> results_:any* || body",
        f"{DEVICE} affinity($queue_affinity)( -> type($results_))? attr-dict-with-keyword $body",
    ),
    row("devices.count", "-> result", " attr-dict : type($result)", traits=PURE),
    row("devices.get", "index -> result:device", " $index attr-dict : type($result)", traits=PURE),
    row(
        "ex.file.from_memory",
        "device:device queue_affinity:i64 buffer:host offset length flags:i32 -> result:file"
        " | access:i32attr",
        f"{ON_DEVICE} affinity($queue_affinity) access(access-flags($access))"
        f" buffer($buffer : type($buffer))[$offset for $length] flags($flags){RESULT}",
    ),
    # Fences.
    row(
        "fence.create",
        "device:device -> result:fence | flags:i64attr",
        f"{ON_DEVICE} flags(reserved-flags($flags)){RESULT}",
        traits=CREATES,
    ),
    row(
        "fence.join",
        "fences:fence* -> result:fence | flags:i64attr",
        " at([$fences]) flags(reserved-flags($flags)) -> type($result) attr-dict-with-keyword",
    ),
    row("fence.query", "fence:fence -> result:i32", FENCE + RESULT),
    row("fence.fail", "fence:fence status:i32", f"{FENCE} status($status) attr-dict-with-keyword"),
    row(
        "fence.await",
        "timeout_millis:i32 fences:fence* -> status:i32 | flags:i64attr",
        " until([$fences]) timeout_millis($timeout_millis) flags(reserved-flags($flags))"
        " : type($status) attr-dict-with-keyword",
    ),
    # Instrumentation of kernels.
    row(
        "instrument.workgroup",
        "buffer:memref dispatch_id:i32 -> workgroup_key",
        "[$buffer : type($buffer)] dispatch($dispatch_id) attr-dict : type($workgroup_key)",
    ),
    row(
        "instrument.print",
        "buffer:memref workgroup_key values_:any* | format:str",
        f"{INSTRUMENT} $format( * ($values_ : type($values_)))? attr-dict",
    ),
    row(
        "instrument.value",
        "buffer:memref workgroup_key operand:any -> result:any | ordinal:i8attr",
        f"{INSTRUMENT} $ordinal = $operand attr-dict : type($operand, $result)",
    ),
    *(
        row(
            f"instrument.memory.{access}",
            "buffer:memref workgroup_key value:any base:memref indices* -> result:any",
            f"{INSTRUMENT} $base[$indices], $value attr-dict : type($base), type($value, $result)",
            traits=PURE,
        )
        for access in ("load", "store")
    ),
)
