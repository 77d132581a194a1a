"""Give public functions the interface of the HAL: buffer views as arguments and results.

    func.func @f(%a: tensor<?x4xf32>) -> tensor<?x4xf32>
becomes
    util.func public @f(%a: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, ...}

which imports each argument on the device that the argument names, calls the function, which becomes
private, and exports the results. With `inline` the function's body takes the place of the call,
unless the program calls the function itself.

Calls are synchronous: results are ready on return. With `coarse-fences` the caller passes two
fences: one to wait for before the arguments are read, and one that is signaled once all results are
ready. For a function without a body the wrapper is a private function that takes its name. The
attribute `iree.abi.model` of a function overrides the option, and `iree.abi.declaration` the text
that describes its signature.

Attributes of arguments and results give the name that callers use (`iree.abi.name`), the type that
they see (`iree.abi.encoding`), or say that an argument is the buffer in which a result is stored
(`iree.abi.output`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast, get_args

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.hal.attributes import AbiConventionAttr
from ...dialects.hal.buffers import BufferViewDimOp, TensorAliasOp, TensorExportOp, TensorImportOp
from ...dialects.hal.types import BufferType, BufferViewType
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ...dialects.util.functions import CallOp, FuncOp, ReturnOp, call_like, return_like
from ...ir.attribute_access import BOUNDARY_GROUPS, boundary_attributes
from ...ir.diagnostics import OperationError
from ...ir.host_programs import FUNCTIONS, calls_in
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, located_builder, rebuilt, replace_by
from ...ir.regions import detach_regions
from ...ir.symbols import FreshNames, defined_name, visibility
from ...ir.syntax.resource_directives import UNTIED, tied_operands
from ...ir.tensor_types import ranked
from ..sizes.dimension_sizes import DimensionSizes
from ..stream.analysis.device_placement import boundary_affinity
from .abi_signature import BUFFER_VIEW, abi_type, declaration, kept_attributes
from .conversion.rules import DEVICE, FENCE, FOREVER, NOT_FLAGS, HalBuilder

Model = Literal["sync", "coarse-fences"]
CONVENTION = "hal.abi.convention"
DECLARATION, MODEL = "iree.abi.declaration", "iree.abi.model"
STUB = "iree.abi.stub"
"""Marks functions that have the interface of the HAL already."""
_CONSUMED = frozenset({"iree.abi.consume", "iree.abi.output"})
"""Attributes of arguments that the function may write to."""


@dataclass(frozen=True)
class WrapEntryPointsPass(ModulePass):
    """Turn public functions on tensors into functions on buffer views."""

    name = "iree-abi-wrap-entry-points"

    invocation_model: Model = "sync"
    """How callers wait: for the call, or for fences that they pass."""

    inline: bool = False
    """Put functions into the new ones, and leave those without a body or without tensors alone."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = _PrivateNames(op)
        for function in tuple(op.body.block.ops):
            if function.name not in FUNCTIONS or STUB in function.attributes:
                continue
            if _is_entry_point(function, any_type=not self.inline):
                _refuse_unranked(function)
                has_fences = self._has_fences(function)
                if not self.inline or names.is_called(function):
                    _wrap_in_call(names, function, has_fences=has_fences)
                Wrapper(ctx, function, has_fences=has_fences).wrap()
            elif not self.inline and _is_import(function):
                _refuse_unranked(function)
                _wrap_import(ctx, names, function, has_fences=self._has_fences(function))

    def _has_fences(self, function: Operation) -> bool:
        """Take the model of a function from it. Raises OperationError if it is none."""
        model = function.attributes.pop(MODEL, None)
        name = self.invocation_model if model is None else getattr(model, "data", None)
        if name not in get_args(Model):
            raise OperationError(
                function,
                f"has {MODEL} = {model}, expected {' or '.join(map(repr, get_args(Model)))}",
            )
        return name == "coarse-fences"


def _refuse_unranked(function: Operation) -> None:
    type_ = cast(FunctionType, function.properties["function_type"])
    for each in (*type_.inputs, *type_.outputs):
        if isinstance(each, UnrankedTensorType):
            raise OperationError(
                function, f"takes or returns {each}, but only ranked tensors can be buffer views"
            )


class _PrivateNames:
    """Gives functions of a module new names, by which the program calls them."""

    def __init__(self, module: ModuleOp) -> None:
        self._names = FreshNames(module)
        self._calls: dict[str, list[Operation]] = defaultdict(list)
        for call, callee in calls_in(module):
            self._calls[callee].append(call)

    def is_called(self, function: Operation) -> bool:
        """Return whether the program calls a function."""
        return defined_name(function) in self._calls

    def give(self, function: Operation) -> SymbolRefAttr:
        """Let the program call a function by a new name, and return it."""
        name = defined_name(function)
        inside = SymbolRefAttr(self._names.fresh(f"_{name}"))
        for call in self._calls.get(name, ()):
            call.properties["callee"] = inside
        return inside


def _wrap_in_call(names: _PrivateNames, function: Operation, *, has_fences: bool) -> None:
    """Leave a function to the program under another name, and only call it for others."""
    inside = names.give(function)
    private = rebuilt(function, (), (), regions=detach_regions(function))
    for name in BOUNDARY_GROUPS:
        private.properties.pop(name, None)
    private.properties |= {
        "sym_name": inside.root_reference,
        "sym_visibility": StringAttr("private"),
        **kept_attributes(function),
    }
    private.attributes.pop("iree.reflection", None)
    private.attributes[CONVENTION] = AbiConventionAttr(_convention(has_fences))
    cast(Block, function.parent).insert_op_after(private, function)
    seen = ("iree.reflection", DECLARATION)
    function.attributes = {k: v for k, v in function.attributes.items() if k in seen}
    type_ = cast(FunctionType, function.properties["function_type"])
    block = Block(arg_types=list(type_.inputs))
    for argument, old in zip(block.args, private.regions[0].blocks[0].args, strict=True):
        argument.name_hint = old.name_hint
    call = call_like(function, inside, block.args)
    block.add_ops((call, return_like(function, call.results)))
    for operation in block.ops:
        operation.location = function.location
    function.add_region(Region(block))


def _convention(has_fences: bool) -> str:
    return "coarse_fences" if has_fences else "synchronous"


def _wrap_import(
    context: Context, names: _PrivateNames, function: Operation, *, has_fences: bool
) -> None:
    """Turn an external function into one on buffer views; callers call a wrapper on tensors.

    With `has_fences` it takes two fences, too: one to wait for and one to signal. If no tensor
    waits for the latter, the wrapper does, unless the function has no side effects.
    """
    type_ = cast(FunctionType, function.properties["function_type"])
    is_tracked = any(isinstance(output, TensorType) for output in type_.outputs)
    is_awaited = has_fences and not is_tracked and "nosideeffects" not in function.attributes
    block = Block(arg_types=list(type_.inputs))
    wrapper = FuncOp.create(
        properties={
            **function.properties,
            "sym_name": names.give(function).root_reference,
            "sym_visibility": StringAttr("private"),
        },
        attributes={CONVENTION: AbiConventionAttr(_convention(has_fences and not is_awaited))},
        regions=[Region(block)],
    )
    wrapper.location = function.location
    cast(Block, function.parent).insert_op_after(wrapper, function)
    builder = located_builder(InsertPoint.at_end(block), function)
    arguments: list[SSAValue] = list(block.args)
    hal = HalBuilder(context, function, builder, ())
    fences: list[SSAValue] = []
    if has_fences:
        (device,) = hal.emit("hal.devices.get", [hal.index(0)], [DEVICE])
        create = partial(hal.emit, "hal.fence.create", [device], [FENCE], flags=NOT_FLAGS)
        (wait,) = create()
        arguments = _signal_when_ready(arguments, wait, hal)
        (signal,) = create() if is_tracked or is_awaited else hal.emit("util.null", [], [FENCE])
        fences = [wait, signal]
    sizes = DimensionSizes()
    arguments = [
        value if ranked(value) is None else _exported(value, sizes.dynamic_sizes(value), builder)
        for value in arguments
    ]
    outer = FunctionType.from_lists(
        [*map(abi_type, type_.inputs), *[FENCE] * len(fences)], [*map(abi_type, type_.outputs)]
    )
    ties = {k: v for k, v in function.properties.items() if k == "tied_operands"}
    call = CallOp.create(
        operands=[*arguments, *fences],
        result_types=list(outer.outputs),
        properties={"callee": SymbolRefAttr(defined_name(function)), **ties},
    )
    builder.insert(call)
    if is_awaited:
        hal.emit("hal.fence.await", [hal.constant(FOREVER), fences[1:]], [i32], flags=NOT_FLAGS)
    returned = [
        _imported(value, cast(Tensor, output), fences[1:], builder)
        if isinstance(output, TensorType)
        else value
        for value, output in zip(call.results, type_.outputs, strict=True)
    ]
    builder.insert(ReturnOp.build(operands=[returned]))
    function.properties["function_type"] = outer
    function.attributes[STUB] = UnitAttr()


def _imported(
    view: SSAValue,
    tensor: Tensor,
    fence: Sequence[SSAValue],
    builder: Builder,
    **properties: Attribute | None,
) -> SSAValue:
    """Import a buffer view as a tensor once the fence, if any, is reached."""
    operation = TensorImportOp.build(
        operands=[view, _view_sizes(view, tensor, builder), fence, ()],
        result_types=[tensor],
        properties={"target_encoding": tensor, **properties},
    )
    return builder.insert(operation).results[0]


def _signal_when_ready(values: list[SSAValue], fence: SSAValue, hal: HalBuilder) -> list[SSAValue]:
    """Signal a fence once the tensors among some values are ready."""
    tensors = [value for value in values if ranked(value) is not None]
    if not tensors:
        hal.emit("hal.fence.signal", [fence])
        return values
    types = [value.type for value in tensors]
    ready = iter(hal.emit("hal.tensor.barrier", [tensors, fence], [types]))
    return [value if ranked(value) is None else next(ready) for value in values]


def _exported(
    value: SSAValue, dims: Sequence[SSAValue], builder: Builder, **properties: Attribute | None
) -> SSAValue:
    operation = TensorExportOp.build(
        operands=[value, dims],
        result_types=[BUFFER_VIEW],
        properties={"source_encoding": value.type, **properties},
    )
    return builder.insert(operation).results[0]


def _view_sizes(view: SSAValue, tensor: Tensor, builder: Builder) -> list[SSAValue]:
    """Emit the dynamic sizes of a tensor in a buffer view."""
    dynamic: list[SSAValue] = []
    for dimension, size in enumerate(tensor.get_shape()):
        if size == DYNAMIC_INDEX:
            operation = BufferViewDimOp.create(
                operands=[view],
                result_types=[INDEX],
                properties={"index": IntegerAttr(dimension, INDEX)},
            )
            dynamic.append(builder.insert(operation).results[0])
    return dynamic


def _is_import(function: Operation) -> bool:
    is_private = function.name == "util.func" and visibility(function) == "private"
    return is_private and not function.regions[0].blocks


def _is_entry_point(function: Operation, *, any_type: bool) -> bool:
    if visibility(function) == "private" or not function.regions[0].blocks:
        return False
    if any_type or function.name == "func.func":
        return True
    type_ = cast(FunctionType, function.properties["function_type"])
    return any(isinstance(each, TensorType) for each in (*type_.inputs, *type_.outputs))


class Wrapper:
    """Wraps one function."""

    def __init__(self, context: Context, function: Operation, *, has_fences: bool) -> None:
        self._context = context
        self._function = function
        self._has_fences = has_fences
        self._fences: list[SSAValue] = []
        """One that arguments wait for, and one that results signal."""
        self._type = cast(FunctionType, function.properties["function_type"])
        derived = StringAttr(("async" if has_fences else "sync") + declaration(function))
        self._declaration = function.attributes.pop(DECLARATION, derived)
        self._outputs: dict[int, SSAValue] = {}
        """For result numbers, the buffers in which these results are stored."""

    def wrap(self) -> None:
        """Replace the function by one on buffer views.

        Raises OperationError if an argument or result is encoded, or a result is stored in an
        argument that is neither a buffer nor a tensor.
        """
        function = self._function
        region = function.regions[0]
        if self._has_fences:
            entry = region.blocks[0]
            self._fences = [entry.insert_arg(FENCE, len(entry.args)) for _ in range(2)]
        self._import_arguments(region.blocks[0])
        self._find_outputs(region.blocks[0])
        for block in region.blocks:
            if block.last_op is None:
                raise OperationError(function, "has a block without a terminator")
            if block.last_op.name.endswith(".return"):
                self._export_results(block.last_op)
        new = FuncOp.create(
            properties=self._properties(),
            attributes=self._attributes(),
            regions=[function.detach_region(region)],
        )
        replace_by(function, new)

    def _properties(self) -> dict[str, Attribute]:
        """Return the new function's properties; fences have no attributes as arguments."""
        inputs = [*map(abi_type, self._type.inputs), *(fence.type for fence in self._fences)]
        outputs = list(map(abi_type, self._type.outputs))
        properties: dict[str, Attribute] = {
            "sym_visibility": StringAttr("public"),
            "sym_name": self._function.properties["sym_name"],
            "function_type": FunctionType.from_lists(inputs, outputs),
        }
        if outputs:
            properties["tied_operands"] = tied_operands([UNTIED] * len(outputs))
        kept = kept_attributes(self._function)
        if "arg_attrs" in kept:
            of_fences = [DictionaryAttr({})] * len(self._fences)
            kept["arg_attrs"] = ArrayAttr([*kept["arg_attrs"], *of_fences])
        return properties | kept

    def _attributes(self) -> dict[str, Attribute]:
        """Return the new function's attributes, among them the reflection that callers read."""
        attribute = self._function.attributes.get("iree.reflection")
        reflection = dict(attribute.data) if isinstance(attribute, DictionaryAttr) else {}
        reflection[DECLARATION] = self._declaration
        if self._has_fences:
            reflection[MODEL] = StringAttr("coarse-fences")
        return {
            **self._function.attributes,
            STUB: UnitAttr(),
            "iree.reflection": DictionaryAttr(reflection),
        }

    def _find_outputs(self, block: Block) -> None:
        """Find the arguments in which results are stored."""
        for index, argument in enumerate(block.args):
            attributes = boundary_attributes(self._function, "arg_attrs", index)
            output = attributes.get("iree.abi.output")
            if isinstance(output, IntegerAttr):
                if not isinstance(argument.type, BufferType | BufferViewType):
                    raise OperationError(
                        self._function,
                        f"stores result #{output.value.data} in argument #{index}, expected a "
                        f"tensor or !hal.buffer, found {argument.type}",
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
            view = block.insert_arg(BUFFER_VIEW, index)
            view.name_hint = argument.name_hint
            imported = self._import(view, tensor, index, builder)
            imported.name_hint = argument.name_hint
            argument.replace_all_uses_with(imported)
            block.erase_arg(argument)

    def _import(self, view: SSAValue, tensor: Tensor, index: int, builder: Builder) -> SSAValue:
        attributes = boundary_attributes(self._function, "arg_attrs", index)
        return _imported(
            view,
            tensor,
            self._fences[:1],
            builder,
            target_encoding=attributes.get("iree.abi.encoding", tensor),
            name=attributes.get("iree.abi.name", StringAttr(f"input{index}")),
            consume=UnitAttr() if _CONSUMED & attributes.keys() else None,
            affinity=boundary_affinity(self._function, "arg_attrs", index),
        )

    def _export_results(self, end: Operation) -> None:
        builder = builder_before(end)
        sizes = DimensionSizes()
        values = [
            value
            if ranked(value) is None
            else self._stored(value, index, sizes.dynamic_sizes(value), end, builder)
            for index, value in enumerate(end.operands)
        ]
        hal = HalBuilder(self._context, end, builder, ())
        ready = _signal_when_ready(values, self._fences[1], hal) if self._fences else values
        returned = [
            value
            if ranked(value) is None
            else self._export(value, index, sizes.dynamic_sizes(end.operands[index]), builder)
            for index, value in enumerate(ready)
        ]
        replace_by(end, ReturnOp.build(operands=[returned]))

    def _stored(
        self,
        value: SSAValue,
        index: int,
        dims: Sequence[SSAValue],
        end: Operation,
        builder: Builder,
    ) -> SSAValue:
        """Return a result in the buffer that a caller passes for it, if there is one."""
        if tensor_encoding(value.type) is not None:
            raise OperationError(
                end, f"returns an encoded tensor, which a caller cannot read: {value.type}"
            )
        if (storage := self._outputs.get(index)) is None:
            return value
        alias = TensorAliasOp.build(
            operands=[value, dims, storage, self._fences[:1]],
            result_types=[value.type],
            properties={"affinity": boundary_affinity(self._function, "res_attrs", index)},
        )
        return builder.insert(alias).results[0]

    def _export(
        self, value: SSAValue, index: int, dims: Sequence[SSAValue], builder: Builder
    ) -> SSAValue:
        attributes = boundary_attributes(self._function, "res_attrs", index)
        return _exported(
            value,
            dims,
            builder,
            source_encoding=attributes.get("iree.abi.encoding", value.type),
            name=attributes.get("iree.abi.name", StringAttr(f"output{index}")),
            affinity=boundary_affinity(self._function, "res_attrs", index),
        )
