"""Ops that read and write parameters: contents outside of the program, `%scope::%key`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...ir.syntax.assembly_format import values
from ...ir.syntax.repeated import Repeated
from .rows import PLACED, row

LOADS = Repeated(
    "parameter($source_scope, $source_keys, $source_offsets) : type($results_){$result_sizes}",
    shared=("source_scope",),
)
"""`{%scope::%key[%offset] : T{%size}, ...}`."""


def _gather(numbers: str) -> Repeated:
    """Return the format `{%scope::%key[%offset] -> %target[...] : T{%size}, ...}`.

    A gather reads many parameters into ranges of one resource.
    """
    return Repeated(
        "parameter($source_scope, $source_keys, $source_offsets)"
        f" -> $target[{numbers.format('target')}] : type($target){{$target_size}}",
        shared=("source_scope", "target", "target_size"),
    )


def _scatter(numbers: str) -> Repeated:
    """Return the format `{%source[...] : T{%size} -> %scope::%key[%offset], ...}`.

    A scatter writes ranges of one resource to many parameters.
    """
    return Repeated(
        f"$source[{numbers.format('source')}] : type($source){{$source_size}}"
        " -> parameter($target_scope, $target_keys, $target_offsets)",
        shared=("source", "source_size", "target_scope"),
    )


ASYNC = "${0}_offsets to ${0}_ends for ${0}_lengths"
CMD = "${0}_offsets for ${0}_lengths"

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
