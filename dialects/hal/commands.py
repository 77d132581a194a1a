"""Ops that record commands into command buffers, and ops of device queues."""

from __future__ import annotations

from functools import partial

from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ...ir.locations import made_by
from ...ir.syntax.assembly_format import values
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.rows import PURE
from .objects import RESULT, row

BINDINGS = Repeated(
    "($binding_buffers : type($binding_buffers))[$binding_offsets, $binding_lengths]",
    delimiter=Parser.Delimiter.SQUARE,
)
"""`[(%buffer : !hal.buffer)[%offset, %length], ...]`.

An index in place of a buffer is a slot of the binding table.
"""

COMMAND = "<$command_buffer : type($command_buffer)>"
SOURCE = " source($source_buffer : type($source_buffer))[$source_offset]"
TARGET = " target($target_buffer : type($target_buffer))[$target_offset]"
RANGE = " target($target_buffer : type($target_buffer))[$target_offset, $length]"
END = " attr-dict-with-keyword"
FLAGS = f" flags(reserved-flags($flags)){END}"
QUEUE = (
    "<$device : type($device)> affinity($queue_affinity) wait($wait_fence) signal($signal_fence)"
)
ON_QUEUE = "device:device queue_affinity:i64 wait_fence:fence signal_fence:fence"


def _verify_fences(operation: Operation) -> None:
    """Raise VerifyException if a queue waits for the fence that it signals afterwards."""
    wait, signal = (values(operation, f"{name}_fence")[0] for name in ("wait", "signal"))
    if wait is signal and made_by(wait, "util.null") is None:
        raise VerifyException("device queue operations cannot wait and signal on the same fence.")


queue_row = partial(row, verify=_verify_fences)

ROWS = (
    # Command buffers.
    row(
        "command_buffer.create",
        "device:device queue_affinity:i64 binding_capacity? -> result:commands"
        " | modes:i32attr command_categories:i32attr",
        " device($device : type($device)) mode(command-modes($modes))"
        " categories(command-categories($command_categories)) affinity($queue_affinity)"
        f"( bindings($binding_capacity))?{RESULT}",
    ),
    row("command_buffer.finalize", "command_buffer:commands", COMMAND + END),
    row(
        "command_buffer.device",
        "command_buffer:commands -> result:device",
        COMMAND + RESULT,
        traits=PURE,
    ),
    row(
        "command_buffer.begin_debug_group",
        "command_buffer:commands | label:str",
        f"{COMMAND} label($label){END}",
    ),
    row("command_buffer.end_debug_group", "command_buffer:commands", COMMAND + END),
    row(
        "command_buffer.execution_barrier",
        "command_buffer:commands"
        " | source_stage_mask:i32attr target_stage_mask:i32attr flags:i64attr",
        f"{COMMAND} source(execution-stages($source_stage_mask))"
        f" target(execution-stages($target_stage_mask)){FLAGS}",
    ),
    row(
        "command_buffer.fill_buffer",
        "command_buffer:commands target_buffer:bound target_offset length pattern:i8/i16/i32"
        " | flags:i64attr",
        f"{COMMAND}{RANGE} pattern($pattern : type($pattern)){FLAGS}",
    ),
    row(
        "command_buffer.update_buffer",
        "command_buffer:commands source_buffer:host source_size source_offset target_buffer:bound"
        " target_offset length | flags:i64attr",
        f"{COMMAND} source($source_buffer : type($source_buffer){{$source_size}})[$source_offset]"
        f"{TARGET} length($length){FLAGS}",
    ),
    row(
        "command_buffer.copy_buffer",
        "command_buffer:commands source_buffer:bound source_offset target_buffer:bound"
        " target_offset length | flags:i64attr",
        f"{COMMAND}{SOURCE}{TARGET} length($length){FLAGS}",
    ),
    row(
        "command_buffer.flush_buffer",
        "command_buffer:commands target_buffer:bound target_offset length",
        COMMAND + RANGE + END,
    ),
    row(
        "command_buffer.invalidate_buffer",
        "command_buffer:commands target_buffer:bound target_offset length",
        COMMAND + RANGE + END,
    ),
    row(
        "command_buffer.collective",
        "command_buffer:commands channel:channel element_count param:i32? send_buffer:bound?"
        " send_offset? send_length? recv_buffer:bound? recv_offset? recv_length? | op:collective",
        f"{COMMAND} channel($channel : type($channel)) op(bare($op))"
        "( param($param : type($param)))?"
        "( send($send_buffer : type($send_buffer))[$send_offset, $send_length])?"
        "( recv($recv_buffer : type($recv_buffer))[$recv_offset, $recv_length])?"
        f" count($element_count){END}",
    ),
    row(
        "command_buffer.dispatch",
        "command_buffer:commands executable:executable entry_point:i64 workgroup_x workgroup_y"
        " workgroup_z constants:i32* binding_buffers:bound* binding_offsets* binding_lengths*"
        " | flags:i64attr",
        (
            f"{COMMAND} target($executable : type($executable))[$entry_point]"
            " workgroups([$workgroup_x, $workgroup_y, $workgroup_z])( constants([$constants]))?"
            " bindings(",
            BINDINGS,
            f"){FLAGS}",
        ),
    ),
    row(
        "command_buffer.dispatch.indirect",
        "command_buffer:commands executable:executable entry_point:i64 workgroups_buffer:bound"
        " workgroups_offset constants:i32* binding_buffers:bound* binding_offsets* binding_lengths*"
        " | flags:i64attr",
        (
            f"{COMMAND} target($executable : type($executable))[$entry_point]"
            " workgroups($workgroups_buffer : type($workgroups_buffer))[$workgroups_offset]"
            "( constants([$constants]))? bindings(",
            BINDINGS,
            f"){FLAGS}",
        ),
    ),
    # Queues.
    queue_row(
        "device.queue.alloca",
        f"{ON_QUEUE} pool:i64 memory_types:i32 buffer_usage:i32 result_size -> result:buffer"
        " | flags:i64attr",
        (
            f"{QUEUE} pool($pool) type(",
            "$memory_types) usage($buffer_usage) flags(alloca-flags($flags))"
            f" : type($result){{$result_size}}{END}",
        ),
    ),
    queue_row(
        "device.queue.dealloca",
        f"{ON_QUEUE} buffer:buffer | flags:i64attr",
        f"{QUEUE} buffer($buffer : type($buffer)) flags(dealloca-flags($flags)){END}",
    ),
    queue_row("device.queue.barrier", f"{ON_QUEUE} | flags:i64attr", QUEUE + FLAGS),
    queue_row(
        "device.queue.fill",
        f"{ON_QUEUE} target_buffer:buffer target_offset length pattern:i8/i16/i32 | flags:i64attr",
        f"{QUEUE}{TARGET} length($length) pattern($pattern : type($pattern)){FLAGS}",
    ),
    queue_row(
        "device.queue.update",
        f"{ON_QUEUE} source_buffer:host source_offset target_buffer:buffer target_offset length"
        " | flags:i64attr",
        f"{QUEUE}{SOURCE}{TARGET} length($length){FLAGS}",
    ),
    queue_row(
        "device.queue.copy",
        f"{ON_QUEUE} source_buffer:buffer source_offset target_buffer:buffer target_offset length"
        " | flags:i64attr",
        f"{QUEUE}{SOURCE}{TARGET} length($length){FLAGS}",
    ),
    queue_row(
        "device.queue.read",
        f"{ON_QUEUE} source_file:file source_offset:i64 target_buffer:buffer target_offset length"
        " | flags:i64attr",
        f"{QUEUE} source($source_file : type($source_file))[$source_offset]{TARGET}"
        f" length($length){FLAGS}",
    ),
    queue_row(
        "device.queue.write",
        f"{ON_QUEUE} source_buffer:buffer source_offset target_file:file target_offset:i64 length"
        " | flags:i64attr",
        f"{QUEUE}{SOURCE} target($target_file : type($target_file))[$target_offset]"
        f" length($length){FLAGS}",
    ),
    queue_row(
        "device.queue.execute",
        f"{ON_QUEUE} command_buffer:commands | flags:i64attr",
        f"{QUEUE} commands($command_buffer){FLAGS}",
    ),
    queue_row(
        "device.queue.execute.indirect",
        f"{ON_QUEUE} command_buffer:commands binding_buffers:buffer* binding_offsets*"
        " binding_lengths* | flags:i64attr",
        (f"{QUEUE} commands($command_buffer) bindings(", BINDINGS, f"){FLAGS}"),
        same_sizes=True,
    ),
    row(
        "device.queue.flush",
        "device:device queue_affinity:i64",
        f"<$device : type($device)> affinity($queue_affinity){END}",
    ),
)
