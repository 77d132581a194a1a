"""The `iree_cpu` dialect: encoding solvers for CPUs and for VMVX, the portable virtual machine.

Each solver has a name of 2024 (`cpu_encoding_solver<target_configuration = ...>`) and a current one
(`cpu_encoding_resolver<configuration = ...>`). Both use the same tile tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from ..ir.flags import flags
from ..ir.syntax.attribute_format import KINDS, FieldsAttribute, Kind
from ..tiling.convolutions import convolution_layout
from ..tiling.cpu_intrinsics import TiledCpuInstruction
from ..tiling.packed_layouts import IDENTITY, PackedLayout
from ..tiling.solve import cpu_instruction_for, packed_layout
from ..tiling.targets import CpuTarget, Target, VmvxTarget, cpu_target, ukernels_enabled
from .iree_codegen import DescriptionAttribute, described
from .iree_encoding.interfaces import (
    ContractionEncoding,
    ConvolutionEncoding,
    EncodingSolverInterface,
    Spelling,
    Tensor,
    TiledOperation,
)
from .iree_encoding.packed_layout_dict import ENCODING_INFO, encoding_info, packed_layout_of

FIELDS_OF_2024: Mapping[str, Kind] = {"target_configuration": KINDS["attr"]}

ENCODING_ATTRIBUTE = "encoding_attr"
"""The key under which the current VMVX resolver keeps the encoding that it has resolved."""


@dataclass(frozen=True, init=False)
class TileTableSolver(FieldsAttribute, EncodingSolverInterface, ABC):
    """A solver that looks up layouts in the tile tables for its configuration."""

    FIELDS: ClassVar[Mapping[str, Kind]] = {"configuration": KINDS["attr"]}

    KEPT: ClassVar[frozenset[str]]
    """The entries to copy from an executable target's dictionary (current spelling)."""

    configuration: DictionaryAttr | NoneAttr

    def verify(self) -> None:
        if (info := self.entries().get(ENCODING_INFO)) is not None:
            if not isinstance(info, DictionaryAttr):
                raise VerifyException(f"{ENCODING_INFO} is not a dictionary")
            packed_layout_of(info)

    def entries(self) -> dict[str, Attribute]:
        """Return the configuration; empty if there is none."""
        if isinstance(self.configuration, NoneAttr):
            return {}
        return dict(self.configuration.data)

    def text(self, key: str) -> str:
        """Return a string of the configuration; empty if there is none."""
        value = self.entries().get(key)
        return value.data if isinstance(value, StringAttr) else ""

    @abstractmethod
    def target(self) -> Target:
        """Return the target that the configuration describes."""

    def configured(self, target: DictionaryAttr) -> Self:
        if self.SPELLING == "2024":
            kept = {k: v for k, v in target.data.items() if v != self}
        else:
            kept = {k: v for k, v in target.data.items() if k in self.KEPT}
        return self.new([DictionaryAttr(kept | self.entries())])

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        if isinstance(info := self.entries().get(ENCODING_INFO), DictionaryAttr):
            return packed_layout_of(info)
        encoding = tensor.encoding
        if not isinstance(encoding, ContractionEncoding):
            return IDENTITY
        if (operand := encoding.product_operand()) is not None:
            return packed_layout(self.target(), operand)
        if isinstance(encoding, ConvolutionEncoding):
            convolution = encoding.convolution_operand()
            if convolution is not None:
                return convolution_layout(self.target(), convolution)
        return IDENTITY

    def serialized(self, tensor: Tensor) -> Self:
        if self.SPELLING == "2024":
            return self
        info = encoding_info(self.packed_layout(tensor))
        return self.new([DictionaryAttr(self._remembered(tensor) | {ENCODING_INFO: info})])

    def _remembered(self, tensor: Tensor) -> dict[str, Attribute]:
        """Return what a resolved layout keeps besides the packed layout."""
        return {}


class CpuSolver(TileTableSolver, ABC):
    """The solver for `llvm-cpu` executables."""

    KEPT: ClassVar[frozenset[str]] = frozenset(
        {"cpu_features", "target_triple", "ukernels", "enable_inner_tiled"}
    )

    def target(self) -> CpuTarget:
        asked = self.entries().get("enable_inner_tiled")
        return cpu_target(
            self.text("target_triple"),
            self.text("cpu_features"),
            ukernels=self.text("ukernels"),
            scalable=flags().scalable_vectors,
            inner_tiled=isinstance(asked, IntegerAttr) and asked.value.data != 0,
        )

    def inner_tiled(self, tensor: Tensor) -> TiledOperation | None:
        target, encoding = self.target(), tensor.encoding
        if not target.inner_tiled or not isinstance(encoding, ContractionEncoding):
            return None
        operand = encoding.contraction_operand()
        roles = None if operand is None else operand.roles()
        if operand is None or roles is None:
            return None
        tiled = cpu_instruction_for(target, operand, roles)
        if tiled is None or not tiled.instruction.widens:
            return None
        return TiledOperation(
            DataTiledMmaLayoutAttr.new([StringAttr(str(tiled))]),
            MmaSemanticsAttr.new([StringAttr("")]),
            tuple(one.name for one in tiled.instruction.types),
            tuple(map(tiled.swizzle, range(3))),
        )


class VmvxSolver(TileTableSolver, ABC):
    """The solver for `vmvx` executables."""

    KEPT: ClassVar[frozenset[str]] = frozenset({"ukernels"})

    def target(self) -> Target:
        return VmvxTarget(ukernels_enabled(self.text("ukernels")))

    def _remembered(self, tensor: Tensor) -> dict[str, Attribute]:
        encoding = tensor.encoding
        return {ENCODING_ATTRIBUTE: encoding} if isinstance(encoding, ContractionEncoding) else {}


@irdl_attr_definition
class CpuEncodingResolverAttr(CpuSolver):
    """The solver for `llvm-cpu` executables, in the current spelling."""

    name = "iree_cpu.cpu_encoding_resolver"


@irdl_attr_definition
class CpuEncodingSolverAttr(CpuSolver):
    """The solver for `llvm-cpu` executables, in the spelling of 2024."""

    name = "iree_cpu.cpu_encoding_solver"
    SPELLING: ClassVar[Spelling] = "2024"
    FIELDS: ClassVar[Mapping[str, Kind]] = FIELDS_OF_2024


@irdl_attr_definition
class VmvxEncodingResolverAttr(VmvxSolver):
    """The solver for `vmvx` executables, in the current spelling."""

    name = "iree_cpu.vmvx_encoding_resolver"


@irdl_attr_definition
class VmvxEncodingSolverAttr(VmvxSolver):
    """The solver for `vmvx` executables, in the spelling of 2024."""

    name = "iree_cpu.vmvx_encoding_solver"
    SPELLING: ClassVar[Spelling] = "2024"
    FIELDS: ClassVar[Mapping[str, Kind]] = FIELDS_OF_2024


@irdl_attr_definition
class DataTiledMmaLayoutAttr(DescriptionAttribute):
    """A tile of CPU matrix instructions (`TiledCpuInstruction`)."""

    name = "iree_cpu.data_tiled_mma_layout"

    def instruction(self) -> TiledCpuInstruction | None:
        """Return the instruction; `None` if the text is not a known one."""
        text = self.description
        return TiledCpuInstruction.parse(text.data) if isinstance(text, StringAttr) else None


@irdl_attr_definition
class MmaSemanticsAttr(DescriptionAttribute):
    """The semantics of `inner_tiled` on CPUs, which have no parameters."""

    name = "iree_cpu.mma_semantics"


IreeCpu = Dialect(
    "iree_cpu",
    [],
    [
        CpuEncodingResolverAttr,
        CpuEncodingSolverAttr,
        DataTiledMmaLayoutAttr,
        MmaSemanticsAttr,
        VmvxEncodingResolverAttr,
        VmvxEncodingSolverAttr,
        *described(
            "iree_cpu",
            "inner_tile_alignments",
            "lowering_config",
            "pipeline",
            "ukernel_provider",
        ),
    ],
)
