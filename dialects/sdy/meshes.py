"""The op `sdy.mesh`, and the verification of shardings against meshes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, ShapedType, StringAttr, TupleType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import HasParent, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from ...ir.regions import enclosing
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.verification import attribute_check
from .attributes import (
    ManualAxesAttr,
    Mesh,
    MeshAttr,
    ShardingAttr,
    ShardingPerValueAttr,
    TensorSharding,
)


def mesh_of(operation: Operation, sharding: TensorSharding) -> Mesh | None:
    """Return the mesh of a sharding, looked up from an op outwards; `None` if undefined."""
    if isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    for scope in enclosing(operation):
        if scope.has_trait(SymbolTable):
            symbol = SymbolTable.lookup_symbol(scope, sharding.mesh)
            if isinstance(symbol, MeshOp):
                return symbol.mesh.data
    return None


def verify_sharding(operation: Operation, sharding: TensorSharding, value_type: Attribute) -> None:
    """Check that a value of a type can have a sharding. Raises VerifyException."""
    mesh = mesh_of(operation, sharding)
    if mesh is None:
        raise VerifyException(f"unknown mesh: @{sharding.mesh}")
    error = sharding.validation_error(mesh, len(shape_or_empty(value_type)))
    if error is not None:
        raise VerifyException(error)
    lists = (*(each.axes for each in sharding.dimensions), sharding.replicated, sharding.unreduced)
    verify_free_axes(operation, [axis.name for axes in lists for axis in axes])


def verify_free_axes(operation: Operation, names: Iterable[str]) -> None:
    """Check that no manual computation around an op has these axes. Raises VerifyException."""
    for scope in enclosing(operation.parent_op()):
        manual = scope.properties.get("manual_axes")
        bound = manual.data if isinstance(manual, ManualAxesAttr) else ()
        for name in names:
            if name in bound:
                raise VerifyException(f'axis "{name}" is manual in the computation around the op')


@attribute_check("sdy.sharding")
def _attached(operation: Operation, attribute: Attribute, types: Sequence[Attribute]) -> None:
    """Check the sharding of an argument or result of a function, or those of all results."""
    shardings = attribute.data if isinstance(attribute, ShardingPerValueAttr) else None
    if isinstance(attribute, ShardingAttr):
        shardings = (attribute.data,)
    if shardings is None:
        raise VerifyException(f"sdy.sharding = {attribute}, expected a sharding")
    # An operation without results has the sharding of its effect, as JAX's callbacks do.
    if len(shardings) != len(types) and (types or len(shardings) > 1):
        raise VerifyException(
            f"sdy.sharding has {len(shardings)} shardings for {len(types)} values"
        )
    for sharding, value_type in zip(shardings, types, strict=False):
        # A function that is alone in its module has its mesh elsewhere.
        if mesh_of(operation, sharding) is not None:
            verify_sharding(operation, sharding, value_type)


@irdl_op_definition
class MeshOp(SyntaxOperation):
    """Define a mesh of devices with named axes.

    The verifier checks the names and sizes of the axes and the device ids.
    """

    name = "sdy.mesh"

    sym_name = prop_def(StringAttr)
    mesh = prop_def(MeshAttr)

    traits = traits_def(SymbolOpInterface(), HasParent(ModuleOp))

    def __init__(self, name: str, mesh: Mesh) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), "mesh": MeshAttr(mesh)})

    SYNTAX: ClassVar[Syntax] = " @$sym_name = bare($mesh) attr-dict"

    def verify_(self) -> None:
        super().verify_()
        error = self.mesh.data.validation_error()
        if error is not None:
            raise VerifyException(error)


def shape_or_empty(value_type: Attribute) -> tuple[int, ...]:
    """Return the shape of a tensor type, or of the only one in a tuple; `()` for other types."""
    if isinstance(value_type, TupleType) and len(value_type.types) == 1:
        value_type = value_type.types.data[0]
    return tuple(value_type.get_shape()) if isinstance(value_type, ShapedType) else ()
