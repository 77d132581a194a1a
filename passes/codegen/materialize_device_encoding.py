"""Replace the encoded tensors of kernels by packed tensors, and encodings by packs and unpacks.

    %1 = iree_encoding.set_encoding %0 : tensor<17x40xf32> -> tensor<17x40xf32, #lhs>

becomes a `linalg.pack` to `tensor<2x40x16x1xf32>`; a contraction of encoded tensors becomes a
`linalg.mmt4d`, and so on. The layout comes from the encodings and from the solver of the target
that runs the kernel, so this code depends on no target. If a binding has another layout than the
kernel's own, it is relaid out after the load or before the store. On a target without tiles,
encodings just disappear.

An operation that cannot work on tiles reads unpacked operands, and its results are packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, TensorType, i32
from xdsl.dialects.tensor import ExtractSliceOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.dialect import UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor, plain, tensor_encoding
from ...dialects.iree_tensor_ext import DispatchTensor, DispatchTensorLoadOp, DispatchTensorStoreOp
from ...dialects.linalg.dialect import NAMED_CLASSES
from ...ir.attribute_access import constant_integer, number_list
from ...ir.diagnostics import OperationError
from ...ir.host_programs import FUNCTIONS, RETURNS
from ...ir.index import constant_index
from ...ir.index_lists import mixed_list
from ...ir.locations import rebuilt
from ...ir.rules import Rules
from ...ir.tensor_types import ranked, shape_of
from ...ir.value_flow import BRANCHES, update_function_type
from ...tiling.packed_layouts import IDENTITY, PackedLayout
from ..general.canonicalize import merge_constants
from .packed.accesses import (
    Slice,
    dynamic_dims,
    is_whole,
    keeps_storage,
    load_from,
    memory_dims,
    store_to,
)
from .packed.contractions import lower_contraction, lower_convolution
from .packed.elementwise import lower_elementwise, lower_in_memory, sums_padding
from .packed.inner_tiled import lower_inner_tiled
from .packed.layouts import (
    KernelLayouts,
    bound_solvers,
    executable_solvers,
    solver_of_flags,
    summed_dimensions,
    target_solver,
)
from .packed.signature import UnknownSizes, has_encoding, stored_type
from .packed.values import PackedValues, TensorForms, layout_in_memory, layout_of_tiles

COMPUTING = frozenset({"arith", "complex", "linalg", "math", "tensor", "tosa"})
"""Dialects whose operations on tensors do not depend on the layout in memory."""


@dataclass(frozen=True)
class MaterializeDeviceEncodingPass(ModulePass):
    """Lower encoded tensors of executables to packed tensors."""

    name = "iree-codegen-materialize-device-encoding"

    test_gpu_encoding_resolver: Literal["none", "gpu_data_tiling", "gpu_padding"] = "none"
    """Lays out the tensors of functions that name no target: tiles, or room behind rows."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        default = solver_of_flags(self.test_gpu_encoding_resolver)
        solvers = executable_solvers(ctx, op)
        for operation in tuple(op.body.block.ops):
            if operation.name == "stream.executable":
                name = getattr(operation.properties.get("sym_name"), "data", "")
                layouts = KernelLayouts(solvers.get(name) or bound_solvers(operation))
                for function in operation.walk():
                    if function.name in FUNCTIONS:
                        KernelLowering(function, layouts).lower()
            elif operation.name in FUNCTIONS:
                solver = target_solver(operation, default)
                KernelLowering(operation, KernelLayouts(solver, has_own_target=True)).lower()


class KernelLowering:
    """Lowers one kernel, operation by operation."""

    def __init__(self, function: Operation, layouts: KernelLayouts) -> None:
        self._function = function
        self._layouts = layouts
        self.values = PackedValues(layouts.queried_types, use_affine_apply=layouts.has_own_target)
        self.unknown = UnknownSizes()
        self.bindings: dict[SSAValue, SSAValue] = {}
        """The packed binding that replaces each encoded one."""

    def lower(self) -> None:
        """Replace all operations on encoded tensors, and encoded arguments and results.

        Raises OperationError if an operation has no lowering, stores a part of a tiled tensor, or
        needs the size of an encoded argument that is not known.
        """
        done: list[Operation] = []
        replaced = self._replace_arguments()
        for operation in tuple(self._function.walk()):
            if not _is_encoded(operation):
                continue
            self.values.move_to(operation)
            lowering.get(operation.name, _compute)(self, operation)
            done.append(operation)
        for operation in reversed(done):
            Rewriter.erase_op(operation)
        for argument in replaced:
            argument.block.erase_arg(argument)
        self.unknown.verify_unused()
        if replaced or any(operation.name in RETURNS for operation in done):
            update_function_type(self._function)
        if done:
            merge_constants(self._function.regions[0])

    def _replace_arguments(self) -> list[BlockArgument]:
        """Insert packed arguments in front of encoded ones; return the latter, to be erased."""
        blocks = self._function.walk_blocks()
        encoded = [each for block in blocks for each in block.args if has_encoding(each.type)]
        for old in encoded:
            block = old.block
            self.values.move_to(cast(Operation, block.first_op))
            bound = old.type.bound_type if isinstance(old.type, DispatchTensor) else old.type
            tensor = cast(Tensor, bound)
            stored = self.stored_type(tensor)
            if isinstance(old.type, DispatchTensor):
                new_type = old.type.new([old.type.access, stored])
                self.bindings[old] = block.insert_arg(new_type, old.index)
                continue
            new = block.insert_arg(stored, old.index)
            new.name_hint = old.name_hint
            self.pass_on(old, new)
        return encoded

    def stored_type(self, type_: Attribute) -> Attribute:
        """Return the type in memory of an encoded tensor; other types are unchanged."""
        if tensor_encoding(type_) is None:
            return type_
        return stored_type(cast(Tensor, type_), self.layout(type_))

    def stored(self, value: SSAValue) -> SSAValue:
        """Return an encoded tensor as memory holds it; other values are unchanged."""
        if not has_encoding(value.type):
            return value
        return self.values.memory_form(value, self.layout(value.type))

    def pass_on(self, old: SSAValue, new: SSAValue) -> None:
        """Record `new` as the form in memory of an encoded tensor that comes from elsewhere.

        Its dynamic sizes are known only if it has no tiles.
        """
        tensor, layout = cast(Tensor, old.type), self.layout(old.type)
        sizes = tuple(
            self.unknown.placeholder(old) if size is None else size for size in shape_of(tensor)
        )
        if layout == IDENTITY:
            sizes = self.values.dimensions.sizes(new)
        self.values.dimensions.assume(old, sizes)
        forms = TensorForms(plain(tensor), sizes, {layout_in_memory(layout): new})
        self.values.set_forms(old, forms)

    def layout(self, type_: Attribute) -> PackedLayout:
        """Return how tensors of a type are packed in memory.

        Raises OperationError if the layout is open and the target is not known, or if there is
        none.
        """
        return self._layouts.layout(type_, self.values.operation)

    def padded_type(self, tensor: Tensor) -> Tensor | None:
        """Return the type in memory of a tensor that the function's own target pads, or `None`."""
        return self._layouts.padded_type(tensor, self.values.operation)

    def solve(self, operation: Operation) -> Sequence[SSAValue] | None:
        """Return what the target's solver lowers an operation to; `None` if it does not."""
        solver = self._layouts.lowering_solver()
        if solver is None:
            return None
        operands = [
            value if ranked(value) is None else self.values.form(value, self.layout(value.type))
            for value in operation.operands
        ]
        return solver.materialize(operation, operands, self.values.builder)

    def inner_tiled(
        self, operation: Operation, layouts: tuple[PackedLayout, ...]
    ) -> SSAValue | None:
        """Emit a contraction as the target's own instruction, if the function names its target."""
        solver = self._layouts.named_solver()
        return (
            None if solver is None else lower_inner_tiled(self.values, operation, layouts, solver)
        )

    def replace(self, value: SSAValue, layout: PackedLayout, form: SSAValue) -> None:
        """Record the form of a result in memory; replace the uses of a result without encoding."""
        self.values.set_only_form(value, layout_in_memory(layout), form)
        if tensor_encoding(value.type) is None:
            value.replace_all_uses_with(self.values.form(value, IDENTITY))


Rule = Callable[[KernelLowering, Any], None]

lowering = Rules[Rule]()
"""Lowerings of operations that are not plain computations, by operation name."""


def _is_encoded(operation: Operation) -> bool:
    """Return whether an operand or result of an operation is encoded."""
    return any(has_encoding(value.type) for value in (*operation.operands, *operation.results))


# Bindings


@lowering("hal.interface.binding.subspan", "stream.binding.subspan")
def _bind(kernel: KernelLowering, operation: Operation) -> None:
    """Replace a binding of an encoded tensor by one of the packed tensor in memory."""
    old = operation.results[0]
    bound = cast(DispatchTensor, old.type)
    tensor = cast(Tensor, bound.bound_type)
    layout = kernel.layout(tensor)
    stored = kernel.padded_type(tensor)
    if stored is None:
        stored = tensor if keeps_storage(tensor) else stored_type(tensor, layout)
    dims = list(dynamic_dims(operation))
    if layout != IDENTITY:
        sizes = kernel.values.packed_sizes(mixed_list(tensor.get_shape(), dims), layout)
        dims = [size for size in sizes if isinstance(size, SSAValue)]
    start = len(operation.operands) - len(dynamic_dims(operation))
    properties = dict(operation.properties)
    if (segments := properties.get("operandSegmentSizes")) is not None:
        counts = [*number_list(segments)[:-1], len(dims)]
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    operands, types = [*operation.operands[:start], *dims], [bound.new([bound.access, stored])]
    new = rebuilt(operation, operands, types, properties=properties)
    kernel.bindings[old] = kernel.values.builder.insert(new).results[0]


@lowering("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load")
def _load(kernel: KernelLowering, load: DispatchTensorLoadOp) -> None:
    """Load a packed binding whole; a slice of it is extracted after unpacking."""
    bound = cast(Tensor, cast(DispatchTensor, load.source.type).bound_type)
    source = kernel.bindings.get(load.source, load.source)
    layout = kernel.layout(bound)
    if layout == IDENTITY:
        part, result = Slice.of(load), plain(load.result.type)
        new = load_from(load, source, load.source_dims, part, result)
        kernel.replace(load.result, IDENTITY, kernel.values.builder.insert(new).results[0])
        return
    sizes = mixed_list(bound.get_shape(), load.source_dims)
    stored = cast(Tensor, cast(DispatchTensor, source.type).bound_type)
    dims = memory_dims(kernel.values.packed_sizes(sizes, layout), stored)
    new = load_from(load, source, dims, Slice.whole(stored, dims), stored)
    form = kernel.values.builder.insert(new).results[0]
    if is_whole(load, sizes):
        kernel.replace(load.result, layout, form)
        return
    forms = TensorForms(plain(bound), sizes, {layout_in_memory(layout): form})
    kernel.values.set_forms(form, forms)
    part = ExtractSliceOp.build(
        operands=[kernel.values.form(form, IDENTITY), load.offsets, load.sizes, load.strides],
        result_types=[plain(load.result.type)],
        properties=Slice.of(load).static,
    )
    kernel.replace(load.result, IDENTITY, kernel.values.builder.insert(part).results[0])


@lowering("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")
def _store(kernel: KernelLowering, store: DispatchTensorStoreOp) -> None:
    """Store a packed binding whole."""
    bound = cast(Tensor, cast(DispatchTensor, store.target.type).bound_type)
    target = kernel.bindings.get(store.target, store.target)
    layout = kernel.layout(bound)
    if layout == IDENTITY:
        value = kernel.values.form(store.value, IDENTITY)
        new = store_to(store, value, target, store.target_dims, Slice.of(store))
        kernel.values.builder.insert(new)
        return
    sizes = mixed_list(bound.get_shape(), store.target_dims)
    if not is_whole(store, sizes):
        raise OperationError(store, f"stores a slice of a packed tensor, {bound}: unpack it first")
    value = kernel.values.memory_form(store.value, layout)
    stored = cast(Tensor, cast(DispatchTensor, target.type).bound_type)
    if value.type != stored:
        value = kernel.values.cast(value, stored)
    dims = memory_dims(kernel.values.packed_sizes(sizes, layout), stored)
    new = store_to(store, value, target, dims, Slice.whole(stored, dims))
    kernel.values.builder.insert(new)


# Encodings


@lowering("iree_encoding.set_encoding")
def _set(kernel: KernelLowering, operation: Operation) -> None:
    """Make the result another name of the source; its readers pack it as they need it."""
    source, result = operation.operands[0], operation.results[0]
    kernel.values.set_forms(result, _forms_as_type(kernel, source, cast(Tensor, result.type)))


def _forms_as_type(kernel: KernelLowering, source: SSAValue, tensor: Tensor) -> TensorForms:
    """Return the forms of a tensor, cast if the type has other static sizes."""
    forms = kernel.values.forms_of(source)
    if forms.tensor == plain(tensor):
        return forms
    form = kernel.values.cast(kernel.values.form(source, IDENTITY), plain(tensor))
    return TensorForms(plain(tensor), kernel.values.dimensions.sizes(form), {IDENTITY: form})


@lowering("iree_encoding.unset_encoding")
def _unset(kernel: KernelLowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    tensor, dims = cast(Tensor, result.type), cast(UnsetEncodingOp, operation).result_dims
    forms = _forms_as_type(kernel, source, tensor)
    sizes = mixed_list(tensor.get_shape(), dims)
    if dims or tensor.has_static_shape():
        forms = TensorForms(forms.tensor, sizes, forms.by_layout, forms.factory)
    kernel.values.set_forms(result, forms)
    result.replace_all_uses_with(kernel.values.form(result, IDENTITY))


@lowering("util.optimization_barrier")
def _keep(kernel: KernelLowering, operation: Operation) -> None:
    """Keep the barrier on tensors in the layout that they have in memory."""
    values = kernel.values
    layouts = [kernel.layout(value.type) for value in operation.operands]
    forms = [
        value if ranked(value) is None else values.memory_form(value, layout)
        for value, layout in zip(operation.operands, layouts, strict=True)
    ]
    barrier = values.builder.insert(rebuilt(operation, forms, [form.type for form in forms]))
    for index, old in enumerate(operation.results):
        if ranked(old) is None:
            old.replace_all_uses_with(barrier.results[index])
        else:
            values.dimensions.assume(old, values.sizes(operation.operands[index]))
            kernel.replace(old, layouts[index], barrier.results[index])


# Tensors without inputs


@lowering("tensor.empty")
def _empty(kernel: KernelLowering, operation: Operation) -> None:
    result = operation.results[0]
    values, tensor = kernel.values, plain(cast(Tensor, result.type))
    sizes = values.sizes(result)
    values.set_forms(
        result,
        TensorForms(tensor, sizes, factory=lambda layout: values.empty(tensor, sizes, layout)),
    )


@lowering("linalg.fill")
def _fill(kernel: KernelLowering, operation: Operation) -> None:
    """Fill the tensor in whichever layout it is read, including the padding.

    If padding of the result would be added up and the scalar is not zero, only the tensor is
    filled.
    """
    scalar, result = operation.operands[0], operation.results[0]
    values, tensor = kernel.values, plain(cast(Tensor, result.type))
    sizes = values.sizes(result)
    summed = summed_dimensions(result.type)

    def fill(layout: PackedLayout) -> SSAValue:
        empty = values.empty(tensor, sizes, layout)
        operation = NAMED_CLASSES["linalg.fill"]([scalar], [empty])
        return values.builder.insert(operation).results[0]

    layout = kernel.layout(result.type)
    if not _is_zero(scalar) and sums_padding(values, result, layout, summed):
        values.set_forms(result, TensorForms(tensor, sizes, {IDENTITY: fill(IDENTITY)}))
    else:
        values.set_forms(result, TensorForms(tensor, sizes, factory=fill))


def _is_zero(scalar: SSAValue) -> bool:
    owner = scalar.owner
    value = owner.properties.get("value") if isinstance(owner, Operation) else None
    return isinstance(value, IntegerAttr | FloatAttr) and value.value.data == 0


@lowering("tensor.dim")
def _dimension(kernel: KernelLowering, operation: Operation) -> None:
    index = constant_integer(operation.operands[1])
    sizes = kernel.values.sizes(operation.operands[0])
    if index is None or not 0 <= index < len(sizes):
        raise OperationError(
            operation,
            "queries a dimension of an encoded tensor, but the index is not a valid constant",
        )
    size = sizes[index]
    if not isinstance(size, SSAValue):
        size = constant_index(size, kernel.values.builder)
    operation.results[0].replace_all_uses_with(size)


# Control flow


@lowering(*RETURNS, *BRANCHES, "scf.condition", "scf.yield")
def _end(kernel: KernelLowering, operation: Operation) -> None:
    """Return or forward tensors as memory holds them."""
    operands = [kernel.stored(value) for value in operation.operands]
    kernel.values.builder.insert(rebuilt(operation, operands, []))


@lowering("scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while")
def _enter(kernel: KernelLowering, operation: Operation) -> None:
    """Keep a loop or branch, which carries tensors as memory holds them."""
    operands = [kernel.stored(value) for value in operation.operands]
    types = [kernel.stored_type(result.type) for result in operation.results]
    regions = [operation.detach_region(region) for region in tuple(operation.regions)]
    new = kernel.values.builder.insert(rebuilt(operation, operands, types, regions=regions))
    for old, result in zip(operation.results, new.results, strict=True):
        if has_encoding(old.type):
            kernel.pass_on(old, result)
        else:
            old.replace_all_uses_with(result)


# Computations


def _compute(kernel: KernelLowering, operation: Operation) -> None:
    """Lower a computation to tiles if possible, otherwise to unpacked tensors."""
    _check_regions(operation)
    tensors = [value for value in operation.operands if isinstance(value.type, TensorType)]
    layouts = tuple(kernel.layout(value.type) for value in tensors)
    results = operation.results
    layout = kernel.layout(results[0].type) if results else IDENTITY
    solved = kernel.solve(operation)
    if solved is None and (tiled := kernel.inner_tiled(operation, layouts)):
        kernel.replace(results[0], layout, tiled)
        return
    if solved is None and len(layouts) == 3:
        product = lower_contraction(kernel.values, operation, layouts)
        if product is None:
            product = lower_convolution(kernel.values, operation, layouts)
        solved = None if product is None else [product]
    if solved is None and _may_fill_padding(kernel, operation):
        if (stored := lower_in_memory(kernel.values, operation, layout)) is not None:
            for result, form in zip(results, stored, strict=True):
                kernel.replace(result, layout, form)
            return
        solved = lower_elementwise(kernel.values, operation, layout_of_tiles(layout))
    if solved is None:
        _compute_unpacked(kernel, operation)
        return
    for result, form in zip(results, solved, strict=True):
        kernel.replace(result, layout_of_tiles(kernel.layout(result.type)), form)


def _may_fill_padding(kernel: KernelLowering, operation: Operation) -> bool:
    """Return whether all results have one layout and no reader adds up their padding."""
    layouts = {kernel.layout(result.type) for result in operation.results}
    return len(layouts) == 1 and not any(
        sums_padding(kernel.values, result, layout, summed_dimensions(result.type))
        for result in operation.results
        for layout in layouts
    )


def _check_regions(operation: Operation) -> None:
    inner = (op for region in operation.regions for op in region.walk())
    if operation.name.partition(".")[0] not in COMPUTING or any(map(_is_encoded, inner)):
        raise OperationError(
            operation, "has encoded tensors, but no rule for packed tensors: decode them first"
        )


def _compute_unpacked(kernel: KernelLowering, operation: Operation) -> None:
    operands = {
        value: kernel.values.form(value, IDENTITY)
        for value in operation.operands
        if isinstance(value.type, TensorType)
    }
    clone = operation.clone(value_mapper=dict(operands))
    for result in tuple(clone.results):
        if (tensor := ranked(result)) is not None:
            Rewriter.replace_value_with_new_type(result, plain(tensor))
    kernel.values.builder.insert(clone)
    for old, new in zip(operation.results, clone.results, strict=True):
        if isinstance(old.type, TensorType):
            kernel.replace(old, IDENTITY, new)
        else:
            old.replace_all_uses_with(new)
