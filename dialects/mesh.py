"""The `mesh` dialect of MLIR 19 to 21, the predecessor of `shard`: its text is read as `shard`.

After parsing, a program has no `mesh` ops. `convert-shard-to-mesh` creates them for printing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    ModuleOp,
    NoneAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_replacer import nested_attributes
from ..ir.diagnostics import Note, OperationError
from ..ir.dialect_extension import variant
from ..ir.locations import builder_before
from ..ir.regions import walk
from ..ir.syntax.assembly_format import Parsed, Syntax, values
from ..ir.syntax.attribute_format import FormattedAttribute, Kind
from ..ir.syntax.operations import SyntaxOperation
from ..ir.text.parser import AFTER_READING
from .shard import annotations as shard
from .shard.attributes import (
    AxesArrayAttr,
    AxesAttr,
    IndicesAttr,
    ReductionKindAttr,
    ShardingType,
    parse_axes,
    print_axes,
)
from .shard.dialect import Shard
from .shard.process_arithmetic import ArithmeticBefore
from .shard.syntax import NamedResults

OPERATION_NAMES = {
    operation.name: operation.name.replace("shard.", "mesh.", 1)
    for operation in Shard.operations
    if operation is not shard.ShardShapeOp
} | {"shard.grid": "mesh.mesh", "shard.grid_shape": "mesh.mesh_shape"}
"""The `mesh` name of each `shard` op."""

PROPERTY_NAMES = {"grid": "mesh", "grid_axes": "mesh_axes"}
"""The `mesh` name of each renamed property."""

_PROPERTIES = {old: new for new, old in PROPERTY_NAMES.items()}


def _alias(attribute: type[ParametrizedAttribute], name: str) -> type[ParametrizedAttribute]:
    """Return the class of a `mesh` attribute or type, which parses to one of `shard`."""

    def parse(cls: type[ParametrizedAttribute], parser: AttrParser) -> Sequence[Attribute]:
        return attribute.parse_parameters(parser)

    def new(cls: type[ParametrizedAttribute], parameters: Sequence[Attribute]) -> Attribute:
        return attribute.new(parameters)

    members = {
        "__doc__": f"Read as `{attribute.name}`.",
        "name": name,
        "parse_parameters": classmethod(parse),
        "new": classmethod(new),
    }
    return cast(
        "type[ParametrizedAttribute]", type(attribute.__name__, attribute.__bases__, members)
    )


def _reader(operation: type[IRDLOperation]) -> type[IRDLOperation]:
    """Return the class of a `mesh` op, which parses to one of `shard`."""

    def parse(cls: type[Operation], parser: Parser) -> Operation:
        made = operation.parse(parser)
        for name in made.attributes.keys() & _PROPERTIES.keys():
            made.properties[_PROPERTIES[name]] = made.attributes.pop(name)
        return made

    def create(
        cls: type[Operation], *, properties: Mapping[str, Attribute] | None = None, **parts: Any
    ) -> Operation:
        renamed = {_PROPERTIES.get(name, name): each for name, each in (properties or {}).items()}
        return operation.create(properties=renamed, **parts)

    members: dict[str, object] = {
        "__doc__": f"Read as `{operation.name}`.",
        "parse": classmethod(parse),
        "create": classmethod(create),
    }
    return variant(operation, OPERATION_NAMES[operation.name], members)


def _print_parameters(printer: Printer, attribute: Attribute) -> None:
    cast(ParametrizedAttribute, attribute).print_parameters(printer)


@irdl_attr_definition
class MeshShardAttr(FormattedAttribute):
    """A sharding as an attribute, as in LLVM 19 and older.

    `#mesh.shard<@mesh0, [[0]], partial = sum[1]>`; inside `mesh.shard` without the `#mesh.shard`.
    """

    name = "mesh.shard"

    mesh: SymbolRefAttr
    split_axes: AxesArrayAttr
    partial_type: ReductionKindAttr | NoneAttr
    partial_axes: AxesAttr | NoneAttr

    FORMAT: ClassVar[str] = (
        "<$mesh:symbol, $split_axes:lists(, partial = $partial_type:reduction$partial_axes:axes)?>"
    )
    KINDS: ClassVar[Mapping[str, Kind]] = {
        "lists": (AxesArrayAttr.parse_lists, _print_parameters),
        "reduction": (ReductionKindAttr.parse_keyword, _print_parameters),
        "axes": (parse_axes, lambda printer, axes: print_axes(printer, cast(AxesAttr, axes))),
    }

    def sharding(self) -> shard.ShardingOp:
        """Return a `shard.sharding` op that defines this sharding."""
        kind, axes = self.partial_type, self.partial_axes
        partial = None
        if not isinstance(kind, NoneAttr) and not isinstance(axes, NoneAttr):
            partial = kind.reduction, axes.get_values()
        return shard.ShardingOp(self.mesh, self.split_axes.lists(), partial=partial)


class _ShardingOrAttribute:
    """`%s`, or `<@mesh0, [[0]]>`: a sharding as a value or as an attribute."""

    printed_attributes = ("shard",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        sharding = parser.parse_optional_unresolved_operand()
        if sharding is None:
            shard = MeshShardAttr.new(MeshShardAttr.parse_parameters(parser))
            parsed.attributes["shard"] = shard
        else:
            parsed.operands["sharding"] = [sharding]

    def print(self, printer: Printer, operation: Operation) -> None:
        for sharding in values(operation, "sharding"):
            printer.print_ssa_value(sharding)
        if isinstance(attribute := operation.properties.get("shard"), MeshShardAttr):
            attribute.print_parameters(printer)


@irdl_op_definition
class ShardOp(SyntaxOperation):
    """Annotate a tensor with a sharding, as a value or as an attribute (LLVM 19).

    `mesh.shard %t to %s : T`, or `mesh.shard %t to <@mesh0, [[0]]> : T`. `translate_mesh` replaces
    it by `shard.shard`.
    """

    name = "mesh.shard"

    src = operand_def(TensorType)
    sharding = opt_operand_def(ShardingType())
    shard = opt_prop_def(MeshShardAttr)
    annotate_for_users = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $src to ",
        _ShardingOrAttribute(),
        "( annotate_for_users$annotate_for_users)? attr-dict : type($src, $result)",
    )


@irdl_op_definition
class ShardShapeOp(NamedResults):
    """Return the shape of the shard on a device: `mesh.shard_shape 8x4 %s %i : index, index`.

    The device is a linear number. A dynamic size is only `?`, its value is unknown.
    `translate_mesh` replaces the op by `shard.shard_shape`.
    """

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("shard_shape",)

    name = "mesh.shard_shape"

    shape = prop_def(IndicesAttr)
    sharding = operand_def(ShardingType())
    device = operand_def(IndexType)
    result = var_result_def(IndexType)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " dimensions($shape) $sharding $device attr-dict : type($result)"


_READERS = {
    OPERATION_NAMES[operation.name]: _reader(cast("type[IRDLOperation]", operation))
    for operation in Shard.operations
    if operation.name in OPERATION_NAMES and operation is not shard.ShardOp
}


def translate_mesh(module: ModuleOp) -> None:
    """Replace `mesh` ops that need more than new names; run after a module has been parsed.

    Compilers with their own classes for `mesh` ops may call it, too. Raises OperationError for
    anything that has no counterpart in `shard`.
    """
    for operation in list(walk(module)):
        if (reader := _READERS.get(operation.name)) is not None:
            made = reader.create(
                operands=operation.operands,
                result_types=operation.result_types,
                properties=operation.properties,
            )
            _replace(operation, made)
    seen: set[int] = set()
    for operation in list(walk(module)):
        if isinstance(operation, ShardOp):
            _translate_annotation(operation)
        elif isinstance(operation, ShardShapeOp):
            _translate_shard_shape(operation)
        elif sharding := _sharding_in(operation, seen):
            raise OperationError(
                operation,
                f"has the attribute {sharding}, which the shard dialect only supports on "
                "mesh.shard",
                [Note("annotate the value with mesh.shard instead")],
            )


AFTER_READING["mesh"] = translate_mesh


def _translate_annotation(operation: ShardOp) -> None:
    """Replace an annotation; a sharding attribute becomes a `shard.sharding` before it."""
    sharding, attribute = operation.sharding, operation.shard
    if (sharding is None) == (attribute is None):
        raise OperationError(
            operation, "expects a sharding, either as an operand or as an attribute"
        )
    if attribute is not None:
        sharding = builder_before(operation).insert(attribute.sharding()).result
    assert sharding is not None
    _replace(
        operation, shard.ShardOp(operation.src, sharding, operation.annotate_for_users is not None)
    )


def _translate_shard_shape(operation: ShardShapeOp) -> None:
    """Replace a `mesh.shard_shape`; compute coordinates from the device's row-major number."""
    sizes = operation.shape.get_values()
    if DYNAMIC_INDEX in sizes:
        raise OperationError(
            operation,
            f"size {sizes.index(DYNAMIC_INDEX)} is dynamic, but its value is not an operand; "
            "shard.shard_shape needs it",
        )
    if len(sizes) != len(operation.results):
        raise OperationError(
            operation,
            f"has {len(operation.results)} results, expected one for each of {len(sizes)} sizes",
        )
    sharding = operation.sharding.owner
    if not isinstance(sharding, shard.ShardingOp):
        raise OperationError(
            operation, "needs a sharding defined by mesh.sharding, to know the coordinates"
        )
    try:
        grid = sharding.resolve_grid()
    except VerifyException as error:
        raise OperationError(sharding, str(error)) from error
    device = ArithmeticBefore(operation).coordinates(grid, operation.device, range(grid.rank))
    _replace(operation, shard.ShardShapeOp(sizes, operation.sharding, device))


def _replace(operation: Operation, new: Operation) -> None:
    new.attributes |= operation.attributes
    builder_before(operation).insert(new)
    for old, result in zip(operation.results, new.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(operation, [], new.results)


def _sharding_in(operation: Operation, seen: set[int]) -> MeshShardAttr | None:
    """Return a sharding attribute in an op's attributes or its values' types; `None` if none."""
    arguments = (block.args for region in operation.regions for block in region.blocks)
    types = [value.type for group in (operation.results, *arguments) for value in group]
    for attribute in (*types, *operation.properties.values(), *operation.attributes.values()):
        for nested in nested_attributes(attribute, seen):
            if isinstance(nested, MeshShardAttr):
                return nested
    return None


Mesh = Dialect(
    "mesh",
    [*_READERS.values(), ShardOp, ShardShapeOp],
    [
        _alias(AxesArrayAttr, "mesh.axisarray"),
        _alias(ReductionKindAttr, "mesh.partial"),
        _alias(ShardingType, "mesh.sharding"),
        MeshShardAttr,
    ],
)
"""The dialect: names that are parsed as `shard`."""
