"""The instructions of host code: one table for assembler, printer and machine.

An instruction is a row of 64-bit words: the opcode, then its operands. Registers are words in the
frame of a call. An instruction of `SCALARS` computes one register from up to three others, as the
primitive of the same name does in a kernel.

| kind of operand | words | meaning |
|---|---|---|
| `read`, `write` | 1 | a register, by its byte offset in the frame |
| `reads`, `writes` | 1 + n | a count, and that many registers |
| `number` | 1 | a number |
| `target` | 1 | an instruction, by its distance in bytes |
| `frame` | 1 | the size of the function's own frame in bytes, after which callees' frames begin |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..abi.elements import Element, element_by_name
from ..abi.native_code import source_of

SOURCE = source_of(__file__)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of instruction: its opcode, its operands as `(name, kind)`, and its meaning."""

    opcode: int
    name: str
    operands: tuple[tuple[str, str], ...]
    meaning: str


_CONTROL = (
    ("return", "", "Return to the caller; the results are at the beginning of the frame."),
    (
        "call",
        "function:number frame:frame",
        "Call a function; its arguments are at the beginning of its frame.",
    ),
    (
        "call_register",
        "function:read frame:frame",
        "Call the function whose number is in a register.",
    ),
    ("jump", "to:target", "Jump. Backward jumps check whether the run must end."),
    ("jump_if", "condition:read to:target", "Jump if a register is not 0."),
    ("jump_unless", "condition:read to:target", "Jump if a register is 0."),
    (
        "loop",
        "index:write limit:read step:read to:target",
        "Add the step to the index; jump while the index is below the limit.",
    ),
    ("move", "result:write value:read", "Copy a register."),
    (
        "address",
        "result:write value:read",
        "Take the address of a register, valid until the next call.",
    ),
    ("process", "result:write", "Read the number of the process in its grid."),
    (
        "position",
        "result:write before:read index:read size:read outside:target",
        "Compute `before * size + index`; jump unless `0 <= index < size`.",
    ),
    ("size", "result:write left:read right:read", "Multiply sizes; overflow is an error."),
    ("allocate", "result:write bytes:read", "Allocate a block with one reference."),
    (
        "reuse",
        "result:write block:read address:read bytes:read",
        "Return a block to write to: the given one if it has no other reference, or a new one.",
    ),
    (
        "own",
        "result:write block:read address:read bytes:read",
        "The same as `reuse`, with the contents at the address.",
    ),
    ("retain", "block:read", "Add a reference."),
    ("release", "block:read", "Remove a reference; the last one frees the block."),
    ("copy", "target:read source:read bytes:read", "Copy bytes."),
    *(
        (f"load_{element}", "result:write address:read", "Load an element.")
        for element in ("i8", "i16", "i32", "i64", "u8", "u16", "u32")
    ),
    *(
        (f"store_{bits}", "address:read value:read", "Store an element.")
        for bits in (8, 16, 32, 64)
    ),
    (
        "run",
        "kernel:number frame:frame tiles:read work:read bindings:reads constants:reads",
        "Run a kernel on all its tiles.",
    ),
    ("check", "number:number values:reads", "Check sizes that differ from those checked last."),
    ("device", "number:number", "Set the device of new blocks."),
    ("count", "number:number amount:read", "Add to a word of the pool."),
    ("globals", "result:write", "Take the address of the program's globals."),
    ("fail", "number:number values:reads", "End the run with an error."),
    ("python", "number:number results:writes values:reads", "Call a Python function."),
    (
        "exchange",
        "number:number results:writes values:reads",
        "Run a collective or message, at first by a Python function.",
    ),
    (
        "start",
        "number:number values:reads",
        "Start an exchange without waiting for other devices.",
    ),
)
"""Rows of (name, operands as `name:kind`, meaning)."""


def _control() -> Iterator[Kind]:
    for opcode, (name, operands, meaning) in enumerate(_CONTROL):
        pairs = [tuple(each.split(":")) for each in operands.split()]
        yield Kind(opcode, name, tuple((pair[0], pair[1]) for pair in pairs), meaning)


CONTROL: dict[str, Kind] = {kind.name: kind for kind in _control()}
"""Instructions other than scalar ones, by name."""

FIRST_SCALAR = 64
"""The first opcode of `SCALARS`."""

SCALAR_WORDS = 5
"""The number of words of each instruction of `SCALARS`; those behind its operands are 0."""

_WIDTHS = ("i1", "i8", "i16", "i32", "i64")
_WIDE = _WIDTHS[1:]
_FLOATS = ("f32", "f64")

_ORDERS = "eq ne slt sle sgt sge ult ule ugt uge"
_FLOAT_ORDERS = "oeq ogt oge olt ole one ueq ugt uge ult ule une"
_ROWS = (
    ("addi subi muli andi ori xori select", _WIDTHS),
    (" ".join(f"cmpi{order}" for order in _ORDERS.split()), _WIDTHS),
    ("divsi divui remsi remui floordivsi ceildivsi ceildivui floormodsi", _WIDE),
    ("shli shrsi shrui maxsi maxui minsi minui absi ctlz cttz ctpop", _WIDE),
    ("mulsihigh muluihigh", _WIDE),
    ("addf subf mulf divf negf maximumf minimumf maxnumf minnumf", _FLOATS),
    ("sqrt absf ceil floor round roundeven trunc copysign fma select", _FLOATS),
    (" ".join(f"cmpf{order}" for order in _FLOAT_ORDERS.split()), _FLOATS),
    ("cmpford cmpfuno isnan isfinite isinf", _FLOATS),
)


_UNARY = frozenset(
    "absi ctlz cttz ctpop negf sqrt absf ceil floor round roundeven trunc isnan isfinite isinf"
    " converti convertui sitofp uitofp fptosi fptoui convertf bitcast".split()
)
_TERNARY = frozenset(("select", "fma"))
"""Operations that do not take two operands."""


def _scalar_names() -> Iterator[str]:
    for operations, elements in _ROWS:
        for operation in operations.split():
            yield from (f"{operation}_{element}" for element in elements)
    for left in _WIDTHS:
        for right in _WIDTHS:
            if left != right:
                yield from (f"converti_{left}_{right}", f"convertui_{left}_{right}")
        for real in _FLOATS:
            yield from (f"sitofp_{left}_{real}", f"uitofp_{left}_{real}")
            yield from (f"fptosi_{real}_{left}", f"fptoui_{real}_{left}")
    yield from ("convertf_f32_f64", "convertf_f64_f32")
    yield from ("bitcast_f32_i32", "bitcast_i32_f32", "bitcast_f64_i64", "bitcast_i64_f64")


def signature(name: str) -> tuple[tuple[Element, ...], tuple[Element, ...], Element]:
    """Return a scalar instruction's elements: (those in its name, its operands', its result)."""
    # Imported here because importing the kernel writer takes time, and only printing needs it.
    from ...codegen.scalar_ops.llvm_scalar_ops import OPERATIONS

    operation, *names = name.split("_")
    elements = tuple(element_by_name(each) for each in names)
    operands, result = OPERATIONS[operation][0](*elements)
    truth = element_by_name("i1")
    taken = tuple(truth if isinstance(each, str) else each for each in operands)
    return elements, taken, truth if isinstance(result, str) else result


def _scalars() -> Iterator[Kind]:
    for number, name in enumerate(_scalar_names()):
        operation = name.split("_")[0]
        count = 3 if operation in _TERNARY else 1 if operation in _UNARY else 2
        operands = (("result", "write"), *((f"operand{i}", "read") for i in range(count)))
        meaning = "Compute the primitive of this name."
        yield Kind(FIRST_SCALAR + number, name, operands, meaning)


SCALARS: dict[str, Kind] = {kind.name: kind for kind in _scalars()}
"""Instructions that compute a register, by name."""

KINDS: dict[str, Kind] = {**CONTROL, **SCALARS}
"""All instructions by name."""

NO_SUCCESSOR = frozenset(("jump", "return", "fail"))
"""Instructions that do not fall through to the next one."""

BY_OPCODE: dict[int, Kind] = {kind.opcode: kind for kind in KINDS.values()}
