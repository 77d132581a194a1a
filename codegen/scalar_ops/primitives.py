"""The primitives that kernels call for everything but loop counters and addresses.

A primitive is named `operation_element[_element]` (`addi_i4`, `convertf_f64_bf16`). The name
determines its code, LLVM IR with LLVM's exact semantics, so that the text of a kernel determines
what the kernel does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

from llvmlite import ir

from ...runtime.abi.elements import BF16, Element, element_by_name
from ...runtime.abi.native_code import call_symbol
from ..microkernels.amx import emit_matrix_tile
from ..microkernels.library_calls import emit_allocate, emit_free, emit_procedure
from ..microkernels.mmt4d import Mmt4dTile, emit_mmt4d_tile
from ..microkernels.products import emit_tile
from ..microkernels.roots import emit_roots
from ..microkernels.transpose_squares import (
    emit_line,
    emit_stream_part,
    emit_stream_transpose,
    emit_transpose,
    emit_unzip,
    emit_zip,
)
from ..microkernels.vectors import (
    dot,
    float_of_words,
    multiply_add,
    repeated_pair,
    splat,
    stored_type,
    vector_address,
    widened,
    words_of,
)
from .llvm_complex import create, imaginary, real
from .llvm_scalar_ops import OPERATIONS
from .llvm_values import from_storage, register_type, to_storage

_BOOL = ir.IntType(1)
_WORD = ir.IntType(64)


Emitter = Callable[[Any, Sequence[Any]], Any]
"""Emits code on some values; it gets the builder first."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """The LLVM types of a primitive's arguments, and the emitter of its code.

    A primitive that is called for its effect returns a value without meaning.
    """

    arguments: tuple[Any, ...]
    emit: Emitter


Family = Callable[[Sequence[str]], Primitive]
"""Returns a primitive, given the parts of its name after the first."""


@cache
def primitive(name: str) -> Primitive:
    """Return the primitive with a name. Raises KeyError if there is none."""
    operation, *parts = name.split("_")
    if operation in _FAMILIES:
        return _FAMILIES[operation](parts)
    elements, _ = _parsed(parts, len(parts))
    signature, emit = OPERATIONS[operation]
    arguments, _ = signature(*elements)

    def emit_elements(builder: Any, values: Sequence[Any]) -> Any:
        return emit(builder, values, *elements)

    return Primitive(tuple(_type(each) for each in arguments), emit_elements)


def _parsed(parts: Sequence[str], elements: int) -> tuple[list[Element], list[int]]:
    """Parse the parts of a name: some elements, then numbers."""
    return list(map(element_by_name, parts[:elements])), list(map(int, parts[elements:]))


def _type(element: Element | str) -> Any:
    return _BOOL if isinstance(element, str) else register_type(element)


# Microkernels, which take three addresses and a number of steps.


def _microkernel(parts: Sequence[str]) -> Primitive:
    """Return `microkernel_total_rows_columns`, which multiplies panels of one element type."""
    (total,), (rows, columns) = _parsed(parts, 1)
    return Primitive((_WORD,) * 4, emit_tile(total, rows, columns))


def _words_microkernel(parts: Sequence[str]) -> Primitive:
    """Return `words_left_right_total_rows_columns`, which multiplies terms as they are stored."""
    (left, right, total), (rows, columns) = _parsed(parts, 3)
    return Primitive((_WORD,) * 4, emit_tile(total, rows, columns, (left, right)))


def _matrix_microkernel(parts: Sequence[str]) -> Primitive:
    """Return `amx_left_right`, which multiplies panels in matrix registers."""
    (left, right), _ = _parsed(parts, 2)
    return Primitive((_WORD,) * 4, emit_matrix_tile(left, right))


def _mmt4d_microkernel(parts: Sequence[str]) -> Primitive:
    """Return `tile_left_right_total_rows_columns_depth`, which multiplies packed tiles."""
    (left, right, total), shape = _parsed(parts, 3)
    return Primitive((_WORD,) * 4, emit_mmt4d_tile(Mmt4dTile(left, right, total, *shape)))


# Memory ---------------------------------------------------------------------------------------


def _of_numbers(words: int, emitter: Callable[..., Emitter]) -> Family:
    """Return a family of primitives of some words, whose names are numbers for `emitter`."""
    return lambda parts: Primitive((_WORD,) * words, emitter(*map(int, parts)))


def _roots(parts: Sequence[str]) -> Primitive:
    """Return `roots_element_length_radix()`, the address of a table of factors."""
    (element,), (length, radix) = _parsed(parts, 1)
    return Primitive((), emit_roots(element, length, radix))


def _scratch(parts: Sequence[str]) -> Primitive:
    """Return `scratch_element_count()`, which allocates aligned elements on the stack."""
    (element,), (count,) = _parsed(parts, 1)
    kind = ir.ArrayType(ir.IntType(8), count * element.storage_bytes)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(kind)
            memory.align = 64
        return builder.ptrtoint(memory, _WORD)

    return Primitive((), emit)


_ALIAS_SCOPES = 32
"""The number of bindings that get alias scopes; further bindings get no metadata."""

LAST_SCOPE = _ALIAS_SCOPES - 1
"""The alias scope of scratch memory: no kernel of few operands uses the last one otherwise."""

_accesses: WeakKeyDictionary[ir.Module, list[tuple[Any, int]]] = WeakKeyDictionary()
"""The accesses of a module's bindings, until `add_alias_scopes` removes them."""


def _annotate(module: Any, instruction: Any, binding: int) -> None:
    """Note an access of a binding for `add_alias_scopes`."""
    if binding < _ALIAS_SCOPES:
        _accesses.setdefault(module, []).append((instruction, binding))


def add_alias_scopes(module: Any) -> None:
    """Attach alias metadata to all accesses of bindings in a module that is complete.

    A kernel's bindings do not overlap if one of them is written. LLVM does not vectorise loops over
    many buffers without this information, and reads all of it for each pair of accesses, so only
    bindings that are accessed get a scope.
    """
    accesses = _accesses.pop(module, [])
    bindings = sorted({binding for _, binding in accesses})
    if len(bindings) < 2:
        return
    domain = module.add_metadata([ir.MetaDataString(module, "bindings")])
    scopes = {
        binding: module.add_metadata([ir.MetaDataString(module, f"binding {binding}"), domain])
        for binding in bindings
    }
    own = {binding: module.add_metadata([scopes[binding]]) for binding in bindings}
    others = {
        binding: module.add_metadata([scopes[other] for other in bindings if other != binding])
        for binding in bindings
    }
    for instruction, binding in accesses:
        instruction.set_metadata("alias.scope", own[binding])
        instruction.set_metadata("noalias", others[binding])


def _memory(operation: str, names: Sequence[str]) -> Primitive:
    """Return `load_element_binding(base, index)` or `store_element_binding(base, index, value)`."""
    (element,), (binding,) = _parsed(names, 1)
    # The parts of a complex number are loaded and stored separately: LLVM vectorises loops over
    # such accesses, but not over vectors of two.
    part = element.part if element.is_complex else element
    parts = 2 if element.is_complex else 1

    def access(builder: Any, base: Any, index: Any, number: int, stored: Any = None) -> Any:
        """Emit a load of a part, or a store of `stored`."""
        pointer = builder.inttoptr(base, stored_type(part).as_pointer())
        if parts > 1:
            index = builder.add(
                builder.mul(index, ir.Constant(_WORD, parts)), ir.Constant(_WORD, number)
            )
        place = builder.gep(pointer, [index])
        instruction = builder.load(place) if stored is None else builder.store(stored, place)
        _annotate(builder.module, instruction, binding)
        return instruction

    def load(builder: Any, values: Sequence[Any]) -> Any:
        found = [
            from_storage(builder, access(builder, values[0], values[1], number), part)
            for number in range(parts)
        ]
        return found[0] if parts == 1 else create(builder, found)

    def store(builder: Any, values: Sequence[Any]) -> Any:
        base, index, value = values
        found = [value] if parts == 1 else [real(builder, [value]), imaginary(builder, [value])]
        for number, each in enumerate(found):
            access(builder, base, index, number, to_storage(builder, each, part))
        return ir.Constant(_BOOL, 0)

    if operation == "load":
        return Primitive((_WORD, _WORD), load)
    return Primitive((_WORD, _WORD, register_type(element)), store)


# Vectors. The names of their primitives contain the elements, the lanes and, for loads and stores,
# the binding.


def _vector_type(element: Element, lanes: str) -> Any:
    return ir.VectorType(register_type(element), int(lanes))


def _load(
    element: Element, count: int, binding: int, convert: Callable[[Any, Any], Any]
) -> Primitive:
    """Return a primitive of base and index that loads `count` elements and converts the vector."""

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        place = vector_address(builder, base, index, element, count)
        instruction = builder.load(place, align=element.storage_bytes)
        _annotate(builder.module, instruction, binding)
        return convert(builder, instruction)

    return Primitive((_WORD, _WORD), emit)


def _vector_load(names: Sequence[str]) -> Primitive:
    """Return `vload_element_total_lanes_binding(base, index)`, which widens elements to `total`."""
    (element, total), (lanes, binding) = _parsed(names, 2)
    return _load(
        element, lanes, binding, lambda builder, stored: widened(builder, stored, element, total)
    )


def _even_load(names: Sequence[str]) -> Primitive:
    """Return `vloadeven_element_total_lanes_binding(base, index)`: every second element, widened.

    It reads two vectors that overlap in one element, and nothing beyond the last element.
    """
    (element, total), (lanes, binding) = _parsed(names, 2)
    found = [2 * each if 2 * each < lanes else 2 * each + 1 for each in range(lanes)]

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        halves: list[Any] = []
        for start in (0, lanes - 1):
            at = builder.add(index, ir.Constant(_WORD, start))
            place = vector_address(builder, base, at, element, lanes)
            halves.append(builder.load(place, align=element.storage_bytes))
            _annotate(builder.module, halves[-1], binding)
        order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), found)
        return widened(builder, builder.shuffle_vector(*halves, order), element, total)

    return Primitive((_WORD, _WORD), emit)


def _vector_store(names: Sequence[str]) -> Primitive:
    """Return `vstore_element_lanes_binding(base, index, vector)`."""
    (element,), (lanes, binding) = _parsed(names, 1)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index, vector = values
        place = vector_address(builder, base, index, element, lanes)
        _annotate(builder.module, builder.store(vector, place, element.storage_bytes), binding)
        return ir.Constant(_BOOL, 0)

    return Primitive((_WORD, _WORD, _vector_type(element, names[1])), emit)


def _vector_splat(names: Sequence[str]) -> Primitive:
    """Return `vsplat_element_lanes(value)`."""
    (element,), (lanes,) = _parsed(names, 1)
    return Primitive(
        (register_type(element),), lambda builder, values: splat(builder, values[0], lanes)
    )


def _vector_multiply_add(names: Sequence[str]) -> Primitive:
    """Return `vmuladd_element_lanes(left, right, total)`."""
    vector = _vector_type(element_by_name(names[0]), names[1])
    return Primitive((vector,) * 3, lambda builder, values: multiply_add(builder, *values))


def _vector_add(names: Sequence[str]) -> Primitive:
    """Return `vadd_element_lanes(left, right)`; float sums may be reassociated."""
    element = element_by_name(names[0])
    _, add = OPERATIONS["sumf" if element.is_float else "addi"]
    vector = _vector_type(element, names[1])
    return Primitive((vector,) * 2, lambda builder, values: add(builder, values, element))


def _vector_words(names: Sequence[str]) -> Primitive:
    """Return `vwords_lanes_terms(...)`, which packs the low bits of its arguments to words."""
    lanes, terms = (int(each) for each in names)
    return Primitive((ir.VectorType(ir.IntType(32), lanes),) * terms, words_of)


def _prefetch(names: Sequence[str]) -> Primitive:
    """Return `prefetch_element(base, index)`, which prefetches an element's cache line."""
    element = element_by_name(names[0])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        place = vector_address(builder, base, index, element, 1)
        place = builder.bitcast(place, ir.IntType(8).as_pointer())
        is_write, locality, is_data = (ir.Constant(ir.IntType(32), each) for each in (0, 3, 1))
        call_symbol(builder, "llvm.prefetch.p0", ir.VoidType(), place, is_write, locality, is_data)
        return ir.Constant(_BOOL, 0)

    return Primitive((_WORD, _WORD), emit)


def _fence(names: Sequence[str]) -> Primitive:
    """Return `fence()`, which orders streaming stores before the stores that follow them."""

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        call_symbol(builder, "llvm.x86.sse.sfence", ir.VoidType())
        return ir.Constant(_BOOL, 0)

    return Primitive((), emit)


def _pair_load(names: Sequence[str]) -> Primitive:
    """Return `vloadpair_element_lanes_binding(base, index)`: two elements, in all lanes."""
    (element,), (lanes, binding) = _parsed(names, 1)
    return _load(
        element, 2, binding, lambda builder, stored: repeated_pair(builder, stored, element, lanes)
    )


def _splat_load(names: Sequence[str]) -> Primitive:
    """Return `vloadsplat_element_total_lanes_binding(base, index)`: one element in all lanes."""
    (element, total), (lanes, binding) = _parsed(names, 2)

    def convert(builder: Any, stored: Any) -> Any:
        # Both halves of a word may be the element, since a `bf16` moves to the upper one.
        count = 2 * lanes if element == BF16 else lanes
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
        repeated = builder.shuffle_vector(stored, stored, everywhere)
        if element == BF16:
            words = builder.bitcast(repeated, ir.VectorType(ir.IntType(32), lanes))
            return float_of_words(builder, words, total)
        return widened(builder, repeated, element, total)

    return _load(element, 1, binding, convert)


def _vector_dot(names: Sequence[str]) -> Primitive:
    """Return `vdot_lanes(left, right, total)` for pairs of 16-bit terms."""
    words = ir.VectorType(ir.IntType(32), int(names[0]))
    return Primitive((words,) * 3, lambda builder, values: dot(builder, *values))


_FAMILIES: dict[str, Family] = {
    # allocate(bytes): the address of memory of the C library; free(address).
    "allocate": lambda _: Primitive((_WORD,), emit_allocate),
    "amx": _matrix_microkernel,
    "fence": _fence,
    "free": lambda _: Primitive((_WORD,), emit_free),
    # line_bytes: copies a cache line.
    "line": _of_numbers(4, emit_line),
    "load": partial(_memory, "load"),
    "microkernel": _microkernel,
    "prefetch": _prefetch,
    # procedure_count(address, arguments): calls a C function.
    "procedure": _of_numbers(2, emit_procedure),
    "roots": _roots,
    "scratch": _scratch,
    "store": partial(_memory, "store"),
    # streampart_bytes_count: copies elements with a streaming store.
    "streampart": _of_numbers(4, emit_stream_part),
    # streamtranspose_bytes_side: `transpose` with streaming stores, down a cache line.
    "streamtranspose": _of_numbers(6, emit_stream_transpose),
    "tile": _mmt4d_microkernel,
    # transpose_bytes[_side[_height]]: transposes a square in registers.
    "transpose": _of_numbers(6, emit_transpose),
    "unzip": _of_numbers(5, emit_unzip),
    "vadd": _vector_add,
    "vdot": _vector_dot,
    "vload": _vector_load,
    "vloadeven": _even_load,
    "vloadpair": _pair_load,
    "vloadsplat": _splat_load,
    "vmuladd": _vector_multiply_add,
    "vsplat": _vector_splat,
    "vstore": _vector_store,
    "vwords": _vector_words,
    "words": _words_microkernel,
    # zip_bytes_width interleaves rows; unzip_bytes_width is the reverse.
    "zip": _of_numbers(5, emit_zip),
}
"""The primitives that are not operations on elements, by the first part of their names."""
