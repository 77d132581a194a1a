"""Give public functions the interface of the HAL: buffer views as arguments and results.

    func.func @f(%a: tensor<?x4xf32>) -> tensor<?x4xf32>
becomes
    util.func public @f(%a: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, ...}

whose body imports each argument on the device that the argument names, and exports the results.
Calls are synchronous: results are ready on return. If the program itself calls the function, its
body moves to a private function on tensors, which the public one calls.

Attributes of arguments and results give the name that callers use (`iree.abi.name`), the type that
they see (`iree.abi.encoding`), or say that an argument is the buffer in which a result is stored
(`iree.abi.output`).
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
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import CallOp as CallOfFunc
from xdsl.dialects.func import ReturnOp as ReturnOfFunc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint

from ...dialects.hal.buffers import BufferViewDimOp, TensorAliasOp, TensorExportOp, TensorImportOp
from ...dialects.hal.types import BufferType, BufferViewType
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ...dialects.util.functions import CallOp, FuncOp, ReturnOp
from ...ir.attribute_access import boundary_attributes
from ...ir.diagnostics import OperationError
from ...ir.host_programs import FUNCTIONS, calls_in
from ...ir.locations import builder_before, located_builder, replace_by
from ...ir.symbols import fresh_name, names_in, root_symbol, visibility
from ...ir.syntax.resource_directives import UNTIED, tied_operands
from ...ir.tensor_types import ranked
from ..sizes.dimension_sizes import DimensionSizes
from ..stream.analysis.device_placement import boundary_affinity

INDEX = IndexType()
BUFFER_VIEW = BufferViewType()
STUB = "iree.abi.stub"
"""Marks functions that have the interface of the HAL already."""
INTERFACE = frozenset(f"iree.abi.{name}" for name in ("affinity", "encoding", "output"))
"""Attributes of arguments and results that imports and exports replace."""


@dataclass(frozen=True)
class WrapEntryPointsPass(ModulePass):
    """Turn public functions on tensors into functions on buffer views."""

    name = "iree-abi-wrap-entry-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        called = {name for _, name in calls_in(op)}
        for function in tuple(op.body.block.ops):
            if function.name in FUNCTIONS and _is_entry_point(function):
                if root_symbol(function, "sym_name") in called:
                    _keep_inside(op, function)
                Wrapper(function).wrap()


def _keep_inside(module: ModuleOp, function: Operation) -> None:
    """Move a function's body to a private function, which the program and the public one call."""
    name = root_symbol(function, "sym_name")
    inside = SymbolRefAttr(fresh_name(f"_{name}", names_in(module)))
    kept = function.clone()
    kept.location = function.location
    kept.properties |= {
        "sym_name": inside.root_reference,
        "sym_visibility": StringAttr("private"),
    }
    cast(Block, function.parent).insert_op_after(kept, function)
    for call, callee in tuple(calls_in(module)):
        if callee == name:
            call.properties["callee"] = inside
    type_ = cast(FunctionType, function.properties["function_type"])
    block = Block(arg_types=list(type_.inputs))
    ties = {k: v for k, v in function.properties.items() if k == "tied_operands"}
    call = (CallOp if function.name == "util.func" else CallOfFunc).create(
        operands=block.args, result_types=list(type_.outputs), properties={"callee": inside, **ties}
    )
    end = (ReturnOp if function.name == "util.func" else ReturnOfFunc).create(operands=call.results)
    block.add_ops((call, end))
    for made in block.ops:
        made.location = function.location
    function.detach_region(function.regions[0])
    function.add_region(Region(block))


def _is_entry_point(function: Operation) -> bool:
    is_private = visibility(function) == "private"
    if is_private or STUB in function.attributes or not function.regions[0].blocks:
        return False
    type_ = cast(FunctionType, function.properties["function_type"])
    if function.name == "func.func":
        return True
    return any(isinstance(one, TensorType) for one in (*type_.inputs, *type_.outputs))


class Wrapper:
    """Wraps one function."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._type = cast(FunctionType, function.properties["function_type"])
        self._declaration = declaration(function)
        self._outputs: dict[int, SSAValue] = {}
        """For result numbers, the buffers in which these results are stored."""

    def wrap(self) -> None:
        """Replace the function by one on buffer views.

        Raises OperationError if an argument or result is encoded, or a result is stored in an
        argument that is no buffer.
        """
        function = self._function
        region = function.regions[0]
        self._find_outputs(region.blocks[0])
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
            kept = _without_interface(function.properties.get(name))
            if kept is not None:
                properties[name] = kept
        attributes: dict[str, Attribute] = {
            **function.attributes,
            STUB: UnitAttr(),
            "iree.reflection": DictionaryAttr(
                {"iree.abi.declaration": StringAttr(self._declaration)}
            ),
        }
        body = function.detach_region(region)
        new = FuncOp.create(properties=properties, attributes=attributes, regions=[body])
        replace_by(function, new)

    def _told(self, group: str, index: int, name: str, default: Attribute) -> Attribute:
        """Return an `iree.abi` attribute of an argument or result."""
        return boundary_attributes(self._function, group, index).get(f"iree.abi.{name}", default)

    def _find_outputs(self, block: Block) -> None:
        """Find the arguments in which results are stored."""
        for index, argument in enumerate(block.args):
            output = self._told("arg_attrs", index, "output", UnitAttr())
            if isinstance(output, IntegerAttr):
                if not isinstance(argument.type, BufferType | BufferViewType):
                    raise OperationError(
                        self._function,
                        f"stores result #{output.value.data} in argument #{index}, which is no"
                        f" !hal.buffer, but of type {argument.type}",
                    )
                self._outputs[output.value.data] = argument

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
        told = boundary_attributes(self._function, "arg_attrs", index)
        operation = TensorImportOp.build(
            operands=[passed, dynamic, (), ()],
            result_types=[tensor],
            properties={
                "target_encoding": self._told("arg_attrs", index, "encoding", tensor),
                "name": self._told("arg_attrs", index, "name", StringAttr(f"input{index}")),
                "consume": UnitAttr() if "iree.abi.consume" in told else None,
                "affinity": boundary_affinity(self._function, "arg_attrs", index),
            },
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
            dims = sizes.dynamic_sizes(value)
            place = {"affinity": boundary_affinity(self._function, "res_attrs", index)}
            source = value
            if (storage := self._outputs.get(index)) is not None:
                alias = TensorAliasOp.build(
                    operands=[value, dims, storage, ()],
                    result_types=[value.type],
                    properties=place,
                )
                source = builder.insert(alias).results[0]
            operation = TensorExportOp.build(
                operands=[source, dims],
                result_types=[BUFFER_VIEW],
                properties={
                    "source_encoding": self._told("res_attrs", index, "encoding", tensor),
                    "name": self._told("res_attrs", index, "name", StringAttr(f"output{index}")),
                    **place,
                },
            )
            returned.append(builder.insert(operation).target)
        replace_by(end, ReturnOp.build(operands=[returned]))


def _passed(type_: Attribute) -> Attribute:
    """Return the type that a caller sees."""
    return BUFFER_VIEW if isinstance(type_, TensorType) else type_


def _without_interface(attributes: Attribute | None) -> Attribute | None:
    """Return argument or result attributes without those that imports and exports replace."""
    if not isinstance(attributes, ArrayAttr):
        return None
    kept = [
        DictionaryAttr({k: v for k, v in entry.data.items() if k not in INTERFACE})
        for entry in cast("ArrayAttr[DictionaryAttr]", attributes)
    ]
    return ArrayAttr(kept) if any(entry.data for entry in kept) else None


def declaration(function: Operation) -> str:
    """Return the original signature as text, for people and for tools that show it."""
    type_ = cast(FunctionType, function.properties["function_type"])
    name = cast(StringAttr, function.properties["sym_name"]).data
    inputs = _declared(function, "arg_attrs", type_.inputs.data, "input")
    outputs = _declared(function, "res_attrs", type_.outputs.data, "output")
    return f"sync func @{name}({inputs}) -> ({outputs})"


def _declared(function: Operation, group: str, types: tuple[Attribute, ...], what: str) -> str:
    texts: list[str] = []
    for index, type_ in enumerate(types):
        told = dict(boundary_attributes(function, group, index))
        name = told.pop("iree.abi.name", None)
        text = f"%{name.data if isinstance(name, StringAttr) else f'{what}{index}'}: {type_}"
        if told:
            stream = StringIO()
            Printer(stream=stream).print_attr_dict(told)
            text += f" {stream.getvalue()}"
        texts.append(text)
    return ", ".join(texts)
