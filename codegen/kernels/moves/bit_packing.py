"""Pack elements of less than a byte into bytes, and unpack them.

Each byte holds some elements, the first one in its lowest bits.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....runtime.abi.elements import Element
from ..code.ast_builder import Term
from ..elements.expressions import writer_of_stored
from ..elements.kernel_text import KernelText, Panels, SizeConstant, TileCount

CHUNK = 16384
"""The bytes in a tile of work."""


def write_bits(operation: Operation, element: Element, bits: int, *, is_pack: bool) -> KernelText:
    """Return the kernel that packs elements of a byte each into `bits` bits, or unpacks them.

    It reads binding 1 and writes binding 0. Its constant is the number of elements. Bits of an
    element above its width are ignored; those of the last byte are zero.
    """
    plain, packed = Panels("plain"), Panels("packed")
    source, target = (plain, packed) if is_pack else (packed, plain)
    writer = writer_of_stored(operation, target)
    code, per_byte = writer.code, 8 // bits
    count = writer.constant(SizeConstant(plain, 0))
    to, start = writer.address(target), writer.address(source)
    whole, size = code.floor_divide(count, per_byte), code.ceiling_divide(count, per_byte)

    def number(value: int) -> Term:
        return code.integer_constant(value, "i8")

    def shifted(name: str, value: Term, amount: Term) -> Term:
        by = number(amount) if isinstance(amount, int) else code.call("converti_i64_i8", amount)
        return code.call(f"{name}_i8", value, by)

    def unpack(byte: Term, place: Term) -> None:
        """Write the element that begins at a bit of a byte."""
        above = code.subtract(8 - element.width, code.multiply(place, bits))
        value = shifted("shli", byte, above)
        is_signed = not (element.is_float or element.is_unsigned or element.width == 1)
        value = shifted("shrsi" if is_signed else "shrui", value, 8 - element.width)
        code.run("store_i8_0", to, code.add(first, place), value)

    def packed_byte(byte: Term, place: Term) -> Term:
        """Return a byte with one more element in its bits."""
        value = code.call("load_i8_1", start, code.add(first, place))
        value = code.call("andi_i8", value, number((1 << bits) - 1))
        return code.call("ori_i8", byte, shifted("shli", value, code.multiply(place, bits)))

    with code.loop("first", "last") as tile:
        begin = code.multiply(tile, CHUNK)
        end = code.minimum(code.add(begin, CHUNK), size)
        with code.loop(begin, code.minimum(end, whole)) as index:
            first = code.multiply(index, per_byte)
            if is_pack:
                byte = number(0)
                for place in range(per_byte):
                    byte = packed_byte(byte, place)
                code.run("store_i8_0", to, index, byte)
            else:
                byte = code.call("load_i8_1", start, index)
                for place in range(per_byte):
                    unpack(byte, place)
        with code.loop(whole, end) as index:
            first = code.multiply(index, per_byte)
            byte = code.copy(number(0) if is_pack else code.call("load_i8_1", start, index))
            with code.loop(0, code.subtract(count, first)) as place:
                if is_pack:
                    code.set(byte, packed_byte(byte, place))
                else:
                    unpack(byte, place)
            if is_pack:
                code.run("store_i8_0", to, index, byte)
    return writer.finish(TileCount((((count,), CHUNK * per_byte),)))
