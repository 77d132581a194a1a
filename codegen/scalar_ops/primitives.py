"""The primitives that kernels call for everything but loop counters and addresses.

A primitive is named `operation_element[_element]` (`addi_i4`, `convertf_f64_bf16`). The name
determines its code, LLVM IR with LLVM's exact semantics, so that the text of a kernel determines
what the kernel does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from llvmlite import ir

from ...runtime.abi.elements import Element, element_by_name
from ..microkernels.amx import emit_matrix_tile
from ..microkernels.mmt4d import Mmt4dTile, emit_mmt4d_tile
from ..microkernels.products import emit_tile
from ..microkernels.transposes import emit_transpose
from ..microkernels.vectors import (
    call_intrinsic,
    dot,
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


@dataclass(frozen=True, slots=True)
class Primitive:
    """The LLVM types of a primitive's arguments, and the emitter of its code.

    A primitive that is called for its effect returns a value without meaning.
    """

    arguments: tuple[Any, ...]
    emit: Callable[[Any, Sequence[Any]], Any]


@cache
def primitive(name: str) -> Primitive:
    """Return the primitive with a name. Raises KeyError if there is none."""
    operation, *element_names = name.split("_")
    if operation in ("load", "store"):
        return _memory_primitive(
            operation, element_by_name(element_names[0]), int(element_names[1])
        )
    if operation == "scratch":
        return _scratch(element_by_name(element_names[0]), int(element_names[1]))
    if operation == "microkernel":
        rows, columns = (int(each) for each in element_names[1:])
        return _on_addresses(emit_tile(element_by_name(element_names[0]), rows, columns))
    if operation == "words":
        left, right, total = map(element_by_name, element_names[:3])
        rows, columns = (int(each) for each in element_names[3:])
        return _on_addresses(emit_tile(total, rows, columns, (left, right)))
    if operation == "amx":
        return _on_addresses(emit_matrix_tile(*map(element_by_name, element_names)))
    if operation == "tile":
        left, right, total = map(element_by_name, element_names[:3])
        rows, columns, depth = (int(each) for each in element_names[3:])
        tile = Mmt4dTile(left, right, total, rows, columns, depth)
        return _on_addresses(emit_mmt4d_tile(tile))
    if operation == "streamtranspose":
        emit = emit_transpose(int(element_names[0]), is_streamed=True)
        return Primitive((_WORD,) * 6, emit)
    if operation == "fence":
        return Primitive((), _fence)
    if operation == "transpose":
        return Primitive((_WORD,) * 6, emit_transpose(*map(int, element_names)))
    if operation in _VECTORS:
        return _VECTORS[operation](element_names)
    elements = tuple(element_by_name(each) for each in element_names)
    signature, emit = OPERATIONS[operation]
    arguments, _ = signature(*elements)

    def emit_elements(builder: Any, values: Sequence[Any]) -> Any:
        return emit(builder, values, *elements)

    return Primitive(tuple(_type(each) for each in arguments), emit_elements)


def _type(element: Element | str) -> Any:
    return _BOOL if isinstance(element, str) else register_type(element)


def _on_addresses(emit: Callable[[Any, Sequence[Any]], Any]) -> Primitive:
    """Return a microkernel, which takes three addresses and a number of steps."""
    return Primitive((_WORD,) * 4, emit)


def _scratch(element: Element, count: int) -> Primitive:
    """Return a primitive that allocates `count` elements on the stack, aligned to 64 bytes."""
    kind = ir.ArrayType(ir.IntType(8), count * element.storage_bytes)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(kind)
            memory.align = 64
        return builder.ptrtoint(memory, _WORD)

    return Primitive((), emit)


_ALIAS_SCOPES = 32
"""The number of bindings that get alias scopes; further bindings get no metadata."""

_alias_metadata: WeakKeyDictionary[ir.Module, list[tuple[Any, Any]]] = WeakKeyDictionary()


def _annotate(module: Any, instruction: Any, binding: int) -> None:
    """Attach alias metadata to an access of a binding.

    A kernel's bindings do not overlap if one of them is written. LLVM does not vectorise loops over
    many buffers without this information.
    """
    if binding >= _ALIAS_SCOPES:
        return
    found = _alias_metadata.get(module)
    if found is None:
        domain = module.add_metadata([ir.MetaDataString(module, "bindings")])
        scopes = [
            module.add_metadata([ir.MetaDataString(module, f"binding {i}"), domain])
            for i in range(_ALIAS_SCOPES)
        ]
        found = _alias_metadata[module] = [
            (
                module.add_metadata([scope]),
                module.add_metadata([other for other in scopes if other is not scope]),
            )
            for scope in scopes
        ]
    scope, others = found[binding]
    instruction.set_metadata("alias.scope", scope)
    instruction.set_metadata("noalias", others)


def _memory_primitive(operation: str, element: Element, binding: int) -> Primitive:
    """Return `load(base, index)` or `store(base, index, value)` for elements of one binding."""
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


def _vector_load(names: Sequence[str]) -> Primitive:
    """Return `vload_element_total_lanes_binding(base, index)`, which widens elements to `total`."""
    element, total = map(element_by_name, names[:2])
    lanes, binding = map(int, names[2:])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        place = vector_address(builder, base, index, element, lanes)
        instruction = builder.load(place, align=element.storage_bytes)
        _annotate(builder.module, instruction, binding)
        return widened(builder, instruction, element, total)

    return Primitive((_WORD, _WORD), emit)


def _vector_store(names: Sequence[str]) -> Primitive:
    """Return `vstore_element_lanes_binding(base, index, vector)`."""
    element, lanes, binding = element_by_name(names[0]), int(names[1]), int(names[2])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index, vector = values
        place = vector_address(builder, base, index, element, lanes)
        _annotate(builder.module, builder.store(vector, place, element.storage_bytes), binding)
        return ir.Constant(_BOOL, 0)

    return Primitive((_WORD, _WORD, _vector_type(element, names[1])), emit)


def _vector_splat(names: Sequence[str]) -> Primitive:
    """Return `vsplat_element_lanes(value)`."""
    element, lanes = element_by_name(names[0]), int(names[1])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return splat(builder, values[0], lanes)

    return Primitive((register_type(element),), emit)


def _vector_multiply_add(names: Sequence[str]) -> Primitive:
    """Return `vmuladd_element_lanes(left, right, total)`."""
    vector = _vector_type(element_by_name(names[0]), names[1])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return multiply_add(builder, *values)

    return Primitive((vector,) * 3, emit)


def _vector_add(names: Sequence[str]) -> Primitive:
    """Return `vadd_element_lanes(left, right)`; float sums may be reassociated."""
    element = element_by_name(names[0])
    _, add = OPERATIONS["sumf" if element.is_float else "addi"]

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return add(builder, values, element)

    return Primitive((_vector_type(element, names[1]),) * 2, emit)


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
        call_intrinsic(
            builder, "llvm.prefetch.p0", ir.VoidType(), place, is_write, locality, is_data
        )
        return ir.Constant(_BOOL, 0)

    return Primitive((_WORD, _WORD), emit)


def _fence(builder: Any, values: Sequence[Any]) -> Any:
    """Emit a fence that orders streaming stores before later stores, as other threads see them."""
    call_intrinsic(builder, "llvm.x86.sse.sfence", ir.VoidType())
    return ir.Constant(_BOOL, 0)


def _pair_load(names: Sequence[str]) -> Primitive:
    """Return `vloadpair_element_lanes_binding(base, index)`: two elements, in all lanes."""
    element, lanes, binding = element_by_name(names[0]), int(names[1]), int(names[2])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        place = vector_address(builder, base, index, element, 2)
        instruction = builder.load(place, align=element.storage_bytes)
        _annotate(builder.module, instruction, binding)
        return repeated_pair(builder, instruction, element, lanes)

    return Primitive((_WORD, _WORD), emit)


def _splat_load(names: Sequence[str]) -> Primitive:
    """`vloadsplat_element_total_lanes_binding(base, index)`: one element, widened, in all lanes."""
    element, total = map(element_by_name, names[:2])
    lanes, binding = map(int, names[2:])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        place = vector_address(builder, base, index, element, 1)
        instruction = builder.load(place, align=element.storage_bytes)
        _annotate(builder.module, instruction, binding)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        stored = builder.shuffle_vector(instruction, instruction, everywhere)
        return widened(builder, stored, element, total)

    return Primitive((_WORD, _WORD), emit)


def _vector_dot(names: Sequence[str]) -> Primitive:
    """Return `vdot_lanes(left, right, total)` for pairs of 16-bit terms."""
    words = ir.VectorType(ir.IntType(32), int(names[0]))

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return dot(builder, *values)

    return Primitive((words,) * 3, emit)


_VECTORS = {
    "vwords": _vector_words,
    "vloadpair": _pair_load,
    "vloadsplat": _splat_load,
    "vdot": _vector_dot,
    "vload": _vector_load,
    "vstore": _vector_store,
    "vsplat": _vector_splat,
    "vmuladd": _vector_multiply_add,
    "vadd": _vector_add,
    "prefetch": _prefetch,
}
