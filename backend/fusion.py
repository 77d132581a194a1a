"""Which tensors a block stores, and which are computed on the way inside another's kernel.

One walk from the last operation to the first. Each tensor collects demands: who reads it, and how
often. A tensor is computed on the way if all its readers are one kernel and no element would be
computed twice; tensors that only rearrange others are computed wherever they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ..dialects.diagnostics import OperationError
from ..dialects.structured import IteratorType, StructuredView, structured_view
from ..interpreter.attributes import integers, operand_groups
from ..interpreter.values import element_type
from ..sharding.collective_matching import COLLECTIVES
from .elements import element_of
from .expressions import (
    FREE,
    RESHAPES,
    RULES,
    Access,
    loop_positions,
    unit_reshape,
)
from .known_values import CONSTANTS, constant_attribute, shape_of, splat_value
from .scalars import is_scalar_operation
from .tosa_expressions import ELEMENTWISE, MOVEMENTS, is_broadcast, is_pointwise_tosa, is_read
from .tosa_kernels import TOSA_KERNELS, has_tosa_kernel
from .writer import BODY_OPERATIONS

LARGEST_GROUP = 48
"""Operations computed on the way in one kernel: beyond that, compile time outweighs traffic."""

KERNEL_ONLY = frozenset(("linalg.softmax",))
"""Operations with a kernel of their own that are no loop nest over elements."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A kernel, by the operation at its root, that reads a tensor in some way."""

    root: Operation
    access: Access


@dataclass(slots=True)
class FusionPlan:
    """What to do with each operation of a block.

    - `kernels`: roots, each with the results that its kernel stores;
    - `groups`: what each root's kernel computes on the way;
    - `inline`: tensors that are computed on the way wherever they are read;
    - `host`: operations that the host program carries out;
    - `aligned`: what each root's kernel reads only at the element that it writes next.
    """

    kernels: dict[Operation, tuple[SSAValue, ...]] = field(
        default_factory=dict[Operation, tuple[SSAValue, ...]]
    )
    groups: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    inline: set[SSAValue] = field(default_factory=set[SSAValue])
    host: set[Operation] = field(default_factory=set[Operation])
    aligned: dict[Operation, set[SSAValue]] = field(default_factory=dict[Operation, set[SSAValue]])


def is_pointwise(operation: Operation) -> bool:
    """Whether each element of the results is computed alone."""
    name = operation.name
    if name in RESHAPES:
        return _is_unit_reshape(operation)
    if name.startswith("tosa."):
        return is_pointwise_tosa(operation)
    if name in ("tensor.extract_slice", "tensor.insert_slice"):
        return _is_known_slice(operation)
    if name in RULES:
        return True
    if is_scalar_operation(name):
        result_type = operation.results[0].type
        return isinstance(result_type, TensorType | AnyFloat)
    view = structured_view(operation)
    return view is not None and is_pointwise_view(view)


def _is_known_slice(operation: Operation) -> bool:
    """Whether a slice surely lies inside: the host looks at all others before they are taken."""
    group = 1 if operation.name == "tensor.extract_slice" else 2
    if any(operand_groups(operation, operation.operands)[group:]):
        return False
    whole = shape_of(operation.operands[group - 1])
    parts = ("offsets", "sizes", "strides")
    lists = [integers(operation, f"static_{part}") for part in parts]
    return all(
        0 <= offset <= size and 0 <= offset + (count - 1) * stride < max(size, 1)
        for size, offset, count, stride in zip(whole, *lists, strict=True)
    )


def is_pointwise_view(view: StructuredView) -> bool:
    """Whether a structured operation has no reduction, and its results tell its loops."""
    return (
        all(iterator is IteratorType.PARALLEL for iterator in view.iterators)
        and all(each == view.output_maps[0] for each in view.output_maps)
        and loop_positions(view.output_maps[0]) is not None
    )


def _is_unit_reshape(operation: Operation) -> bool:
    source, target = shape_of(operation.operands[0]), shape_of(operation.results[0])
    return unit_reshape(source, target) is not None


def is_kernel(operation: Operation) -> bool:
    """Whether an operation's results are computed by kernels."""
    if not operation.results or not isinstance(operation.results[0].type, TensorType | AnyFloat):
        return False
    known = (
        operation.name in KERNEL_ONLY
        or has_tosa_kernel(operation)
        or is_pointwise(operation)
        or structured_view(operation) is not None
    )
    return known and _has_known_elements(operation) and _has_known_bodies(operation)


def _has_known_elements(operation: Operation) -> bool:
    """Whether kernels hold the elements of all operands and results."""
    try:
        for value in (*_read_operands(operation), *operation.results):
            element_of(element_type(value.type), operation)
    except OperationError:
        return False
    return True


def _read_operands(operation: Operation) -> Sequence[SSAValue]:
    """The operands whose elements or numbers kernels read."""
    if operation.name.startswith("tosa."):
        return [each for each in operation.operands if is_read(operation, each)]
    return operation.operands


def _has_known_bodies(operation: Operation) -> bool:
    """Whether kernels have every operation in the regions."""
    view = structured_view(operation)
    blocks = [view.body] if view else [r.block for r in operation.regions if r.blocks]
    return all(_is_known_body(block) for block in blocks)


def _is_known_body(block: Block) -> bool:
    for operation in block.ops:
        if operation is block.last_op:
            continue
        if operation.name not in BODY_OPERATIONS and not is_scalar_operation(operation.name):
            return False
        if not _has_known_elements(operation):
            return False
        for region in operation.regions:
            if len(region.blocks) > 1 or not all(_is_known_body(each) for each in region.blocks):
                return False
    return True


def _is_free(operation: Operation) -> bool:
    """Whether results cost nothing to compute again."""
    if operation.name in FREE:
        return True
    view = structured_view(operation)
    if view is None:
        return False
    body = view.body
    return body.first_op is body.last_op


def _map_access(view: StructuredView, affine_map: AffineMap) -> Access:
    loops = len(view.iterators)
    if affine_map == AffineMap.identity(loops):
        same = all(each == affine_map for each in view.output_maps)
        has_reduction = IteratorType.REDUCTION in view.iterators
        return Access.SAME if same or has_reduction else Access.ONCE
    used = {str(expression) for expression in affine_map.results}
    if len(used) == loops and used == {f"d{loop}" for loop in range(loops)}:
        return Access.ONCE
    return Access.MANY


_ONCE_OPERANDS = {
    # Reading an operand elsewhere than at the result's indices, but at each place once.
    **dict.fromkeys(
        (*RESHAPES, "tensor.extract_slice", "tensor.concat", "tensor.pad"), Access.ONCE
    ),
    **dict.fromkeys(MOVEMENTS, Access.ONCE),
    "tosa.tile": Access.MANY,
    "linalg.pack": Access.ONCE,
    "linalg.unpack": Access.ONCE,
    "tensor.insert_slice": Access.ONCE,
}


def _accesses(operation: Operation) -> Sequence[tuple[SSAValue, Access]]:
    """How an operation's kernel reads each operand, and values that its regions capture."""
    view = structured_view(operation)
    pairs: list[tuple[SSAValue, Access]] = []
    if view is None:
        default = _ONCE_OPERANDS.get(operation.name, Access.SAME)
        if operation.name in KERNEL_ONLY or operation.name in TOSA_KERNELS:
            default = Access.MANY
        for operand in _read_operands(operation):
            is_repeated = operation.name in ELEMENTWISE and is_broadcast(
                shape_of(operand), shape_of(operation.results[0])
            )
            pairs.append((operand, Access.MANY if is_repeated else default))
    else:
        for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            if isinstance(operand.type, TensorType):
                pairs.append((operand, _map_access(view, affine_map)))
            else:
                pairs.append((operand, Access.MANY))
    pairs.extend((value, Access.MANY) for value in captured(operation))
    return pairs


def captured(operation: Operation) -> list[SSAValue]:
    """Values from outside that the regions of an operation use."""
    found: dict[SSAValue, None] = {}
    for region in operation.regions:
        for inner in region.walk():
            for operand in inner.operands:
                owner = operand.owner
                scope = owner if isinstance(owner, Block) else owner.parent_block()
                if scope is None or not _is_within(scope, operation):
                    found[operand] = None
    return list(found)


def _is_within(block: Block, operation: Operation) -> bool:
    scope = block.parent_op()
    while scope is not None:
        if scope is operation:
            return True
        scope = scope.parent_op()
    return False


def plan_block(block: Block) -> FusionPlan:
    """Decide for every operation of a block. Operations whose results nobody reads are left out."""
    plan = FusionPlan()
    demands: dict[SSAValue, list[Demand]] = {}
    wanted_by_host = set(_read_by_other_blocks(block))

    def ask(operation: Operation, roots: dict[Operation, Access]) -> None:
        for operand, own in _accesses(operation):
            demands.setdefault(operand, []).extend(
                Demand(root, max(own, access)) for root, access in roots.items()
            )

    for operation in reversed(list(block.ops)):
        if operation.name in CONSTANTS:
            # Kernels hold numbers themselves; other constants are arrays of the host's.
            result = operation.results[0]
            is_array = result in demands and not _is_number(result)
            if result in wanted_by_host or is_array:
                plan.host.add(operation)
            continue
        if not is_kernel(operation):
            if _has_purpose(operation, demands, wanted_by_host):
                plan.host.add(operation)
                wanted_by_host.update(operation.operands)
                wanted_by_host.update(captured(operation))
            continue
        read = [each for each in operation.results if each in demands or each in wanted_by_host]
        if not read:
            continue
        roots = _inline_roots(operation, demands, wanted_by_host, plan.groups)
        if roots is not None:
            plan.inline.update(operation.results)
            for root in roots:
                plan.groups.setdefault(root, []).append(operation)
            ask(operation, roots)
        elif operation.name in VIEWS:
            plan.host.add(operation)
            wanted_by_host.update(operation.operands)
        else:
            # A reduction combines into all of its results, read or not.
            stored = read if is_pointwise(operation) else operation.results
            plan.kernels[operation] = tuple(stored)
            ask(operation, {operation: Access.SAME})
    for value, found in demands.items():
        for root in {demand.root for demand in found}:
            own = [demand.access for demand in found if demand.root is root]
            if _is_aligned(value, root, own):
                plan.aligned.setdefault(root, set()).add(value)
    return plan


def _is_aligned(value: SSAValue, root: Operation, accesses: Sequence[Access]) -> bool:
    """Whether a kernel reads a tensor only at the indices of the element that it writes next."""
    if is_pointwise(root):
        return all(access is Access.SAME for access in accesses)
    # A packed product adds its sums to the initial values, one after the other.
    view = structured_view(root) if root.name in PACKED_PRODUCTS else None
    return view is not None and value is view.outputs[0] and len(accesses) == 1


PACKED_PRODUCTS = frozenset(("linalg.batch_mmt4d", "linalg.mmt4d"))


def _read_by_other_blocks(block: Block) -> list[SSAValue]:
    """Values that a later block of the same region uses."""
    region = block.parent_region()
    if region is None or len(region.blocks) == 1:
        return []
    return [
        result
        for operation in block.ops
        for result in operation.results
        if any(block.find_ancestor_op_in_block(use.operation) is None for use in result.uses)
    ]


VIEWS = frozenset(
    (*RESHAPES, "tensor.cast", "tensor.empty", "tensor.extract_slice", "tensor.insert_slice")
)
"""Operations that the host carries out where no kernel computes them on the way: often nothing
has to be copied."""


def _is_number(constant: SSAValue) -> bool:
    """Whether a constant is a scalar, or a tensor of equal elements."""
    if not isinstance(constant.type, TensorType):
        return True
    attribute = constant_attribute(constant)
    return attribute is not None and splat_value(attribute) is not None


def _has_purpose(
    operation: Operation, demands: dict[SSAValue, list[Demand]], wanted: set[SSAValue]
) -> bool:
    if not operation.results or operation.regions:
        return True
    if operation.name in IMPURE:
        return True
    return any(result in demands or result in wanted for result in operation.results)


IMPURE = COLLECTIVES | {"func.call", "util.call"}
"""Operations that are carried out even if nobody reads their results."""


def _inline_roots(
    operation: Operation,
    demands: dict[SSAValue, list[Demand]],
    wanted_by_host: set[SSAValue],
    groups: dict[Operation, list[Operation]],
) -> dict[Operation, Access] | None:
    """The kernels that compute an operation on the way, or `None` if its results are stored."""
    if not is_pointwise(operation) or any(each in wanted_by_host for each in operation.results):
        return None
    found = [demand for result in operation.results for demand in demands.get(result, ())]
    roots: dict[Operation, Access] = {}
    for demand in found:
        roots[demand.root] = max(demand.access, roots.get(demand.root, Access.SAME))
    if any(len(groups.get(root, ())) >= LARGEST_GROUP for root in roots):
        return None
    if _is_free(operation):
        return roots
    if len(roots) != 1 or operation.name == "tensor.insert_slice":
        return None
    access = next(iter(roots.values()))
    once = access is Access.SAME or (access is Access.ONCE and len(found) == 1)
    return roots if once else None
