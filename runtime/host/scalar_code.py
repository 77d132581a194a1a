"""Native code of the scalar instructions: a switch over the operations of kernels.

It is compiled when a program first needs it, apart from the native loop, as it takes LLVM longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..abi.elements import Element
from ..abi.native_code import source_of
from ..intrinsics import intrinsic, load_field, load_word
from .instructions import CONTROL, FIRST_SCALAR, SCALAR_WORDS, SCALARS, Kind, signature
from .long_instructions import move
from .machine_state import CODE, FRAME, STEPPING

SOURCE = source_of(__file__)

MOVE = CONTROL["move"].opcode

_WORD = ir.IntType(64)
_NOTHING = ir.FunctionType(ir.VoidType(), [_WORD])


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _WORD.as_pointer())


def _read(builder: Any, word: Any, element: Element) -> Any:
    """Return an element from the low bytes of a register."""
    # Imported here because importing the kernel writer takes time, and only compiling this switch
    # needs it.
    from ...codegen.scalar_ops.llvm_values import from_storage

    stored = word
    if element.storage_bytes < 8:
        stored = builder.trunc(word, ir.IntType(8 * element.storage_bytes))
    if element.is_float and element.width >= 32:
        kind = ir.FloatType() if element.width == 32 else ir.DoubleType()
        return builder.bitcast(stored, kind)
    return from_storage(builder, stored, element)


def _write(builder: Any, value: Any, element: Element) -> Any:
    """Return a register with an element in its low bytes; integers are sign-extended."""
    from ...codegen.scalar_ops.llvm_values import to_storage

    stored = to_storage(builder, value, element)
    bits = ir.IntType(8 * element.storage_bytes)
    if element.is_float:
        stored = builder.bitcast(stored, bits)
    if element.storage_bytes == 8:
        return stored
    is_signed = not element.is_float and element.container_width > 1
    return (builder.sext if is_signed else builder.zext)(stored, _WORD)


def _compute(builder: Any, kind: Kind, registers: Sequence[Any]) -> Any:
    """Emit the operation of an instruction; return the register with its result."""
    from ...codegen.scalar_ops.llvm_scalar_ops import OPERATIONS

    elements, operands, result = signature(kind.name)
    # Unary operations leave the registers of the other operands unused.
    values = [_read(builder, word, each) for word, each in zip(registers, operands, strict=False)]
    computed = OPERATIONS[kind.name.split("_")[0]][1](builder, values, *elements)
    return _write(builder, computed, result)


@intrinsic
def compute(builder: Any, opcode: Any, code: Any, frame: Any) -> None:
    """Execute the scalar instruction at an address on the registers of a frame.

    All instructions read three registers in front of the switch: this costs less than it saves in
    the size of the code, and LLVM needs a second for it as it is.
    """

    def register(position: int) -> Any:
        word = builder.add(code, ir.Constant(_WORD, 8 * position))
        return _pointer(builder, builder.add(frame, builder.load(_pointer(builder, word))))

    registers = [builder.load(register(number)) for number in range(2, SCALAR_WORDS)]
    before = builder.block
    done = builder.append_basic_block("computed")
    switch = builder.switch(opcode, done)
    results = [(registers[0], before)]
    for kind in SCALARS.values():
        block = builder.append_basic_block(kind.name)
        switch.add_case(ir.Constant(_WORD, kind.opcode), block)
        builder.position_at_end(block)
        results.append((_compute(builder, kind, registers), builder.block))
        # Empty inline assembly that differs in each block: otherwise LLVM merges the ends of all
        # blocks, which costs another jump per instruction.
        builder.asm(_NOTHING, "", "i", [ir.Constant(_WORD, kind.opcode)], True)
        builder.branch(done)
    builder.position_at_end(done)
    result = builder.phi(_WORD)
    for word, block in results:
        result.add_incoming(word, block)
    builder.store(result, register(1))


def run_scalars(state: int) -> int:
    """Execute the scalar instruction at hand and those that follow; return where the next one is.

    Moves between them are executed as well. While stepping, only one instruction is executed.
    """
    code = load_field(state, CODE)
    frame = load_field(state, FRAME)
    stepping = load_field(state, STEPPING)
    opcode = load_word(code)
    while opcode >= FIRST_SCALAR or opcode == MOVE:
        if opcode == MOVE:
            code += move(code, frame)
        else:
            compute(opcode, code, frame)
            code += 8 * SCALAR_WORDS
        opcode = load_word(code) if stepping == 0 else 0
    return code
