"""Ops that read and write parameters: contents outside of the program, `%scope::%key`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...ir.syntax.assembly_format import Pieces, values
from ...ir.syntax.directives import Operand, Type
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.resource_directives import Parameter
from .rows import PLACED, row

KEY = ("source_keys", "source_offsets")

LOADS = Repeated(
    (
        Parameter("source_scope", *KEY),
        " : ",
        Type("results_"),
        "{",
        Operand("result_sizes"),
        "}",
    ),
    (*KEY, "result_sizes", "results_"),
)
"""`{%scope::%key[%offset] : T{%size}, ...}`."""


def _parts(resource: str, numbers: tuple[str, ...]) -> Pieces:
    """Return the pieces of `%resource[%offset to %end for %length]`.

    Two numbers are offset and length, without the end.
    """
    offset, *end, length = (Operand(f"{resource}_{number}") for number in numbers)
    to = (" to ", *end) if end else ()
    return (Operand(resource), "[", offset, *to, " for ", length, "]")


def _gather(numbers: tuple[str, ...]) -> Repeated:
    """Return the format `{%scope::%key[%offset] -> %target[...] : T{%size}, ...}`.

    A gather reads many parameters into ranges of one resource.
    """
    target = (" : ", Type("target"), "{", Operand("target_size"), "}")
    entry = (Parameter("source_scope", *KEY), " -> ", *_parts("target", numbers), *target)
    return Repeated(entry, (*KEY, *(f"target_{number}" for number in numbers)))


def _scatter(numbers: tuple[str, ...]) -> Repeated:
    """Return the format `{%source[...] : T{%size} -> %scope::%key[%offset], ...}`.

    A scatter writes ranges of one resource to many parameters.
    """
    key = ("target_keys", "target_offsets")
    source = (" : ", Type("source"), "{", Operand("source_size"), "}")
    entry = (*_parts("source", numbers), *source, " -> ", Parameter("target_scope", *key))
    return Repeated(entry, (*key, *(f"source_{number}" for number in numbers)))


ASYNC = ("offsets", "ends", "lengths")
CMD = ("offsets", "lengths")

ON = "( on($affinity))?"
AWAIT = f"{ON}( await($await_timepoint))?"
AWAIT_ARROW = f"{ON}( await($await_timepoint) =>)?"
READ = "parameter($source_scope, $source_key, $source_offset)"
WRITTEN = "parameter($target_scope, $target_key, $target_offset)"
SOURCE_KEY = "source_scope:host? source_key:host source_offset:i64"
TARGET_KEY = "target_scope:host? target_key:host target_offset:i64"
SOURCE_KEYS = "source_scope:host? source_keys:host* source_offsets:i64*"
TARGET_KEYS = "target_scope:host? target_keys:host* target_offsets:i64*"
BYTES = "$source[$source_offset to $source_end for $source_length]"
TO_BYTES = "$target[$target_offset to $target_end for $target_length]"
READY = " => type($result_timepoint) attr-dict-with-keyword"

ROWS = (
    # Tensors.
    row(
        "tensor.parameter.load",
        f"{SOURCE_KEY} result_encoding_dims* result_size -> result:resource"
        " | result_encoding:type affinity:attr?",
        f"{ON} {READ} : shaped($result_encoding_dims, $result_encoding) in"
        " type($result){$result_size} attr-dict-with-keyword",
        traits=PLACED,
    ),
    row(
        "tensor.parameter.write",
        f"source:resource source_encoding_dims* source_size {TARGET_KEY} -> result:resource"
        " | source_encoding:type affinity:attr?",
        f"{ON} $source -> {WRITTEN} : shaped($source_encoding_dims, $source_encoding) in"
        " type($source, $result){$source_size} attr-dict-with-keyword",
        traits=PLACED,
    ),
    # Asynchronous operations.
    row(
        "async.parameter.load",
        f"await_timepoint:timepoint? {SOURCE_KEY} result_size"
        " -> result:resource result_timepoint:timepoint | affinity:attr?",
        f"{AWAIT} {READ} : type($result){{$result_size}}{READY}",
        traits=PLACED,
    ),
    row(
        "async.parameter.read",
        f"target:resource target_size target_offset target_end target_length {SOURCE_KEY}"
        " await_timepoint:timepoint? -> result:resource result_timepoint:timepoint"
        " | affinity:attr?",
        f"{AWAIT} {READ} -> {TO_BYTES} : type($target, $result){{$target_size}}{READY}",
        traits=PLACED,
    ),
    row(
        "async.parameter.write",
        f"source:resource source_size source_offset source_end source_length {TARGET_KEY}"
        " await_timepoint:timepoint? -> result:resource result_timepoint:timepoint"
        " | affinity:attr?",
        f"{AWAIT} {BYTES} -> {WRITTEN} : type($source, $result){{$source_size}}{READY}",
        traits=PLACED,
    ),
    row(
        "async.parameter.gather",
        f"{SOURCE_KEYS} target:resource target_size target_offsets* target_ends* target_lengths*"
        " await_timepoint:timepoint? -> result:resource result_timepoint:timepoint"
        " | affinity:attr?",
        (f"{AWAIT} ", _gather(ASYNC), f" : type($target, $result){READY}"),
        traits=PLACED,
    ),
    row(
        "async.parameter.scatter",
        f"source:resource source_size source_offsets* source_ends* source_lengths* {TARGET_KEYS}"
        " await_timepoint:timepoint? -> result:resource result_timepoint:timepoint"
        " | affinity:attr?",
        (f"{AWAIT} ", _scatter(ASYNC), f" : type($source, $result){READY}"),
        traits=PLACED,
    ),
    # Commands.
    row(
        "cmd.parameter.load",
        f"{SOURCE_KEYS} result_sizes* await_timepoint:timepoint?"
        " -> results_:resource* result_timepoint:timepoint | affinity:attr?",
        (f"{AWAIT_ARROW} ", LOADS, READY),
        traits=PLACED,
    ),
    row(
        "cmd.parameter.read",
        f"{SOURCE_KEY} target:resource target_size target_offset target_length"
        " await_timepoint:timepoint? -> result_timepoint:timepoint | affinity:attr?",
        f"{AWAIT_ARROW} {READ} -> $target[$target_offset for $target_length]"
        f" : type($target){{$target_size}}{READY}",
        traits=PLACED,
    ),
    row(
        "cmd.parameter.write",
        f"source:resource source_size source_offset source_length {TARGET_KEY}"
        " await_timepoint:timepoint? -> result_timepoint:timepoint | affinity:attr?",
        f"{AWAIT_ARROW} $source[$source_offset for $source_length]"
        f" : type($source){{$source_size}} -> {WRITTEN}{READY}",
        traits=PLACED,
    ),
    row(
        "cmd.parameter.gather",
        f"{SOURCE_KEYS} target:resource target_size target_offsets* target_lengths*"
        " await_timepoint:timepoint? -> result_timepoint:timepoint | affinity:attr?",
        (f"{AWAIT_ARROW} ", _gather(CMD), READY),
        traits=PLACED,
    ),
    row(
        "cmd.parameter.scatter",
        f"source:resource source_size source_offsets* source_lengths* {TARGET_KEYS}"
        " await_timepoint:timepoint? -> result_timepoint:timepoint | affinity:attr?",
        (f"{AWAIT_ARROW} ", _scatter(CMD), READY),
        traits=PLACED,
    ),
)

PARAMETER_OPS = {each.name: each for each in ROWS}
"""The classes of these ops by name."""


def parameter_operands(operation: Operation, end: str) -> list[SSAValue | Sequence[SSAValue]]:
    """Return the scope (which may be absent), the key and the offset of a parameter."""
    scope, key, offset = (values(operation, f"{end}_{name}") for name in ("scope", "key", "offset"))
    return [scope, *key, *offset]
