"""The scalar operations of generated kernels, as Numba intrinsics with LLVM's exact semantics.

Numba's own arithmetic follows Python and NumPy (`int32 + int32` is an `int64`); generated code
therefore calls a primitive for everything but loop counters and addresses. A primitive is named
`operation_element[_element]` (`addi_i4`, `truncf_f64_bf16`), and that name is all that the source
of a kernel says about it, so a kernel's text determines its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import ir
from numba import extending, types

from ...runtime.abi.elements import Element, element_by_name
from ..microkernels.mmt4d import PackedTile, emit_packed_tile
from ..microkernels.products import emit_tile
from .llvm_scalar_ops import OPERATIONS
from .llvm_values import from_storage, to_storage

Emit = Callable[..., Any]


def numba_type(element: Element) -> Any:
    """The Numba type of a register that holds an element."""
    if element.is_float:
        return types.float64 if element.width == 64 else types.float32
    if element.container_width == 1:
        return types.boolean
    return getattr(types, f"int{element.container_width}")


@cache
def primitive(name: str) -> Any:
    """The intrinsic of a given name. Raises KeyError if there is none."""
    operation, *element_names = name.split("_")
    if operation in ("load", "store"):
        return _memory_primitive(
            operation, element_by_name(element_names[0]), int(element_names[1])
        )
    if operation == "scratch":
        return _scratch(element_by_name(element_names[0]), int(element_names[1]))
    if operation == "microkernel":
        rows, columns = (int(each) for each in element_names[1:])
        emit_on_addresses = emit_tile(element_by_name(element_names[0]), rows, columns)
        return _intrinsic([types.int64] * 4, types.boolean, emit_on_addresses)
    if operation == "tile":
        left, right, total = map(element_by_name, element_names[:3])
        rows, columns, depth = (int(each) for each in element_names[3:])
        tile = PackedTile(left, right, total, rows, columns, depth)
        return _intrinsic([types.int64] * 4, types.boolean, emit_packed_tile(tile))
    elements = tuple(element_by_name(each) for each in element_names)
    signature, emit = OPERATIONS[operation]
    arguments, result = signature(*elements)

    def emit_elements(builder: Any, values: Sequence[Any]) -> Any:
        return emit(builder, values, *elements)

    return _intrinsic([_type(each) for each in arguments], _type(result), emit_elements)


def _type(element: Element | str) -> Any:
    if isinstance(element, str):
        return types.boolean
    return numba_type(element)


def _intrinsic(arguments: Sequence[Any], result: Any, emit: Emit) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return emit(builder, list(values))

    signature = result(*arguments)

    # Numba looks at an intrinsic's own parameter list, so there is one wrapper per arity.
    def nullary(typingctx: Any) -> Any:
        return signature, generate

    def unary(typingctx: Any, a: Any) -> Any:
        return signature, generate

    def binary(typingctx: Any, a: Any, b: Any) -> Any:
        return signature, generate

    def ternary(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
        return signature, generate

    make: Any = extending.intrinsic

    def quaternary(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return signature, generate

    return make((nullary, unary, binary, ternary, quaternary)[len(arguments)])


def _scratch(element: Element, count: int) -> Any:
    """The address of memory for `count` elements on the stack, at a multiple of 64 bytes."""
    kind = ir.ArrayType(ir.IntType(8), count * element.storage_bytes)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(kind)
            memory.align = 64
        return builder.ptrtoint(memory, ir.IntType(64))

    return _intrinsic([], types.int64, emit)


_ALIAS_SCOPES = 32
"""Bindings of one kernel that LLVM may assume not to overlap; further ones are left alone."""


def _memory_primitive(operation: str, element: Element, binding: int) -> Any:
    """`load(base, index)` or `store(base, index, value)` of an element of one binding.

    A kernel's bindings never overlap where one of them is written, which the metadata says:
    without it, loops over many buffers are not vectorised.
    """
    storage = ir.IntType(element.storage_bytes * 8)
    if element.is_float and element.width >= 32:
        storage = ir.FloatType() if element.width == 32 else ir.DoubleType()

    def address(builder: Any, base: Any, index: Any) -> Any:
        pointer = builder.inttoptr(base, storage.as_pointer())
        return builder.gep(pointer, [index])

    def annotate(builder: Any, instruction: Any) -> None:
        if binding >= _ALIAS_SCOPES:
            return
        module = builder.module
        domain = module.add_metadata([ir.MetaDataString(module, "bindings")])
        scopes = [
            module.add_metadata([ir.MetaDataString(module, f"binding {i}"), domain])
            for i in range(_ALIAS_SCOPES)
        ]
        others = [scope for i, scope in enumerate(scopes) if i != binding]
        instruction.set_metadata("alias.scope", module.add_metadata([scopes[binding]]))
        instruction.set_metadata("noalias", module.add_metadata(others))

    def load(builder: Any, values: Sequence[Any]) -> Any:
        instruction = builder.load(address(builder, *values))
        annotate(builder, instruction)
        return from_storage(builder, instruction, element)

    def store(builder: Any, values: Sequence[Any]) -> Any:
        stored = to_storage(builder, values[2], element)
        annotate(builder, builder.store(stored, address(builder, values[0], values[1])))
        return ir.Constant(ir.IntType(1), 0)

    held = numba_type(element)
    if operation == "load":
        return _intrinsic([types.int64, types.int64], held, load)
    return _intrinsic([types.int64, types.int64, held], types.boolean, store)
