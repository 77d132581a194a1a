"""What kernels call for everything but loop counters and addresses, by name.

A primitive is named `operation_element[_element]` (`addi_i4`, `truncf_f64_bf16`), and that name is
all that the text of a kernel says about it: the text determines what the kernel does. Its code is
LLVM IR with LLVM's exact semantics.
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
from ..microkernels.mmt4d import PackedTile, emit_packed_tile
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
    """The LLVM types of a primitive's arguments, and what writes its code.

    One that is called for its effect has a result that means nothing.
    """

    arguments: tuple[Any, ...]
    emit: Callable[[Any, Sequence[Any]], Any]


@cache
def primitive(name: str) -> Primitive:
    """The primitive of a given name. Raises KeyError if there is none."""
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
        tile = PackedTile(left, right, total, rows, columns, depth)
        return _on_addresses(emit_packed_tile(tile))
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
    """A microkernel: three addresses, and how many steps there are."""
    return Primitive((_WORD,) * 4, emit)


def _scratch(element: Element, count: int) -> Primitive:
    """The address of memory for `count` elements on the stack, at a multiple of 64 bytes."""
    kind = ir.ArrayType(ir.IntType(8), count * element.storage_bytes)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(kind)
            memory.align = 64
        return builder.ptrtoint(memory, _WORD)

    return Primitive((), emit)


_ALIAS_SCOPES = 32
"""Bindings of one kernel that LLVM may assume not to overlap; further ones are left alone."""

_alias_metadata: WeakKeyDictionary[ir.Module, list[tuple[Any, Any]]] = WeakKeyDictionary()


def _annotate(module: Any, instruction: Any, binding: int) -> None:
    """Say that an access of a binding meets no access of another.

    A kernel's bindings never overlap where one of them is written: without saying so, loops over
    many buffers are not vectorised.
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
    """`load(base, index)` or `store(base, index, value)` of an element of one binding."""
    # The parts of a complex number are read and written one by one: LLVM does so for many numbers
    # at once, but never for many vectors of two.
    part = element.part if element.is_complex else element
    parts = 2 if element.is_complex else 1

    def access(builder: Any, base: Any, index: Any, number: int, stored: Any = None) -> Any:
        """A load of a part, or a store."""
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


# Vectors. Their primitives name the elements, the lanes and, of loads and stores, the binding.


def _vector_type(element: Element, lanes: str) -> Any:
    return ir.VectorType(register_type(element), int(lanes))


def _vector_load(names: Sequence[str]) -> Primitive:
    """`vload_element_total_lanes_binding(base, index)`: elements, widened to those of `total`."""
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
    """`vstore_element_lanes_binding(base, index, vector)`."""
    element, lanes, binding = element_by_name(names[0]), int(names[1]), int(names[2])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index, vector = values
        place = vector_address(builder, base, index, element, lanes)
        _annotate(builder.module, builder.store(vector, place, element.storage_bytes), binding)
        return ir.Constant(_BOOL, 0)

    return Primitive((_WORD, _WORD, _vector_type(element, names[1])), emit)


def _vector_splat(names: Sequence[str]) -> Primitive:
    """`vsplat_element_lanes(value)`."""
    element, lanes = element_by_name(names[0]), int(names[1])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return splat(builder, values[0], lanes)

    return Primitive((register_type(element),), emit)


def _vector_multiply_add(names: Sequence[str]) -> Primitive:
    """`vmuladd_element_lanes(left, right, total)`."""
    vector = _vector_type(element_by_name(names[0]), names[1])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return multiply_add(builder, *values)

    return Primitive((vector,) * 3, emit)


def _vector_add(names: Sequence[str]) -> Primitive:
    """`vadd_element_lanes(left, right)`, a sum whose order is free."""
    element = element_by_name(names[0])
    _, add = OPERATIONS["sumf" if element.is_float else "addi"]

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        return add(builder, values, element)

    return Primitive((_vector_type(element, names[1]),) * 2, emit)


def _vector_words(names: Sequence[str]) -> Primitive:
    """`vwords_lanes_terms(...)` of 32-bit integers whose low bits are terms."""
    lanes, terms = (int(each) for each in names)
    return Primitive((ir.VectorType(ir.IntType(32), lanes),) * terms, words_of)


def _prefetch(names: Sequence[str]) -> Primitive:
    """`prefetch_element(base, index)`: an element is written soon."""
    element = element_by_name(names[0])

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, index = values
        place = vector_address(builder, base, index, element, 1)
        place = builder.bitcast(place, ir.IntType(8).as_pointer())
        will_write, everywhere, data = (ir.Constant(ir.IntType(32), each) for each in (0, 3, 1))
        call_intrinsic(
            builder, "llvm.prefetch.p0", ir.VoidType(), place, will_write, everywhere, data
        )
        return ir.Constant(_BOOL, 0)

    return Primitive((_WORD, _WORD), emit)


def _fence(builder: Any, values: Sequence[Any]) -> Any:
    """What was streamed is seen by other threads before all that is written later."""
    call_intrinsic(builder, "llvm.x86.sse.sfence", ir.VoidType())
    return ir.Constant(_BOOL, 0)


def _pair_load(names: Sequence[str]) -> Primitive:
    """`vloadpair_element_lanes_binding(base, index)`: two elements, in all lanes."""
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
    """`vdot_lanes(left, right, total)` of pairs."""
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
