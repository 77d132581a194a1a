"""Use one encoding for a constant that is encoded for several operations, so it is stored once.

    @w_64 = encode(@w, for M = 64)        @w_64 = encode(@w, E)
    @w_1  = encode(@w, for M = 1)    ->   @w_1  = encode(@w, E)

The solver chooses `E` (`EncodingSolverInterface.unified_encoding`); if the devices have different
solvers, `E` is row-major. Kernels read `E`. Other operations get their old encoding by an encode in
front of them. `merge-globals` then merges equal globals. The pass runs before layouts are resolved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.iree_encoding.interfaces import (
    EncodingSolverInterface,
    Tensor,
    TensorEncoding,
    plain,
    with_encoding,
)
from ...dialects.iree_encoding.layouts import IdentityAttr
from ...dialects.stream.affinity import TargetsUnknownError, affinity_of
from ...dialects.stream.tensor_ops import TensorDispatchOp, TensorEncodeOp, TensorSizeOfOp
from ...ir.diagnostics import remark
from ...ir.host_programs import GLOBAL_LOAD, GLOBAL_STORE, host_operations_of
from ...ir.locations import builder_before, located_builder, made_by
from ...ir.structural_hash import AttributeNumbers
from ...ir.syntax.assembly_format import operand_index, values
from ...ir.syntax.resource_directives import dynamic_dimensions, sizes_by_type, ties_of
from .analysis.affinity_targets import AffinityTargets
from .analysis.encoded_globals import EncodedGlobals, EncodedVersion, Readers
from .analysis.encoding_resolution import CATEGORY
from .analysis.storage import is_resource
from .conversion.stored_tensors import PlacedBuilder
from .kernels.exports import Kernels, bound_tensor, dispatched_values, entry_points
from .specialize_encodings import VariantPlan


class UnifyEncodingForGlobalsPass(ModulePass):
    """Give all encoded versions of one constant the same encoding."""

    name = "iree-stream-unify-encoding-for-globals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        numbers = AttributeNumbers()
        encoded = EncodedGlobals(op)
        affinities = AffinityTargets(ctx, op, numbers)
        unifier = Unifier(op, numbers)
        for versions in encoded.sources.values():
            if len({version.encoding for version in versions}) == 1:
                continue
            reached = [(version, encoded.readers(version)) for version in versions]
            unified = _unified_encoding(affinities, versions)
            if unified is not None and not unifier.refuses(reached):
                unifier.unify(reached, unified)
        unifier.change_kernels()


def _unified_encoding(
    affinities: AffinityTargets, versions: Sequence[EncodedVersion]
) -> TensorEncoding | None:
    """Return the encoding for all versions: what the only solver chooses, else `identity`.

    Return `None` if the device that encodes a version, or its targets, are not known.
    """
    solvers: set[EncodingSolverInterface] = set()
    for version in versions:
        if (affinity := affinity_of(version.encode)) is None:
            return None
        try:
            targets = affinities.targets(affinity, version.encode)
        except TargetsUnknownError:
            return None
        solvers.update(target.solver for target in targets)
    if len(solvers) != 1 or len({plain(version.tensor) for version in versions}) != 1:
        return IdentityAttr()
    unified = solvers.pop().unified_encoding([version.encoding for version in versions])
    return IdentityAttr() if unified is None else unified


class Unifier:
    """Changes the host program, and records which encodings kernels have to read."""

    def __init__(self, module: ModuleOp, numbers: AttributeNumbers) -> None:
        self._module = module
        self._numbers = numbers
        self._kernels = Kernels(module)
        self._sizes: dict[tuple[Operation, Attribute], SSAValue] = {}
        self._dispatched: dict[Operation, dict[int, TensorEncoding]] = defaultdict(dict)

    # Obstacles

    def refuses(self, reached: Iterable[tuple[EncodedVersion, Readers]]) -> bool:
        """Return whether a version must keep its encoding; a remark tells why."""
        for version, readers in reached:
            obstacle = next(self._obstacles(version, readers), None)
            if obstacle is not None:
                operation, reason = obstacle
                message = f"@{version.name} keeps its encoding: '{operation.name}' {reason}"
                remark(CATEGORY, operation, message)
                return True
        return False

    def _obstacles(
        self, version: EncodedVersion, readers: Readers
    ) -> Iterator[tuple[Operation, str]]:
        stores = (version.encode, *version.copies)
        for use in version.size.storage_size.uses:
            if use.operation not in stores and use.operation.name != GLOBAL_STORE:
                yield use.operation, "also uses its size in bytes"
        for operation in readers.unknown:
            yield operation, "reads it without a tensor type"
        for operation in readers.copies:
            for size in operation.operands[1:]:
                if not _can_follow(size, version.tensor):
                    yield operation, "has a size of unknown origin"
        for dispatch, index in readers.dispatched:
            if (reason := self._lost_in_kernels(dispatch, index)) is not None:
                yield dispatch, reason

    def _lost_in_kernels(self, dispatch: TensorDispatchOp, index: int) -> str | None:
        for entry in entry_points(dispatch):
            kernel = self._kernels.of_entry_point(entry, dispatch)
            if kernel is None:
                return f"runs {entry}, which is not a stream.executable"
            argument = kernel.function.regions[0].block.args[index]
            read = sum(1 for bound, _ in kernel.bindings if bound == index)
            if len(tuple(argument.uses)) != read:
                return f"runs {entry}, which does not read it as an encoded tensor"
        return None

    # Host program

    def unify(
        self, reached: Iterable[tuple[EncodedVersion, Readers]], encoding: TensorEncoding
    ) -> None:
        """Store all versions in one encoding, and change their readers."""
        for version, readers in reached:
            old = version.tensor
            new = with_encoding(old, encoding)
            version.encode.properties["result_encoding"] = new
            version.size.properties["encoding"] = new
            for copy in readers.copies:
                for index in range(1, len(copy.operands)):
                    copy.operands[index] = self._resized(copy.operands[index], new, copy)
            for encode in readers.encodes:
                self._retype(encode, "source", encoding)
            for dispatch, index in readers.dispatched:
                self._dispatch(dispatch, index, encoding)
            for operation, name in readers.others:
                self._relayout(operation, name, encoding)

    def _retype(self, operation: Operation, name: str, encoding: TensorEncoding) -> None:
        type_ = with_encoding(cast(Tensor, operation.properties[f"{name}_encoding"]), encoding)
        dims = values(operation, f"{name}_encoding_dims")
        index = operand_index(operation, f"{name}_size")
        operation.operands[index] = self._resized(operation.operands[index], type_, operation, dims)
        operation.properties[f"{name}_encoding"] = type_

    def _relayout(self, operation: Operation, name: str, encoding: TensorEncoding) -> None:
        """Insert an encode from the unified encoding to the one that an operation reads."""
        old = cast(Tensor, operation.properties[f"{name}_encoding"])
        new = with_encoding(old, encoding)
        if old == new:
            return
        here = PlacedBuilder(builder_before(operation), operation.properties.get("affinity"))
        (source,) = values(operation, name)
        dims = values(operation, f"{name}_encoding_dims")
        index = operand_index(operation, f"{name}_size")
        size = operation.operands[index]
        stored = self._resized(size, new, operation, dims)
        if not _is_size_of(size, old):
            size = here.size_of(old, dims)
            operation.operands[index] = size
        encoded = _encode(source, (new, stored), (old, size), dims, here)
        operation.operands[operand_index(operation, name)] = encoded

    def _dispatch(self, dispatch: TensorDispatchOp, index: int, encoding: TensorEncoding) -> None:
        """Pass the unified encoding to a kernel; results tied to that operand are encoded back."""
        types = list(dispatch.operand_encodings.data)
        before = cast(Tensor, types[index])
        if before.encoding == encoding:
            return
        types[index] = after = with_encoding(before, encoding)
        dispatch.properties["operand_encodings"] = ArrayAttr(types)
        self._dispatched[dispatch][index] = encoding
        before_it = dispatch.mixed_operands[:index]
        position = operand_index(dispatch, "operand_sizes") + sum(map(is_resource, before_it))
        dims = _dims_of(dispatch, "operand", index)
        size = self._resized(dispatch.operands[position], after, dispatch, dims)
        dispatch.operands[position] = size
        for number, tie in enumerate(ties_of(dispatch, len(dispatch.results))):
            if tie == index:
                self._restore(dispatch, number, encoding, size)

    def _restore(
        self, dispatch: TensorDispatchOp, number: int, encoding: TensorEncoding, size: SSAValue
    ) -> None:
        """Encode a result in the unified encoding back to its old encoding."""
        types = list(dispatch.result_encodings.data)
        old = cast(Tensor, types[number])
        types[number] = new = with_encoding(old, encoding)
        dispatch.properties["result_encodings"] = ArrayAttr(types)
        dispatch.operands[operand_index(dispatch, "result_sizes") + number] = size
        result = dispatch.results[number]
        readers = [(use.operation, use.index) for use in result.uses]
        if not readers:
            return
        builder = located_builder(InsertPoint.after(dispatch), dispatch)
        dims = _dims_of(dispatch, "result", number)
        here = PlacedBuilder(builder, dispatch.properties.get("affinity"))
        restored = _encode(result, (new, size), (old, here.size_of(old, dims)), dims, here)
        for operation, index in readers:
            operation.operands[index] = restored

    def _resized(
        self, size: SSAValue, tensor: Tensor, user: Operation, dims: Sequence[SSAValue] = ()
    ) -> SSAValue:
        """Return the size in bytes of a tensor in the unified encoding, given its old size."""
        query = size.owner
        if isinstance(query, TensorSizeOfOp):
            key = query, tensor
            if key not in self._sizes:
                builder = located_builder(InsertPoint.after(query), query)
                here = PlacedBuilder(builder, query.properties.get("affinity"))
                self._sizes[key] = here.size_of(tensor, tuple(query.encoding_dims))
            return self._sizes[key]
        if made_by(size, GLOBAL_LOAD):
            return size
        return PlacedBuilder(builder_before(user), user.properties.get("affinity")).size_of(
            tensor, dims
        )

    # Kernels

    def change_kernels(self) -> None:
        """Make kernels read the unified encoding; those that are also run without it are cloned."""
        changed = {
            kernel.function
            for dispatch in self._dispatched
            for _, kernel in self._kernels.of_dispatch(dispatch)
        }
        plan = VariantPlan(self._numbers)
        for dispatch in host_operations_of(self._module, TensorDispatchOp):
            for position, kernel in self._kernels.of_dispatch(dispatch):
                if kernel.function not in changed:
                    continue
                types = tuple(
                    self._bound(dispatch, argument, subspan)
                    for argument, subspan in kernel.bindings
                )
                plan.add(kernel, (), types, dispatch, position)
        plan.apply(self._module)

    def _bound(self, dispatch: Operation, argument: int, subspan: Operation) -> Attribute:
        tensor = cast(Tensor, bound_tensor(subspan))
        unified = self._dispatched.get(dispatch, {})
        if argument < len(dispatched_values(dispatch)) and argument in unified:
            return with_encoding(tensor, unified[argument])
        return tensor


def _is_size_of(size: SSAValue, tensor: Tensor) -> bool:
    return isinstance(size.owner, TensorSizeOfOp) and size.owner.encoding == tensor


def _can_follow(size: SSAValue, tensor: Tensor) -> bool:
    """Return whether a size in bytes can be recomputed when the encoding changes."""
    owner = size.owner
    if isinstance(owner, TensorSizeOfOp):
        return plain(cast(Tensor, owner.encoding)) == plain(tensor)
    return isinstance(owner, Operation) and (
        owner.name == GLOBAL_LOAD or dynamic_dimensions(tensor) == 0
    )


def _dims_of(dispatch: TensorDispatchOp, side: str, index: int) -> tuple[SSAValue, ...]:
    """Return the dynamic sizes of one operand or result of a dispatch."""
    types = cast("ArrayAttr[Attribute]", dispatch.properties[f"{side}_encodings"]).data
    return sizes_by_type(types, values(dispatch, f"{side}_encoding_dims"))[index]


def _encode(
    source: SSAValue,
    old: tuple[Tensor, SSAValue],
    new: tuple[Tensor, SSAValue],
    dims: Sequence[SSAValue],
    here: PlacedBuilder,
) -> SSAValue:
    """Emit a tensor in another encoding; `old` and `new` are types with sizes in bytes."""
    return here.make(
        TensorEncodeOp,
        [source, dims, old[1], dims, new[1]],
        source.type,
        source_encoding=old[0],
        result_encoding=new[0],
    )
