"""The `iree_gpu` dialect: encoding solvers for GPUs, and descriptions of GPUs.

Layouts are derived from the matrix instructions that a target lists, or from a table of known
architectures (`tiling/gpu_layouts.py`). On other GPUs tensors are stored as without an encoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, NoneAttr, StringAttr, i64
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..ir.flags import flags
from ..ir.syntax.attribute_format import KINDS, FieldsAttribute, Kind
from ..ir.tensor_types import element_of, shape_of
from ..tiling.gpu_intrinsics import Workgroup
from ..tiling.gpu_layouts import Cache, cache_of, instruction_for, row_padding
from ..tiling.gpu_processors import processor
from ..tiling.packed_layouts import IDENTITY, PackedLayout
from ..tiling.targets import GpuTarget, Target
from .iree_codegen import DescriptionAttribute, described, parse_entries
from .iree_cpu import TileTableSolver
from .iree_encoding.interfaces import (
    ContractionEncoding,
    EncodingError,
    EncodingSolverInterface,
    LayoutAttribute,
    Tensor,
    TensorEncoding,
    TiledOperation,
)
from .iree_encoding.layouts import IdentityAttr, PaddingAttr

TARGET_KEYS = ("iree_codegen.target_info", "iree.gpu.target")
"""Keys under which an executable target describes its GPU: current, then 2024."""

USUAL_PROCESSORS = 512
"""The assumed number of concurrent workgroups if a target has no `wgp_count`, as in IREE."""


_SCALED = re.compile(
    r"<intrinsic = (\w+), lhs_elem_type = (\w+), rhs_elem_type = (\w+), acc_elem_type = (\w+)>"
)


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """`<arch = "gfx942", features = "", wgp = <...>>`: the description of a GPU."""

    name = "iree_gpu.target"
    arch: StringAttr
    description: StringAttr
    """The text of all parameters, including `arch`."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        arch = ""
        entries: list[str] = []
        for entry in parse_entries(parser):
            entries.append(entry)
            if entry.startswith("arch = "):
                arch = entry.removeprefix("arch = ").strip('"')
        if not arch:
            parser.raise_error('struct is missing required parameter: arch = "..."')
        return [StringAttr(arch), StringAttr(", ".join(entries))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.description.data}>")

    def workgroup(self) -> Workgroup | None:
        """Return the matrix instructions and the limits of their tiles; `None` if incomplete."""
        text = self.description.data
        listed = re.search(r"\bmma = \[(.*?)\]", text)
        scaled = tuple(_SCALED.findall(text))
        load_bits = self._number("max_load_instruction_bits")
        register_bits = self._number("vgpr_space_bits")
        subgroups = self._number("simds_per_wgp")
        shared_bytes = self._number("max_workgroup_memory_bytes")
        if not (listed or scaled) or not load_bits or not register_bits or not subgroups:
            return None
        instructions = tuple(re.findall(r"<(\w+)>", listed[1])) if listed else ()
        processors = self._number("wgp_count") or USUAL_PROCESSORS
        return Workgroup(
            instructions, load_bits, register_bits, subgroups, shared_bytes or 0, processors, scaled
        )

    def _number(self, key: str) -> int | None:
        """Return a positive number of the description; `None` if absent or above 9 digits."""
        found = re.search(rf"\b{key} = ([1-9]\d{{0,8}})\b", self.description.data)
        return None if found is None else int(found[1])


@irdl_attr_definition
class GpuEncodingResolverAttr(TileTableSolver):
    """The solver for GPUs."""

    name = "iree_gpu.gpu_encoding_resolver"
    KEPT: ClassVar[frozenset[str]] = frozenset(TARGET_KEYS)

    def target(self) -> Target:
        return target_in(self.entries())

    def inner_tiled(self, tensor: Tensor) -> TiledOperation | None:
        encoding, workgroup = tensor.encoding, target_in(self.entries()).workgroup
        if not isinstance(encoding, ContractionEncoding) or workgroup is None:
            return None
        operand = encoding.product_operand()
        roles = None if operand is None else operand.roles()
        if operand is None or roles is None:
            return None
        tiled = instruction_for(workgroup, operand, roles)
        if tiled is None:
            return None
        kind = DataTiledScaledMmaLayoutAttr if operand.is_scaled else DataTiledMmaLayoutAttr
        return TiledOperation(
            kind.new([StringAttr(str(tiled))]),
            MmaSemanticsAttr.new([StringAttr("distributed = false, opaque = false")]),
            tuple(one.name for one in tiled.instruction.types),
            tuple(map(tiled.swizzle, range(len(operand.maps)))),
        )

    def unified_encoding(self, encodings: Sequence[TensorEncoding]) -> TensorEncoding | None:
        return encodings[0]


@irdl_attr_definition
class GpuPaddingResolverAttr(FieldsAttribute, EncodingSolverInterface):
    """The solver for GPUs that does not tile tensors but pads their rows.

    It pads by the lines and sets of the target's cache; without them it does not pad.
    """

    name = "iree_gpu.gpu_padding_resolver"
    cache_line_bytes: IntegerAttr | NoneAttr
    cache_sets: IntegerAttr | NoneAttr
    FIELDS: ClassVar[Mapping[str, Kind]] = dict.fromkeys(
        ("cache_line_bytes", "cache_sets"), KINDS["i64"]
    )
    IS_LAYOUT: ClassVar[bool] = False

    def configured(self, target: DictionaryAttr) -> Self:
        cache = cache_of(target_in(target.data))
        if cache is None:
            return self.new([NoneAttr(), NoneAttr()])
        return self.new([IntegerAttr(cache.line_bytes, i64), IntegerAttr(cache.sets, i64)])

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        encoding, cache = tensor.encoding, self._cache()
        if not isinstance(encoding, PaddingAttr) or cache is None:
            return IdentityAttr()
        length = shape_of(tensor)[-1]
        if length is None:
            raise EncodingError(
                f"the padding of the rows of {tensor} depends on their length, which is not static"
            )
        bits = element_of(tensor).storage_bits
        return encoding.with_row_padding(row_padding(cache, length, bits))

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return IDENTITY

    def _cache(self) -> Cache | None:
        line, sets = self.cache_line_bytes, self.cache_sets
        if isinstance(line, NoneAttr) or isinstance(sets, NoneAttr):
            return None
        return Cache(line.value.data, sets.value.data)


def target_in(entries: Mapping[str, Attribute]) -> GpuTarget:
    """Return the GPU that a configuration describes, else that of the flag.

    Without both it is a GPU without properties.
    """
    for key in TARGET_KEYS:
        if isinstance(target := entries.get(key), TargetAttr):
            return GpuTarget(target.arch.data, target.workgroup())
    return processor(flags().graphics_processor)


@irdl_attr_definition
class DataTiledMmaLayoutAttr(DescriptionAttribute):
    """A tile of GPU matrix instructions (`TiledGpuInstruction`)."""

    name = "iree_gpu.data_tiled_mma_layout"


@irdl_attr_definition
class DataTiledScaledMmaLayoutAttr(DescriptionAttribute):
    """A tile of GPU matrix instructions for scaled factors (`TiledScaledInstruction`)."""

    name = "iree_gpu.data_tiled_scaled_mma_layout"


@irdl_attr_definition
class MmaSemanticsAttr(DescriptionAttribute):
    """The semantics of `inner_tiled` on GPUs: whether operands are distributed over lanes."""

    name = "iree_gpu.mma_semantics"


IreeGpu = Dialect(
    "iree_gpu",
    [],
    [
        DataTiledMmaLayoutAttr,
        DataTiledScaledMmaLayoutAttr,
        GpuEncodingResolverAttr,
        GpuPaddingResolverAttr,
        MmaSemanticsAttr,
        TargetAttr,
        *described(
            "iree_gpu",
            "conditional_transpose",
            "derived_thread_config",
            "lane_id",
            "lowering_config",
            "mma_layout",
            "pipeline",
            "pipeline_options",
            "promote_with_cache_swizzle",
            "reorder_workgroups_strategy",
            "scaled_mma_layout",
            "spirv_pipeline",
            "swizzle_operand",
            "target_chip",
            "use_global_load_dma",
            "virtual_mma_layout",
        ),
    ],
)
