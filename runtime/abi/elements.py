"""Element types: how a tensor element is stored in memory and held in a register.

Storage is that of NumPy, or of ml_dtypes for formats that NumPy lacks:

| element | memory |
|---|---|
| `i1` | a byte, 0 or 1 |
| another integer | sign-extended to the next wider native integer |
| `bf16`, `f16` | 16 bits |
| a float of at most 8 bits | a byte |
| a complex number | two floats |

In registers `f16` and `bf16` are an `f32` that is rounded to the narrow format after each
operation. This gives exactly the result of the narrow operation. So are smaller floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from .arrays import FLOAT_TYPES, container, integer_type

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation

NATIVE_WIDTHS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Element:
    """An element type.

    - `name`: a short identifier (`f32`, `i4`, `u8`), also part of generated names;
    - `width`: the bits of a value;
    - `storage_bytes`: the bytes of an element in memory;
    - `dtype`: the NumPy dtype of a buffer.
    """

    name: str
    width: int
    storage_bytes: int
    dtype: np.dtype[Any]
    is_float: bool
    is_unsigned: bool = False

    @property
    def container_width(self) -> int:
        """The bits of the register that holds an element: 1 for `i1`, else those of its storage."""
        return 1 if self.width == 1 and not self.is_float else self.storage_bytes * 8

    @property
    def is_complex(self) -> bool:
        """Whether an element is a pair of floats."""
        return self.dtype.kind == "c"

    @property
    def part(self) -> Element:
        """The float type of the real and imaginary parts of a complex number."""
        return F64 if self.width == 128 else F32

    @property
    def is_narrow_float(self) -> bool:
        """Whether registers hold an element as a wider float."""
        return self.is_float and self.width < 32

    @property
    def is_small_float(self) -> bool:
        """Whether an element is a float of at most 8 bits."""
        return self.is_float and self.width <= 8

    @property
    def register(self) -> str:
        """The name of the element type that holds an element in a register."""
        return "f32" if self.is_narrow_float else self.name


F16 = Element("f16", 16, 2, np.dtype(np.float16), True)
BF16 = Element("bf16", 16, 2, np.dtype(ml_dtypes.bfloat16), True)
F32 = Element("f32", 32, 4, np.dtype(np.float32), True)
F64 = Element("f64", 64, 8, np.dtype(np.float64), True)
C64 = Element("c64", 64, 8, np.dtype(np.complex64), False)
C128 = Element("c128", 128, 16, np.dtype(np.complex128), False)
I1 = Element("i1", 1, 1, np.dtype(np.bool_), False)
I64 = Element("i64", 64, 8, np.dtype(np.int64), False)

_FLOATS = {element.name: element for element in (F16, BF16, F32, F64)} | {
    name: Element(name, int(name[1]), 1, dtype, True)
    for name, dtype in FLOAT_TYPES.items()
    if dtype.itemsize == 1
}

_COMPLEX = {element.name: element for element in (C64, C128)}
_COMPLEX_TYPES = {f"complex<{element.part.name}>": element for element in (C64, C128)}


@cache
def integer_element(width: int, unsigned: bool = False) -> Element:
    """Return the integer element of `width` bits, at most 64."""
    if width == 1 and not unsigned:
        return I1
    dtype, sign = container(width, unsigned), "u" if unsigned else "i"
    return Element(f"{sign}{width}", width, dtype.itemsize, dtype, False, unsigned)


def element_by_name(name: str) -> Element:
    """Return the element with a given `Element.name`."""
    found = _FLOATS.get(name) or _COMPLEX.get(name)
    return found or integer_element(int(name[1:]), name[0] == "u")


@lru_cache(maxsize=64)
def element_of_type(name: str) -> Element | None:
    """Return the element of a type by its name in the IR; `None` if kernels do not have it."""
    integer = integer_type(name)
    if integer is not None:
        return integer_element(*integer) if integer[0] <= NATIVE_WIDTHS[-1] else None
    return _FLOATS.get(name) or _COMPLEX_TYPES.get(name)


def element_of(element_type: Attribute, operation: Operation) -> Element:
    """Return the element of an MLIR type. Raises OperationError at `operation` if unsupported."""
    found = element_of_type(_name(element_type))
    if found is None:
        # Imported here because saved programs look elements up by name and run without the IR.
        from ...ir.diagnostics import OperationError

        raise OperationError(
            operation,
            f"has elements of type {element_type}, which the native backend does not compile",
        )
    return found


@lru_cache(maxsize=64)
def _name(element_type: Attribute) -> str:
    return str(element_type)
