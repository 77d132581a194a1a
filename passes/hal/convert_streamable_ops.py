"""Let external functions that run asynchronously be called with tensors and their sizes.

    util.func private @f(%a: tensor<?xf32>, %n: index) -> (tensor<?xf32> {iree.abi.dims = [1]})
        attributes {iree.abi.streamable}
    %0 = util.call @f(%a, %n) : (tensor<?xf32>, index) -> tensor<?xf32>
becomes
    flow.func private @f(%a: tensor<?xf32>, %n: index) -> tensor<?xf32>
    %0 = flow.call @f(%a, %n) : (tensor<?xf32>{%dim}, index) -> tensor<?xf32>{%n}

The dynamic sizes of a result are arguments (`iree.abi.dims`), those of the argument that it is tied
to, or what another function computes from the same arguments (`iree.abi.result_dims`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.flow import collectives as flow
from ...dialects.util.functions import CallOp
from ...ir.attribute_access import boundary_attributes, number_list
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations_of
from ...ir.locations import builder_before, replace_by
from ...ir.symbols import root_symbol, symbols_in
from ...ir.syntax.resource_directives import UNTIED, dynamic_dimensions, tied_operands, ties_of
from ..manager.module_pass import module_pass
from ..sizes.dimension_sizes import DimensionSizes

STREAMABLE = "iree.abi.streamable"
RESULT_DIMS = "iree.abi.result_dims"


@module_pass("iree-abi-convert-streamable-ops")
def convert_streamable_ops(module: ModuleOp) -> None:
    """Turn functions marked `iree.abi.streamable` and their calls into those of `flow`."""
    functions = symbols_in(module, {"util.func"})
    streamable = {
        name: function
        for name, function in functions.items()
        if STREAMABLE in function.attributes and not function.regions[0].blocks
    }
    sizes = DimensionSizes()
    for operation in host_operations_of(module, CallOp):
        function = streamable.get(root_symbol(operation, "callee"))
        if function is not None:
            _convert_call(operation, function, functions, sizes)
    for function in streamable.values():
        _check(function)
        _convert_function(function)


def _check(function: Operation) -> None:
    """Raise OperationError if the sizes of a result are unknown."""
    type_ = cast(FunctionType, function.properties["function_type"])
    for index, result in enumerate(type_.outputs):
        count = dynamic_dimensions(result)
        dims = _named_dims(function, index)
        if len(dims) != count and (dims or not _has_sizes(function, index, result, type_)):
            raise OperationError(
                function,
                f"has a result #{index} of type {result}, whose {count} dynamic sizes are not "
                f"given: expected `iree.abi.dims`, `{RESULT_DIMS}`, or an argument of this type "
                "that it is tied to",
            )
        for dim in dims:
            inputs = type_.inputs.data
            if not 0 <= dim < len(inputs) or not isinstance(inputs[dim], IndexType):
                raise OperationError(
                    function, f"has no argument #{dim} of type index, which `iree.abi.dims` names"
                )


def _has_sizes(function: Operation, index: int, result: Attribute, type_: FunctionType) -> bool:
    tie = ties_of(function, len(type_.outputs))[index]
    is_tied = tie != UNTIED and type_.inputs.data[tie] == result
    return is_tied or RESULT_DIMS in function.attributes or not dynamic_dimensions(result)


def _named_dims(function: Operation, index: int) -> tuple[int, ...]:
    """Return the arguments that are sizes of a result, in the order of its dimensions."""
    return number_list(boundary_attributes(function, "res_attrs", index).get("iree.abi.dims"))


def _convert_call(
    call: CallOp, function: Operation, functions: dict[str, Operation], sizes: DimensionSizes
) -> None:
    _check(function)
    builder = builder_before(call)
    arguments = tuple(call.arguments)
    dims = [size for argument in arguments for size in sizes.dynamic_sizes(argument)]
    made = flow.CallOp.build(
        operands=[arguments, dims, _result_sizes(call, function, functions, sizes, builder)],
        result_types=[list(call.results_.types)],
        properties={name: call.properties[name] for name in call.properties},
        attributes=dict(call.attributes),
    )
    replace_by(call, made)


def _result_sizes(
    call: CallOp,
    function: Operation,
    functions: dict[str, Operation],
    sizes: DimensionSizes,
    builder: Builder,
) -> Sequence[SSAValue]:
    """Return the dynamic sizes of all results of a call."""
    named = function.attributes.get(RESULT_DIMS)
    if isinstance(named, SymbolRefAttr):
        computing = functions.get(named.string_value())
        type_ = None if computing is None else computing.properties["function_type"]
        if not isinstance(type_, FunctionType):
            raise OperationError(function, f"names {named} for its sizes, which is no function")
        results = type_.outputs.data
        made = CallOp.build(
            operands=[list(call.arguments)],
            result_types=[list(results)],
            properties={"callee": named, "tied_operands": tied_operands([UNTIED] * len(results))},
        )
        return builder.insert(made).results
    ties = ties_of(call, len(call.results_))
    found: list[SSAValue] = []
    for index, result in enumerate(call.results_):
        dims = _named_dims(function, index)
        if dims or not dynamic_dimensions(result.type):
            found += [call.arguments[dim] for dim in dims]
        else:
            found += sizes.dynamic_sizes(call.arguments[ties[index]])
    return found


def _convert_function(function: Operation) -> None:
    kept = ("function_type", "sym_name", "sym_visibility", "tied_operands")
    made = flow.FuncOp.build(
        regions=[function.detach_region(function.regions[0])],
        properties={name: function.properties.get(name) for name in kept},
        attributes={
            name: value
            for name, value in function.attributes.items()
            if not name.startswith("iree.abi.")
        },
    )
    replace_by(function, made)
