"""Replace encodes of the host program by dispatches of kernels that relay tensors out.

    %r = stream.tensor.encode on(A) %t : tensor<4x5xf32> in ... -> tensor<4x5xf32, #layout> in ...

becomes a dispatch of a kernel that loads the tensor in one layout and stores it in the other. There
is one kernel for each pair of types and target. If both types are stored alike, as on a target
without tiles for the tensor, the result is replaced by the source.

The pass runs after specialize-encodings, which resolves the layouts, and either before
encode-host-tensors or after it, when dispatches work on bytes already.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import (
    Tensor,
    is_row_major,
    plain,
    storage_key,
    tensor_encoding,
)
from ...dialects.iree_encoding.respelling import spelling_of
from ...dialects.stream import executables as stream
from ...dialects.stream.affinity import TargetSolver, affinity_of
from ...dialects.stream.tensor_ops import TensorDispatchOp, TensorEncodeOp
from ...dialects.stream.types import BindingType
from ...dialects.util.types import UnusedType
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations, host_operations_of
from ...ir.index import constant_index
from ...ir.index_lists import INDEX
from ...ir.locations import located_builder, replace_by
from ...ir.structural_hash import AttributeNumbers
from ...ir.symbols import FreshNames
from ...ir.syntax.resource_directives import UNTIED, tied_operands
from ...ir.tensor_types import require_ranked, shape_of
from .analysis.affinity_targets import AffinityTargets
from .conversion.stored_tensors import UNKNOWN
from .encode_host_tensors import encode_operations, lowering
from .kernels.bindings import KERNEL_OPERATIONS, STREAM, KernelOperations, element_label

CompiledFor = tuple[TargetSolver, ...] | Attribute
Key = tuple[Attribute, Attribute, bool, CompiledFor]
"""Source type, result type, whether their sizes are equal, and what the kernel is compiled for."""


class MaterializeEncodingsPass(ModulePass):
    """Turn `stream.tensor.encode` into dispatches, or remove it where layouts agree."""

    name = "iree-stream-materialize-encodings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        encodes = host_operations_of(op, TensorEncodeOp)
        if encodes:
            of_bytes = all(lowering.get(o.name) is None for o in host_operations(op))
            relayouts = Relayouts(ctx, op)
            made = [relayouts.replace(encode) for encode in encodes]
            if of_bytes:
                encode_operations([dispatch for dispatch in made if dispatch is not None])


class Relayouts:
    """The relayout kernels of a module."""

    def __init__(self, context: Context, module: ModuleOp) -> None:
        self._affinities = AffinityTargets(context, module, AttributeNumbers())
        self._operations = KERNEL_OPERATIONS[spelling_of(module)]
        self._point = InsertPoint.at_start(module.body.block)
        self._names = FreshNames(module)
        self._kernels: dict[Key, SymbolRefAttr] = {}

    def replace(self, operation: TensorEncodeOp) -> Operation | None:
        """Replace an encode by a dispatch, which is returned, or by its source.

        Raises OperationError if a type is not a ranked tensor.
        """
        source = require_ranked(operation, operation.source_encoding)
        result = require_ranked(operation, operation.result_encoding)
        if storage_key(source) == storage_key(result) or (
            is_row_major(source) and is_row_major(result)
        ):
            operation.result.replace_all_uses_with(operation.source)
            Rewriter.erase_op(operation)
            return None
        given = tuple(operation.source_encoding_dims)
        wanted = tuple(operation.result_encoding_dims)
        dims = (*given, *wanted)
        key = source, result, given == wanted, self._runs_on(operation)
        if key not in self._kernels:
            self._kernels[key] = self._kernel(source, result, operation)
        dispatch = TensorDispatchOp.build(
            operands=[
                dims,
                [operation.source, *dims],
                [operation.source_size],
                given,
                [operation.result_size],
                wanted,
            ],
            result_types=[[UNKNOWN]],
            properties={
                "entry_points": ArrayAttr([self._kernels[key]]),
                "operand_encodings": ArrayAttr[Attribute]([source, *[UnusedType()] * len(dims)]),
                "result_encodings": ArrayAttr[Attribute]([result]),
                "tied_operands": tied_operands([UNTIED]),
                "affinity": operation.affinity,
            },
        )
        replace_by(operation, dispatch)
        return dispatch

    def _runs_on(self, operation: Operation) -> CompiledFor:
        """Return the targets of an operation, or its affinity if they are not known yet."""
        affinity = affinity_of(operation)
        if affinity is None:
            return ()
        try:
            return self._affinities.targets(affinity, operation)
        except OperationError:
            return affinity

    def _kernel(self, source: Tensor, result: Tensor, encode: TensorEncodeOp) -> SymbolRefAttr:
        """Build an executable for an encode; return its entry point."""
        name = self._names.numbered("_encoding_")
        label = f"{name}_encode_{_type_label(source)}_to_{_type_label(result)}"
        are_equal = tuple(encode.source_encoding_dims) == tuple(encode.result_encoding_dims)
        block = relayout_block(source, result, self._operations, are_equal=are_equal)
        kernel = FuncOp(label, (list(block.arg_types), []), Region(block))
        dims = len(block.args) - 2
        count = self._operations.count_from_slice(STREAM, dims)
        executable = self._operations.executable(STREAM, name, kernel, count)
        located_builder(self._point, encode).insert(executable)
        return SymbolRefAttr(name, [kernel.sym_name])


def _type_label(tensor: Tensor) -> str:
    """`Dx8xf32`: the sizes and the element type of a tensor."""
    sizes = ["D" if size is None else str(size) for size in shape_of(tensor)]
    return "x".join([*sizes, element_label(str(tensor.element_type))])


def relayout_block(
    source: Tensor, result: Tensor, operations: KernelOperations, *, are_equal: bool
) -> Block:
    """Build the entry block of a kernel: source binding, dynamic sizes of both, result binding.

    If the sizes of both `are_equal`, those of the source are read for both: this shows that the
    relayout fills the result, which native code then writes in place.
    """
    counts = [sum(size is None for size in shape_of(tensor)) for tensor in (source, result)]
    block = Block(arg_types=[BindingType(), *[INDEX] * sum(counts), BindingType()])
    builder = Builder(InsertPoint.at_end(block))
    start = constant_index(0, builder)
    sizes: list[SSAValue] = []
    for ordinal, argument in enumerate(block.args[1:-1]):
        sizes.append(builder.insert(operations.ordinal_of(argument, ordinal)).results[0])
    given = sizes[: counts[0]]
    wanted = given if are_equal else sizes[counts[0] :]
    bound = [
        builder.insert(
            stream.BindingSubspanOp.build(
                operands=[binding, start, dims],
                result_types=[operations.tensor.new([StringAttr(access), tensor])],
            )
        ).result
        for binding, tensor, dims, access in (
            (block.args[0], source, given, "readonly"),
            (block.args[-1], result, wanted, "writeonly"),
        )
    ]
    loaded = operations.load_whole(bound[0], source, given, builder)
    value = _relaid(loaded, source, result, given, builder)
    operations.store_whole(value, bound[1], wanted, builder)
    builder.insert(ReturnOp())
    return block


def _relaid(
    value: SSAValue, source: Tensor, result: Tensor, sizes: Sequence[SSAValue], builder: Builder
) -> SSAValue:
    """Emit the value in its new encoding."""
    if tensor_encoding(source) is not None:
        unset = UnsetEncodingOp.build(operands=[value, sizes, ()], result_types=[plain(source)])
        value = builder.insert(unset).result
    if tensor_encoding(result) is not None:
        set_encoding = SetEncodingOp.build(operands=[value, ()], result_types=[result])
        return builder.insert(set_encoding).result
    return value if value.type == result else builder.insert(CastOp(value, result)).dest
