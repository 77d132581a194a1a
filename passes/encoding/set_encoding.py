"""Give the operands and results of contractions encodings, which ask for a layout.

    %r = linalg.matmul ins(%a, %b) outs(%fill)
becomes
    %0 = iree_encoding.set_encoding %a : tensor<4x5xf32> -> tensor<4x5xf32, #lhs>
    %1 = iree_encoding.set_encoding %b : tensor<5x6xf32> -> tensor<5x6xf32, #rhs>
    %2 = linalg.fill ... outs(tensor.empty() : tensor<4x6xf32, #result>)
    %3 = linalg.matmul ins(%0, %1) outs(%2) : tensor<4x6xf32, #result>
    %r = iree_encoding.unset_encoding %3 : tensor<4x6xf32, #result> -> tensor<4x6xf32>

An encoding says which operand of which contraction a tensor is; the layout is resolved once the
device is known. Operations on encoded tensors are left alone. So are operations that read a large
operand so few times that relaying it out costs more than it gains, unless it is relaid out once for
many runs. A `set_encoding` of a filled tensor becomes a fill of an encoded tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.attributes import EncodingAttr
from ...dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Spelling, Tensor, with_encoding
from ...dialects.iree_encoding.respelling import spelled_encoding, spelling_of
from ...ir.host_programs import CONSTANTS, GLOBAL_LOAD, LOOPS, host_operations
from ...ir.locations import block_with, builder_before, made_by, rebuilt
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.contraction_matching import (
    TiledContraction,
    scaled_contraction,
    tiled_contraction,
    tiled_convolution,
)
from .analysis.padded_operands import dispatch_region_of, pad_operands
from .analysis.scaled_contractions import split_factors

UNCHANGING = CONSTANTS | {GLOBAL_LOAD}
"""Producers of tensors that are the same in all runs: they are relaid out once, at module load."""

HINT = "iree.opt.data_tiling"
"""Marks the operations to encode. If any operation has it, only marked ones get encodings."""

COMPILATION_INFO = "compilation_info"
"""An attribute of operations for which the program already says how they are compiled."""

LARGE_OPERAND = 1 << 16
"""An operand with at least so many elements is expensive to relay out."""

FEW_READS = 16
"""Relaying out an operand does not pay if each element is read at most so often."""


@dataclass(frozen=True)
class SetEncodingPass(ModulePass):
    """Give operands and results of contractions encodings."""

    name = "iree-dispatch-creation-set-encoding"

    encode_convolutions: bool = False
    """Whether convolutions without a mark get encodings too, which tile their channels."""

    encoding_option: Literal["default", "padding"] = "default"
    """`padding` pads the rows of tensors between dispatch regions instead of tiling operands."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        operations = tuple(host_operations(op))
        has_hints = any(HINT in operation.attributes for operation in operations)
        if has_hints:
            operations = tuple(o for o in operations if HINT in o.attributes)
        sizes = DimensionSizes()
        for block in dict.fromkeys(operation.parent for operation in operations):
            if block is not None:
                sizes.resolve(block)
        encoder = ContractionEncoder(spelling_of(op), sizes)
        for operation in tuple(host_operations(op)):
            if operation.name == SetEncodingOp.name:
                encoder.fold_fill(cast(SetEncodingOp, operation))
        for operation in operations:
            contraction = tiled_contraction(operation)
            if self.encoding_option == "padding":
                if contraction is not None:
                    pad_operands(contraction)
                continue
            if contraction is None and has_hints:
                contraction = scaled_contraction(operation)
            if contraction is None and (split := split_factors(operation, sizes)) is not None:
                contraction = tiled_contraction(split)
            elif contraction is None and (has_hints or self.encode_convolutions):
                contraction = tiled_convolution(operation)
            if contraction is not None and (
                has_hints or not (is_compilation_chosen(operation) or _costs_more(contraction))
            ):
                encoder.encode(contraction)


def is_compilation_chosen(operation: Operation) -> bool:
    """Return whether the program says how to compile an operation, or its workgroup count."""
    region = dispatch_region_of(operation)
    is_counted = region is not None and len(region.regions) > 1 and bool(region.regions[1].blocks)
    return COMPILATION_INFO in operation.attributes or is_counted


def _costs_more(contraction: TiledContraction) -> bool:
    """Return whether relaying out an operand costs more than it gains.

    That is so for an operand that is known to be large, seldom read, and different in each run.
    """
    view = contraction.view
    for value, affine_map in zip(view.inputs, view.maps, strict=False):
        used = affine_map.used_dims()
        inside = [contraction.sizes[loop] for loop in used]
        around = [size for loop, size in enumerate(contraction.sizes) if loop not in used]
        if None in inside or None in around or _is_unchanging(value, view.operation):
            continue
        elements, reads = (prod(size or 0 for size in sizes) for sizes in (inside, around))
        if elements >= LARGE_OPERAND and reads <= FEW_READS:
            return True
    return False


def _is_unchanging(value: SSAValue, operation: Operation) -> bool:
    """Return whether a value is a constant, a global's or invariant in a loop around a reader."""
    if made_by(value, *UNCHANGING):
        return True
    block = block_with(value)
    scope = operation.parent
    while scope is not None and scope is not block:
        if (parent := scope.parent_op()) is None or parent.name in LOOPS:
            return parent is not None
        scope = parent.parent
    return False


class ContractionEncoder:
    """Encodes the contractions of a module one by one."""

    def __init__(self, spelling: Spelling, sizes: DimensionSizes) -> None:
        self._spelling: Spelling = spelling
        self._sizes = sizes
        self._encoded: dict[tuple[object, ...], SSAValue] = {}

    def encode(self, contraction: TiledContraction) -> None:
        """Replace a contraction by one on encoded tensors."""
        view = contraction.view
        operation = view.operation
        loops = self._dynamic_loops(contraction)
        *encodings, last = [
            spelled_encoding(contraction.encoding(index), self._spelling)
            for index in range(len(view.maps))
        ]
        builder = builder_before(operation)
        factors = [
            self._set(value, encoding, loops, builder)
            for value, encoding in zip(view.inputs, encodings, strict=True)
        ]
        accumulators = self._initial_accumulators(view.outputs[0], last, loops, builder)
        encoded = builder.insert(rebuilt(operation, [*factors, accumulators], [accumulators.type]))
        encoded.attributes.pop(HINT, None)
        result = operation.results[0]
        unset = UnsetEncodingOp.build(
            operands=[
                encoded.results[0],
                () if self._spelling == "2024" else self._sizes.dynamic_sizes(view.outputs[0]),
                loops,
            ],
            result_types=[result.type],
        )
        builder.insert(unset)
        Rewriter.replace_op(operation, [], [unset.result])

    def fold_fill(self, operation: SetEncodingOp) -> None:
        """Replace a `set_encoding` of a filled tensor by a fill of an encoded tensor."""
        if made_by(operation.source, "linalg.fill") is None:
            return
        filled = self._filled(operation.source, operation.result.type, builder_before(operation))
        Rewriter.replace_op(operation, [], [filled])

    def _dynamic_loops(self, contraction: TiledContraction) -> tuple[SSAValue, ...]:
        """Return the extents of dynamic loops, in order; spelling `2024` does not list them."""
        if self._spelling == "2024":
            return ()
        return tuple(
            self._loop_size(contraction, loop)
            for loop, size in enumerate(contraction.sizes)
            if size is None
        )

    def _loop_size(self, contraction: TiledContraction, loop: int) -> SSAValue:
        view = contraction.view
        for value, map_ in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            for index, expression in enumerate(map_.results):
                if isinstance(expression, AffineDimExpr) and expression.position == loop:
                    return self._sizes.value(value, index)
        raise ValueError(f"no tensor of {view.operation.name} has a dimension for loop {loop}")

    def _set(
        self,
        value: SSAValue,
        encoding: EncodingAttr,
        loops: tuple[SSAValue, ...],
        builder: Builder,
    ) -> SSAValue:
        """Return the encoded tensor, which is encoded once per block however often it is read.

        A constant or a global's value is encoded for each reader, since readers may be on several
        devices.
        """
        key = builder.insertion_point.block, value, encoding, loops
        if key not in self._encoded or _is_constant_or_global(value):
            type_ = with_encoding(cast(Tensor, value.type), encoding)
            operation = SetEncodingOp.build(operands=[value, loops], result_types=[type_])
            self._encoded[key] = builder.insert(operation).result
        return self._encoded[key]

    def _initial_accumulators(
        self,
        value: SSAValue,
        encoding: EncodingAttr,
        loops: tuple[SSAValue, ...],
        builder: Builder,
    ) -> SSAValue:
        """Return the encoded initial accumulators. A fill is redone, not relaid out."""
        if made_by(value, "linalg.fill", "tensor.empty"):
            type_ = with_encoding(cast(Tensor, value.type), encoding)
            return self._filled(value, type_, builder)
        return self._set(value, encoding, loops, builder)

    def _filled(self, value: SSAValue, type_: Tensor, builder: Builder) -> SSAValue:
        """Emit an encoded tensor that is filled as `value` is, or is empty as `value` is."""
        owner = cast(Operation, value.owner)
        empty = builder.insert(EmptyOp(self._sizes.dynamic_sizes(value), type_)).tensor
        if owner.name == "tensor.empty":
            return empty
        return builder.insert(rebuilt(owner, [owner.operands[0], empty], [type_])).results[0]


def _is_constant_or_global(value: SSAValue) -> bool:
    """Return whether a tensor is a constant or a global's, which several devices may hold."""
    return made_by(value, "arith.constant", GLOBAL_LOAD) is not None
