"""The attribute `#iree_encoding.encoding`: which operand of which op a tensor is.

One class reads both spellings. That of 2024 has `round_dims_to`, `bcast_map` and, once specialised,
`targets`. The current one has `iteration_sizes`, and the encoding of a specialised tensor is a
`layout` attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import known_sizes, parse_size_list, print_size_list
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, Kind
from ...ir.tensor_types import element_named, element_of, shape_of
from ...tiling.contractions import RESULT, ContractionOperand, DimensionMap, Role
from ...tiling.convolutions import ConvolutionOperand, LinearMap
from ...tiling.packed_layouts import PackedLayout
from ...tiling.storage_sizes import Extent, StorageFormula
from .interfaces import (
    ContractionEncoding,
    ConvolutionEncoding,
    EncodingError,
    EncodingSolverInterface,
    LayoutInterface,
    Spelling,
    Tensor,
    TensorEncoding,
    with_encoding,
)
from .layouts import IdentityResolverAttr, resolve_to_layout

OPERATION_TYPES = ("matmul", "scaled_matmul", "conv")


def _parse_operation_type(parser: AttrParser) -> StringAttr:
    position = parser.pos
    word = parser.parse_identifier()
    if word not in OPERATION_TYPES:
        expected = ", ".join(OPERATION_TYPES)
        parser.raise_error(f"expected one of {expected}, found '{word}'", position)
    return StringAttr(word)


@irdl_attr_definition
class EncodingAttr(FieldsAttribute, ContractionEncoding, ConvolutionEncoding):
    """The operand, op and element types that a tensor is encoded for.

    `op_type` is `matmul`, `scaled_matmul` or `conv`. `user_indexing_maps` are the indexing maps of
    the op; an array of maps is composed. In the spelling of 2024 a specialised encoding lists
    solvers in `targets`.
    """

    name = "iree_encoding.encoding"
    operand_index: IntegerAttr
    op_type: StringAttr
    element_types: ArrayAttr[Attribute]
    original_element_type: Attribute
    user_indexing_maps: ArrayAttr[Attribute] | NoneAttr
    bcast_map: AffineMapAttr | NoneAttr
    round_dims_to: DenseArrayBase | NoneAttr
    iteration_sizes: ArrayAttr[IntegerAttr] | NoneAttr
    targets: ArrayAttr[Attribute] | NoneAttr
    FIELDS: ClassVar[Mapping[str, Kind]] = {
        "operand_index": KINDS["attr"],
        "op_type": (_parse_operation_type, KINDS["word"][1]),
        "element_types": KINDS["attr"],
        "original_element_type": KINDS["attr"],
        "user_indexing_maps": KINDS["attr"],
        "bcast_map": KINDS["attr"],
        "round_dims_to": KINDS["attr"],
        "iteration_sizes": (parse_size_list, print_size_list),
        "targets": KINDS["attr"],
    }
    REQUIRED: ClassVar[Sequence[str]] = ("operand_index", "op_type", "element_types")

    def verify(self) -> None:
        slots = self.map_slots()
        listed = isinstance(self.user_indexing_maps, ArrayAttr)
        if listed and self.operand_index.value.data >= len(slots):
            raise VerifyException("`operandIndex` exceeds the size of `user_indexing_maps`")
        for index, maps in enumerate(slots):
            _compose(maps, index)
        if any(size < 1 for size in self._rounding().values()):
            raise VerifyException("expected all sizes in `round_dims_to` to be positive")
        if isinstance(self.iteration_sizes, ArrayAttr):
            if not slots:
                raise VerifyException(
                    "found `iteration_sizes` without any corresponding `user_indexing_maps`"
                )
            loops = slots[0][0].num_dims
            if len(self.iteration_sizes) != loops:
                raise VerifyException(
                    f"found an encoding with {len(self.iteration_sizes)} iteration sizes, but "
                    f"expected {loops} based on the user indexing maps"
                )

    @property
    def spelling(self) -> Spelling | None:
        """The spelling that the keys in use imply; `None` if both spellings have them."""
        if any(
            not isinstance(value, NoneAttr)
            for value in (self.bcast_map, self.round_dims_to, self.targets)
        ):
            return "2024"
        if isinstance(self.iteration_sizes, NoneAttr):
            return None
        return "today"

    def map_slots(self) -> tuple[tuple[AffineMap, ...], ...]:
        """Return the maps to compose for each operand, the op's own indexing map first.

        Raises VerifyException if an entry is no map.
        """
        if isinstance(self.user_indexing_maps, NoneAttr):
            return ()
        slots: list[tuple[AffineMap, ...]] = []
        for index, slot in enumerate(self.user_indexing_maps):
            parts = (slot,)
            if isinstance(slot, ArrayAttr):
                parts = cast("ArrayAttr[Attribute]", slot).data
            maps = tuple(part.data for part in parts if isinstance(part, AffineMapAttr))
            if not maps or len(maps) != len(parts):
                raise VerifyException(
                    f"found a non-composable attribute in `user_indexing_maps` at index: {index}"
                )
            slots.append(maps)
        return tuple(slots)

    @property
    def is_resolved(self) -> bool:
        return isinstance(self.targets, ArrayAttr)

    def layouts(self) -> tuple[LayoutInterface, ...]:
        if isinstance(self.targets, NoneAttr):
            return ()
        general = self.without_targets()
        return tuple(
            TargetLayout(solver, general)
            for solver in self.targets
            if isinstance(solver, EncodingSolverInterface)
        )

    def without_targets(self) -> EncodingAttr:
        """Return the encoding before it was specialised."""
        return self.new([*self.parameters[:-1], NoneAttr()])

    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> TensorEncoding | None:
        self._require_rank(tensor)
        if spelling == "2024":
            if any(isinstance(solver, IdentityResolverAttr) for solver in solvers):
                return None
            return self.new([*self.parameters[:-1], ArrayAttr(solvers)])
        return resolve_to_layout(with_encoding(tensor, self), solvers)

    def _require_rank(self, tensor: Tensor) -> None:
        slots, index = self.map_slots(), self.operand_index.value.data
        if index >= len(slots):
            return
        rank, found = len(self._tensor_map(slots).results), len(shape_of(tensor))
        if rank != found:
            raise EncodingError(
                f"operand #{index} of the encoding's operation has {rank} dimensions, not {found}"
            )

    def contraction_operand(self) -> ContractionOperand | None:
        return self._operand_of("matmul", 3)

    def product_operand(self) -> ContractionOperand | None:
        return self.contraction_operand() or self._operand_of("scaled_matmul", 5)

    def _operand_of(self, op_type: str, tensors: int) -> ContractionOperand | None:
        """Return the operand of a contraction of that type; `None` for other operations."""
        slots = self.map_slots()
        index = self.operand_index.value.data
        if self.op_type.data != op_type or len(slots) != tensors or index >= tensors:
            return None
        maps = tuple(dimension_map(maps[0]) for maps in slots)
        operand = ContractionOperand(
            index,
            tuple(element_named(type_) for type_ in self.element_types),
            maps,
            dimension_map(self._tensor_map(slots)),
        )
        sizes = self._sizes(operand, slots[index][0].num_dims)
        return replace(operand, iteration_sizes=sizes)

    def _tensor_map(self, slots: tuple[tuple[AffineMap, ...], ...]) -> AffineMap:
        """Return the map from loops to this tensor's dimensions, with the broadcast applied."""
        index = self.operand_index.value.data
        composed = _compose(slots[index], index)
        if isinstance(self.bcast_map, AffineMapAttr):
            return self.bcast_map.data.compose(composed)
        return composed

    def convolution_operand(self) -> ConvolutionOperand | None:
        slots = self.map_slots()
        index = self.operand_index.value.data
        if self.op_type.data != "conv" or len(slots) != 3 or index > RESULT:
            return None
        maps = [linear_map(_compose(maps, index)) for maps in slots]
        linear = tuple(map_ for map_ in maps if map_ is not None)
        if len(linear) != len(maps):
            return None
        types = tuple(element_named(type_) for type_ in self.element_types)
        return ConvolutionOperand(index, types, linear)

    def _sizes(self, operand: ContractionOperand, loops: int) -> tuple[int | None, ...]:
        """Return the known extent of each loop.

        With `round_dims_to` of 2024 they are its values for M, N and K: a narrow dimension has a
        smaller one.
        """
        if isinstance(self.iteration_sizes, ArrayAttr):
            return known_sizes(self.iteration_sizes)
        roles = operand.roles()
        if isinstance(self.round_dims_to, NoneAttr) or roles is None:
            return ()
        by_role = self._rounding()
        return tuple(by_role.get(roles.get(loop, Role.BATCH)) for loop in range(loops))

    def unresolved_formula(self, tensor: Tensor) -> StorageFormula | None:
        """Return the size that 2024 allocated for any target.

        M, N and K are rounded up to `round_dims_to`. Returns `None` if the encoding has none or is
        not of a contraction.
        """
        operand = self.contraction_operand()
        roles = None if operand is None else operand.roles()
        if isinstance(self.round_dims_to, NoneAttr) or operand is None or roles is None:
            return None
        rounded = self._rounding()
        extents = [
            Extent(size, 0, 1 if loop is None else rounded.get(roles.get(loop, Role.BATCH), 1))
            for size, loop in zip(shape_of(tensor), operand.tensor_map, strict=True)
        ]
        return StorageFormula(tuple(extents), element_of(tensor).storage_bits)

    def _rounding(self) -> dict[Role, int]:
        """Return the values of `round_dims_to` for M, N and K."""
        if isinstance(self.round_dims_to, NoneAttr):
            return {}
        rounded = cast("DenseArrayBase[IntegerType]", self.round_dims_to).get_values()
        return dict(zip((Role.M, Role.N, Role.K), rounded, strict=False))

    def dynamic_dimensions(self) -> int:
        if isinstance(self.iteration_sizes, NoneAttr):
            return 0
        return known_sizes(self.iteration_sizes).count(None)


def _compose(maps: Sequence[AffineMap], index: int) -> AffineMap:
    """Compose maps, the op's own map first, into one from loops to the tensor's dimensions.

    Raises VerifyException if they cannot be composed.
    """
    composed, *rest = maps
    for map_ in rest:
        if map_.num_dims != len(composed.results):
            raise VerifyException(
                f"found a non-composable attribute in `user_indexing_maps` at index: {index}"
            )
        composed = map_.compose(composed)
    return composed


def linear_map(map_: AffineMap) -> LinearMap | None:
    """Return a map's results as sums of loops times factors; `None` if one is not linear."""
    rows: list[tuple[tuple[int, int], ...]] = []
    loops = range(map_.num_dims)
    for expression in map_.results:
        at_zero = expression.eval([0] * map_.num_dims, [])
        factors = [expression.eval([int(i == loop) for i in loops], []) - at_zero for loop in loops]
        # A linear expression is additive: its value at 7 in every loop is 7 times the sum of the
        # factors. Divisions and remainders fail this test.
        if at_zero != 0 or expression.eval([7] * map_.num_dims, []) != 7 * sum(factors):
            return None
        rows.append(tuple((loop, factor) for loop, factor in enumerate(factors) if factor))
    return tuple(rows)


def dimension_map(map_: AffineMap) -> DimensionMap:
    """Return the loop that is each result of a map; `None` for a result that is no single loop."""
    return tuple(
        expression.position if isinstance(expression, AffineDimExpr) else None
        for expression in map_.results
    )


@dataclass(frozen=True, slots=True)
class TargetLayout(LayoutInterface):
    """A solver in `targets` (2024), queried about tensors of the encoding it belongs to."""

    solver: EncodingSolverInterface
    encoding: EncodingAttr

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return self.solver.packed_layout(with_encoding(tensor, self.encoding))

    def storage_formula(self, tensor: Tensor) -> StorageFormula:
        return self.solver.storage_formula(with_encoding(tensor, self.encoding))
