"""The `io_parameters` dialect: queue-ordered access to parameters outside of the program."""

from __future__ import annotations

from xdsl.ir import Dialect

from ...ir.syntax.assembly_format import Pieces
from ...ir.syntax.directives import Operand, Type
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.resource_directives import Parameter
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
SOURCE, TARGET = (
    Parameter(f"{side}_scope", f"{side}_keys", f"{side}_offsets") for side in ("source", "target")
)
KEYS = "{0}_scope:host? {0}_keys:host* {0}_offsets:i64*"
RANGES = "{0}_buffer:buffer {0}_buffer_offsets* {0}_buffer_lengths*"


def _range(side: str) -> Pieces:
    """Return the pieces of `%buffer[%offset for %length]`."""
    buffer = f"{side}_buffer"
    offset, length = Operand(f"{buffer}_offsets"), Operand(f"{buffer}_lengths")
    return (Operand(buffer), "[", offset, " for ", length, "]")


def _columns(side: str, other: str) -> tuple[str, ...]:
    numbers = (f"{other}_buffer_offsets", f"{other}_buffer_lengths")
    return (f"{side}_keys", f"{side}_offsets", *numbers)


ROWS = (
    row(
        "load",
        f"{ON_QUEUE} {KEYS.format('source')} memory_types:i32 buffer_usage:i32 lengths*"
        " -> results_:buffer*",
        (
            f"{QUEUE} type(",
            "$memory_types) usage($buffer_usage)",
            " ",
            Repeated(
                (SOURCE, " : ", Type("results_"), "{", Operand("lengths"), "}"),
                ("source_keys", "source_offsets", "lengths", "results_"),
            ),
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
                (SOURCE, " -> ", *_range("target"), " : ", Type("target_buffer")),
                _columns("source", "target"),
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
                (*_range("source"), " : ", Type("source_buffer"), " -> ", TARGET),
                _columns("target", "source"),
            ),
            END,
        ),
    ),
)

IoParameters = Dialect("io_parameters", list(ROWS))
