"""Replace contractions and convolutions by those on encoded tensors."""

from __future__ import annotations

from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import Rewriter

from ....dialects.iree_encoding.attributes import EncodingAttr
from ....dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ....dialects.iree_encoding.interfaces import Spelling, Tensor, with_encoding
from ....dialects.iree_encoding.respelling import spelled_encoding, spelling_of
from ....ir.diagnostics import OperationError
from ....ir.host_programs import GLOBAL_LOAD, host_operations, host_operations_of
from ....ir.locations import builder_before, made_by, rebuilt
from ...sizes.dimension_sizes import SizesBefore
from .contraction_matching import TiledContraction, tiled_contraction
from .marked_operations import HINT, marked_operation
from .scaled_contractions import split_factors


def encoder_of(module: ModuleOp) -> ContractionEncoder:
    """Return an encoder of a module, whose encodes of filled tensors it turns into fills."""
    encoder = ContractionEncoder(spelling_of(module))
    for operation in host_operations_of(module, SetEncodingOp):
        encoder.fold_fill(operation)
    return encoder


class ContractionEncoder:
    """Encodes the contractions of a module one by one."""

    def __init__(self, spelling: Spelling) -> None:
        self._spelling: Spelling = spelling
        self._sizes: dict[Block | None, SizesBefore] = {}
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
        accumulators = self._initial_accumulators(contraction, last, loops)
        encoded = builder.insert(rebuilt(operation, [*factors, accumulators], [accumulators.type]))
        encoded.attributes.pop(HINT, None)
        result = operation.results[0]
        sizes: tuple[SSAValue, ...] = ()
        if self._spelling == "today":
            sizes = self._sizes_for(operation).dynamic_sizes(view.outputs[0])
        unset = UnsetEncodingOp.build(
            operands=[encoded.results[0], sizes, loops], result_types=[result.type]
        )
        builder.insert(unset)
        Rewriter.replace_op(operation, [], [unset.result])
        _erase_unread(view.outputs[0])

    def encode_marked(self, module: ModuleOp) -> bool:
        """Encode the operations marked by `iree.opt.data_tiling`; return whether there are any.

        Raises OperationError for one that is neither a contraction nor a convolution.
        """
        marked = [each for each in host_operations(module) if HINT in each.attributes]
        for operation in marked:
            self._encode_marked(operation)
        return bool(marked)

    def _encode_marked(self, operation: Operation) -> None:
        contraction = marked_operation(operation)
        if contraction is None and (split := self.split_factors(operation)) is not None:
            contraction = tiled_contraction(split)
        if contraction is None:
            raise OperationError(
                operation,
                f"is marked by `{HINT}`, but is neither a contraction nor a convolution of two "
                "tensors without encodings",
            )
        self.encode(contraction)

    def split_factors(self, operation: Operation) -> Operation | None:
        """Return the contraction of an operation whose factors are computed beforehand, if any."""
        return split_factors(operation, self._sizes_for(operation))

    def _sizes_for(self, operation: Operation) -> SizesBefore:
        """Return sizes that are computed in front of an operation."""
        return self._sizes.setdefault(operation.parent, SizesBefore(operation)).before(operation)

    def fold_fill(self, operation: SetEncodingOp) -> None:
        """Replace a `set_encoding` of a filled tensor by a fill of an encoded tensor."""
        if made_by(operation.source, "linalg.fill") is None:
            return
        source = operation.source
        filled = self._filled(source, operation.result.type, operation)
        Rewriter.replace_op(operation, [], [filled])
        _erase_unread(source)

    def _dynamic_loops(self, contraction: TiledContraction) -> tuple[SSAValue, ...]:
        """Return the extents of dynamic loops, in order; spelling `2024` does not list them."""
        if self._spelling == "2024":
            return ()
        view = contraction.view
        sizes = self._sizes_for(view.operation)
        extents: dict[int, SSAValue] = {}
        for value, map_ in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            for index, expression in enumerate(map_.results):
                if not isinstance(expression, AffineDimExpr):
                    continue
                loop = expression.position
                if contraction.sizes[loop] is None and loop not in extents:
                    extents[loop] = sizes.value(value, index)
        return tuple(extents[loop] for loop, size in enumerate(contraction.sizes) if size is None)

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
        if key not in self._encoded or made_by(value, "arith.constant", GLOBAL_LOAD) is not None:
            type_ = with_encoding(cast(Tensor, value.type), encoding)
            operation = SetEncodingOp.build(operands=[value, loops], result_types=[type_])
            self._encoded[key] = builder.insert(operation).result
        return self._encoded[key]

    def _initial_accumulators(
        self, contraction: TiledContraction, encoding: EncodingAttr, loops: tuple[SSAValue, ...]
    ) -> SSAValue:
        """Return the encoded initial accumulators. A fill is redone, not relaid out."""
        operation, value = contraction.view.operation, contraction.view.outputs[0]
        if made_by(value, "linalg.fill", "tensor.empty"):
            type_ = with_encoding(cast(Tensor, value.type), encoding)
            return self._filled(value, type_, operation)
        return self._set(value, encoding, loops, builder_before(operation))

    def _filled(self, value: SSAValue, type_: Tensor, user: Operation) -> SSAValue:
        """Emit an encoded tensor that is filled as `value` is, or is empty as `value` is."""
        owner, builder = cast(Operation, value.owner), builder_before(user)
        sizes = self._sizes_for(user).dynamic_sizes(value)
        empty = builder.insert(EmptyOp(sizes, type_)).tensor
        if owner.name == "tensor.empty":
            return empty
        return builder.insert(rebuilt(owner, [owner.operands[0], empty], [type_])).results[0]


def _erase_unread(value: SSAValue) -> None:
    """Erase the fill that makes a tensor, and the empty tensor under it, if nothing reads them."""
    while (maker := made_by(value, "linalg.fill", "tensor.empty")) and not value.first_use:
        below = maker.operands[1] if maker.name == "linalg.fill" else None
        Rewriter.erase_op(maker)
        if below is None:
            return
        value = below
