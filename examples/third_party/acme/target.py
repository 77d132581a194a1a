"""An example target: an encoding solver for a machine with square tiles.

`#acme.solver<8>` stores every operand of a contraction in tiles of 8x8. A target needs nothing
else: sizes, executable variants and relayouts follow from the layout.
"""

from __future__ import annotations

from collections.abc import Sequence

from mesh_opt.extend import (
    IDENTITY,
    ContractionEncoding,
    EncodingSolverInterface,
    LayoutAttribute,
    PackedLayout,
    Tensor,
    Tile,
    encoding_info,
    packed_layout_of,
    tiled_layout,
)
from xdsl.dialects.builtin import DictionaryAttr, IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class AcmeLayoutAttr(ParametrizedAttribute, LayoutAttribute):
    """`<{innerDimsPos = ..., ...}>`: a resolved layout, independent of its solver."""

    name = "acme.layout"
    info: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_attribute()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.info)

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return packed_layout_of(self.info)


@irdl_attr_definition
class AcmeSolverAttr(ParametrizedAttribute, EncodingSolverInterface):
    """`<tile>`: the solver that an executable target names as `iree.encoding.resolver`."""

    name = "acme.solver"
    tile: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.tile.data}>")

    def verify(self) -> None:
        if self.tile.data < 1:
            raise VerifyException(f"expected a positive tile, found {self.tile.data}")

    def configured(self, target: DictionaryAttr) -> AcmeSolverAttr:
        """Return the solver itself: it needs nothing from the target's dictionary."""
        return self

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        encoding = tensor.encoding
        operand = (
            encoding.contraction_operand() if isinstance(encoding, ContractionEncoding) else None
        )
        roles = None if operand is None else operand.roles()
        if operand is None or roles is None:
            return IDENTITY
        side = self.tile.data
        return tiled_layout(operand, roles, Tile(side, side, side), swap_result=False)

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        return AcmeLayoutAttr(encoding_info(self.packed_layout(tensor)))
