"""`convert-shard-to-mesh`: rename `shard` to `mesh`, its name in MLIR 20 and 21.

Ops are printed in generic form, which every `mlir-opt` reads. No other pass of mesh-opt handles
the result, so this pass comes last.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp, UnregisteredAttr, UnregisteredOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from ...dialects.mesh import OPERATION_NAMES, PROPERTY_NAMES
from ...dialects.shard.annotations import ShardOp, ShardShapeOp
from ...dialects.shard.attributes import AxesArrayAttr, ReductionKindAttr, ShardingType
from ...ir.attribute_replacer import AttributeReplacer
from ...ir.diagnostics import OperationError
from ..manager.module_pass import module_pass


@module_pass("convert-shard-to-mesh")
def convert_shard_to_mesh(module: ModuleOp) -> None:
    """Rename every operation, attribute and type of `shard` to its name in `mesh`.

    Fails on `shard.shard_shape` and on priorities of annotations, which `mesh` does not have.
    """
    for operation in list(module.walk()):
        if isinstance(operation, ShardShapeOp):
            raise OperationError(operation, "has no counterpart in mesh")
        if isinstance(operation, ShardOp) and operation.priority is not None:
            raise OperationError(operation, "has a priority, which mesh cannot express")
        if operation.name in OPERATION_NAMES:
            _rename(operation)
    attributes = _MeshAttributes()
    for operation in module.walk():
        attributes.replace_in(operation)


def _rename(operation: Operation) -> None:
    made = UnregisteredOp.with_name(OPERATION_NAMES[operation.name]).create(
        operands=operation.operands,
        result_types=operation.result_types,
        properties={
            PROPERTY_NAMES.get(key, key): each for key, each in operation.properties.items()
        },
        attributes=operation.attributes,
        location=operation.location,
    )
    Rewriter.replace_op(operation, made)


class _MeshAttributes(AttributeReplacer):
    """Replaces `shard` attributes and types by their spelling in `mesh`."""

    def replacement(self, attribute: Attribute) -> Attribute | None:
        match attribute:
            case ShardingType():
                return _spelled("mesh.sharding", "", is_type=True)
            case AxesArrayAttr():
                lists = ", ".join(str(list(axes)) for axes in attribute.lists())
                return _spelled("mesh.axisarray", f"[{lists}]")
            case ReductionKindAttr():
                return _spelled("mesh.partial", f" {attribute.kind.data}")
            case _:
                return None


@cache
def _spelled(name: str, text: str, *, is_type: bool = False) -> Attribute:
    return UnregisteredAttr.with_name_and_type(name, is_type)(name, is_type, not is_type, text)
