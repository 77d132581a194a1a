"""Give the functions that callers see the interface of a HAL: buffer views in, buffer views out.

    func.func @f(%a: tensor<?x4xf32>) -> tensor<?x4xf32>

becomes

    util.func public @f(%a: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, ...}

whose body imports what was passed on the device that the argument names, and exports the results.
Calls are synchronous: results are ready on return.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint

from ...dialects.hal.buffers import BufferViewDimOp, TensorExportOp, TensorImportOp
from ...dialects.hal.types import BufferViewType
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ...dialects.util.functions import FuncOp, ReturnOp
from ...ir.attribute_access import boundary_attributes
from ...ir.diagnostics import OperationError
from ...ir.locations import builder_before, located_builder, replace_by
from ...ir.symbols import visibility
from ...ir.syntax.resource_directives import UNTIED, tied_operands
from ...ir.tensor_types import ranked
from ..sizes.dimension_sizes import DimensionSizes
from ..stream.analysis.device_placement import boundary_affinity

INDEX = IndexType()
BUFFER_VIEW = BufferViewType()


@dataclass(frozen=True)
class WrapEntryPointsPass(ModulePass):
    """Turn public functions on tensors into functions on buffer views."""

    name = "iree-abi-wrap-entry-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in tuple(op.body.block.ops):
            if function.name in ("func.func", "util.func") and _is_entry_point(function):
                Wrapper(function).wrap()


def _is_entry_point(function: Operation) -> bool:
    if visibility(function) == "private" or not function.regions[0].blocks:
        return False
    type_ = cast(FunctionType, function.properties["function_type"])
    if function.name == "func.func":
        return True
    return any(isinstance(one, TensorType) for one in (*type_.inputs, *type_.outputs))


class Wrapper:
    """The change of one function."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._type = cast(FunctionType, function.properties["function_type"])
        self._declaration = declaration(function)

    def wrap(self) -> None:
        """Replace the function."""
        function = self._function
        region = function.regions[0]
        self._import_arguments(region.blocks[0])
        for block in region.blocks:
            if block.last_op is None:
                raise OperationError(function, "has a block without an end")
            if block.last_op.name.endswith(".return"):
                self._export_results(block.last_op)
        properties: dict[str, Attribute] = {
            "sym_visibility": StringAttr("public"),
            "sym_name": function.properties["sym_name"],
            "function_type": FunctionType.from_lists(
                [_passed(type_) for type_ in self._type.inputs],
                [_passed(type_) for type_ in self._type.outputs],
            ),
        }
        if self._type.outputs:
            properties["tied_operands"] = tied_operands([UNTIED] * len(self._type.outputs))
        for name in ("arg_attrs", "res_attrs"):
            kept = _without_affinities(function.properties.get(name))
            if kept is not None:
                properties[name] = kept
        attributes: dict[str, Attribute] = {
            **function.attributes,
            "iree.abi.stub": UnitAttr(),
            "iree.reflection": DictionaryAttr(
                {"iree.abi.declaration": StringAttr(self._declaration)}
            ),
        }
        body = function.detach_region(region)
        new = FuncOp.create(properties=properties, attributes=attributes, regions=[body])
        replace_by(function, new)

    def _import_arguments(self, block: Block) -> None:
        builder = located_builder(InsertPoint.at_start(block), self._function)
        for index, argument in enumerate(tuple(block.args)):
            tensor = ranked(argument)
            if tensor is None:
                continue
            if tensor_encoding(tensor) is not None:
                raise OperationError(
                    self._function, f"takes an encoded tensor, which a caller cannot pass: {tensor}"
                )
            passed = block.insert_arg(BUFFER_VIEW, index)
            passed.name_hint = argument.name_hint
            imported = self._import(passed, tensor, index, builder)
            imported.name_hint = argument.name_hint
            argument.replace_all_uses_with(imported)
            block.erase_arg(argument)

    def _import(self, passed: SSAValue, tensor: Tensor, index: int, builder: Builder) -> SSAValue:
        dynamic: list[SSAValue] = []
        for dimension, size in enumerate(tensor.get_shape()):
            if size == DYNAMIC_INDEX:
                operation = BufferViewDimOp.create(
                    operands=[passed],
                    result_types=[INDEX],
                    properties={"index": IntegerAttr(dimension, INDEX)},
                )
                dynamic.append(builder.insert(operation).results[0])
        properties: dict[str, Attribute] = {
            "target_encoding": tensor,
            "name": StringAttr(f"input{index}"),
        }
        if (place := boundary_affinity(self._function, "arg_attrs", index)) is not None:
            properties["affinity"] = place
        operation = TensorImportOp.build(
            operands=[passed, dynamic, (), ()], result_types=[tensor], properties=properties
        )
        return builder.insert(operation).target

    def _export_results(self, end: Operation) -> None:
        builder = builder_before(end)
        sizes = DimensionSizes()
        returned: list[SSAValue] = []
        for index, value in enumerate(end.operands):
            tensor = ranked(value)
            if tensor is None:
                returned.append(value)
                continue
            if tensor_encoding(tensor) is not None:
                raise OperationError(
                    end, f"returns an encoded tensor, which a caller cannot read: {tensor}"
                )
            properties: dict[str, Attribute] = {
                "source_encoding": tensor,
                "name": StringAttr(f"output{index}"),
            }
            if (place := boundary_affinity(self._function, "res_attrs", index)) is not None:
                properties["affinity"] = place
            operation = TensorExportOp.build(
                operands=[value, sizes.dynamic_sizes(value)],
                result_types=[BUFFER_VIEW],
                properties=properties,
            )
            returned.append(builder.insert(operation).target)
        replace_by(end, ReturnOp.build(operands=[returned]))


def _passed(type_: Attribute) -> Attribute:
    """The type that a caller sees."""
    return BUFFER_VIEW if isinstance(type_, TensorType) else type_


def _without_affinities(attributes: Attribute | None) -> Attribute | None:
    """Attributes of arguments or results but for their places, which imports and exports name."""
    if not isinstance(attributes, ArrayAttr):
        return None
    kept = [
        DictionaryAttr({k: v for k, v in entry.data.items() if k != "iree.abi.affinity"})
        for entry in cast("ArrayAttr[DictionaryAttr]", attributes)
    ]
    return ArrayAttr(kept) if any(entry.data for entry in kept) else None


def declaration(function: Operation) -> str:
    """The function as its author wrote it, for people and for tools that show what it takes."""
    type_ = cast(FunctionType, function.properties["function_type"])
    name = cast(StringAttr, function.properties["sym_name"]).data
    inputs = _declared(function, "arg_attrs", type_.inputs.data, "input")
    outputs = _declared(function, "res_attrs", type_.outputs.data, "output")
    return f"sync func @{name}({inputs}) -> ({outputs})"


def _declared(function: Operation, group: str, types: tuple[Attribute, ...], what: str) -> str:
    texts: list[str] = []
    for index, type_ in enumerate(types):
        text = f"%{what}{index}: {type_}"
        if told := boundary_attributes(function, group, index):
            stream = StringIO()
            Printer(stream=stream).print_attr_dict(dict(told))
            text += f" {stream.getvalue()}"
        texts.append(text)
    return ", ".join(texts)
