"""`shard-complete`: replicate every tensor of annotated functions that has no sharding.

After this pass, partitioning meets no tensor without a sharding. This concerns unused arguments,
arguments that are returned unchanged, and other tensors that propagation did not reach.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.locations import made_by
from ...ir.regions import inner_blocks, walk
from ..imports.import_annotations import import_annotations
from ..manager.module_pass import module_pass
from .annotations.access import GET_SHARDING, OPEN_DIMENSIONS_ATTRIBUTE, SHARD
from .annotations.writer import AnnotationWriter
from .partition.known_offsets import fold_known_offsets
from .propagation.annotated_functions import AnnotatedFunctions
from .propagation.graph import build_graph
from .propagation.tensor_shardings import ShardingAssigner


@module_pass("shard-complete")
def shard_complete(module: ModuleOp) -> None:
    """Replicate every tensor of annotated functions that has no sharding."""
    import_annotations(module)
    fold_known_offsets(module)
    if all(map(_is_annotated, AnnotatedFunctions(module).active)):
        return
    graph = build_graph(module)
    assigner = ShardingAssigner(graph, complete=True)
    AnnotationWriter(graph, assigner.assign(), assigner).write()


def _is_annotated(function: Operation) -> bool:
    """Return whether all tensors of a function are annotated, as `sharding-propagation` does."""
    for operation in walk(function):
        if operation.name == SHARD:
            if OPEN_DIMENSIONS_ATTRIBUTE in operation.attributes:
                return False
        elif operation.name != GET_SHARDING and not (
            all(map(_is_annotated_for_user, operation.operands))
            and all(
                result.first_use is None or _is_annotated_by_producer(result)
                for result in operation.results
            )
        ):
            return False
        for block in inner_blocks(operation):
            if not all(map(_is_annotated_by_producer, block.args)):
                return False
    return True


def _is_annotated_for_user(operand: SSAValue) -> bool:
    return not isinstance(operand.type, TensorType) or (
        (made := made_by(operand, SHARD)) is not None and _is_for_users(made)
    )


def _is_annotated_by_producer(value: SSAValue) -> bool:
    """Return whether the only use of a value is the annotation of its producer."""
    if not isinstance(value.type, TensorType):
        return True
    user = value.get_user_of_unique_use()
    return user is not None and user.name == SHARD and not _is_for_users(user)


def _is_for_users(annotation: Operation) -> bool:
    return "annotate_for_users" in annotation.properties
