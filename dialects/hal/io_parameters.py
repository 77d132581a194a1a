"""The `io_parameters` dialect: queue-ordered access to parameters outside of the program."""

from __future__ import annotations

from xdsl.ir import Dialect

from ...ir.syntax.repeated import Repeated
from ...ir.syntax.rows import Rows
from ..util.types import BufferType as HostBufferType
from .commands import ON_QUEUE, QUEUE
from .targets import DEVICE
from .types import BufferType, FenceType

row = Rows(
    "io_parameters",
    {
        "buffer": BufferType(),
        "device": DEVICE,
        "fence": FenceType(),
        "host": HostBufferType(),
    },
)

END = " attr-dict-with-keyword"
KEYS = "{0}_scope:host? {0}_keys:host* {0}_offsets:i64*"
RANGES = "{0}_buffer:buffer {0}_buffer_offsets* {0}_buffer_lengths*"
SOURCE = "parameter($source_scope, $source_keys, $source_offsets)"
TARGET = "parameter($target_scope, $target_keys, $target_offsets)"
RANGE = "${0}_buffer[${0}_buffer_offsets for ${0}_buffer_lengths] : type(${0}_buffer)"

ROWS = (
    row(
        "load",
        f"{ON_QUEUE} {KEYS.format('source')} memory_types:i32 buffer_usage:i32 lengths*"
        " -> results_:buffer*",
        (
            f"{QUEUE} type(",
            "$memory_types) usage($buffer_usage)",
            " ",
            Repeated(f"{SOURCE} : type($results_){{$lengths}}", shared=("source_scope",)),
            END,
        ),
    ),
    row(
        "gather",
        f"{ON_QUEUE} {KEYS.format('source')} {RANGES.format('target')}",
        (
            QUEUE,
            " ",
            Repeated(
                f"{SOURCE} -> {RANGE.format('target')}",
                shared=("source_scope", "target_buffer"),
            ),
            END,
        ),
    ),
    row(
        "scatter",
        f"{ON_QUEUE} {RANGES.format('source')} {KEYS.format('target')}",
        (
            QUEUE,
            " ",
            Repeated(
                f"{RANGE.format('source')} -> {TARGET}",
                shared=("source_buffer", "target_scope"),
            ),
            END,
        ),
    ),
)

IoParameters = Dialect("io_parameters", list(ROWS))
