"""Hoist encodes of unchanging tensors out of loops, and those of constants into initializers.

An encode of a loop-invariant tensor moves in front of the loop. An encode of a constant, or of an
immutable global, moves to an initializer, which stores the result in a new global on the device
that reads it. Equal encodes of the same constant for the same device share one global. Transfers
between the constant and its encode move to the initializer, or the constant is made on the target
device.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.flow.tensors import TensorConstantOp
from ...dialects.stream.affinity import AFFINITY, affinity_of
from ...dialects.util.dialect import GlobalLoadOp, GlobalOp, GlobalStoreOp, InitializerOp
from ...ir.host_programs import CONSTANTS, GLOBAL_LOAD, GLOBAL_STORE, LOOPS, host_operations
from ...ir.locations import builder_before, erase_if_unused, located_builder, made_by, replace_by
from ...ir.symbols import FreshNames, defined_name, root_symbol
from ...ir.tensor_types import ranked
from ..manager.module_pass import module_pass
from ..stream.analysis.device_placement import MOVES

ENCODE = "flow.tensor.encode"


@module_pass("hoist-encodes-to-initializers")
def hoist_encodes_to_initializers(module: ModuleOp) -> None:
    """Move encodes of unchanging tensors to where they run once."""
    hoister = EncodeHoister(module)
    for operation in tuple(host_operations(module)):
        if operation.name == ENCODE:
            hoister.hoist(operation)


class EncodeHoister:
    """Hoists the encodes of one module."""

    def __init__(self, module: ModuleOp) -> None:
        self._globals = {defined_name(o): o for o in module.body.block.ops}
        self._names = FreshNames(module)
        self._hoisted: dict[tuple[object, ...], GlobalOp] = {}
        self._last_initializers: dict[str, Operation] = {}
        """The last initializer that stores to each global. Readers of its value come behind it."""
        for initializer in module.body.block.ops:
            if initializer.name == "util.initializer":
                for operation in initializer.walk():
                    if operation.name == GLOBAL_STORE:
                        self._last_initializers[root_symbol(operation, "global")] = initializer

    def hoist(self, operation: Operation) -> None:
        """Move one encode into an initializer, or out of as many loops as its operands allow."""
        source = operation.operands[0]
        if _function_of(operation).name == "util.initializer":
            return
        origin = self._constant_origin(source)
        tensor = ranked(operation.results[0])
        if origin is not None and tensor is not None and tensor.has_static_shape():
            self._to_global(operation, origin)
            return
        while (loop := operation.parent_op()) is not None and loop.name in LOOPS:
            if any(loop.is_ancestor(operand.owner) for operand in operation.operands):
                break
            operation.detach()
            builder_before(loop).insert(operation)

    def _constant_origin(self, value: SSAValue) -> Operation | None:
        """Return the constant or load of an immutable global that a value is, or is moved from."""
        if moves := _moves(value):
            value = moves[0].operands[0]
        if (load := made_by(value, GLOBAL_LOAD)) is None:
            return made_by(value, *CONSTANTS)
        variable = self._globals.get(root_symbol(load, "global"))
        is_constant = variable is not None and "is_mutable" not in variable.properties
        return load if is_constant else None

    def _to_global(self, operation: Operation, origin: Operation) -> None:
        moves = _moves(operation.operands[0])
        affinity = operation.attributes.get(AFFINITY) or affinity_of(operation)
        if affinity is None and moves:
            affinity = moves[-1].properties["target"]
        type_ = operation.results[0].type
        constant: object = root_symbol(origin, "global") or origin.properties["value"]
        key = constant, type_, affinity
        if key not in self._hoisted:
            self._hoisted[key] = self._define(operation, origin, affinity)
        load = GlobalLoadOp(self._hoisted[key].sym_name.data, type_)
        load.is_immutable = UnitAttr()
        replace_by(operation, load)
        erase_if_unused(*reversed(moves), origin)

    def _define(
        self, operation: Operation, origin: Operation, affinity: Attribute | None
    ) -> GlobalOp:
        """Define a global for the encoded tensor and an initializer that encodes it."""
        result = operation.results[0]
        name = self._names.fresh(f"{root_symbol(origin, 'global') or 'constant'}__encoded")
        variable = GlobalOp(name, result.type, attributes={AFFINITY: affinity})
        block = Block()
        source = self._source(origin)
        # A global may be initialized on another device, so its value has to be moved; a constant is
        # made where it is read.
        moved = [source]
        if source.name == GLOBAL_LOAD:
            for move in _moves(operation.operands[0]):
                moved.append(move.clone({move.operands[0]: moved[-1].results[0]}))
        if affinity is not None and len(moved) == 1:
            source.attributes[AFFINITY] = affinity
        encode = operation.clone({operation.operands[0]: moved[-1].results[0]})
        block.add_ops([*moved, encode, GlobalStoreOp(encode.results[0], name)])
        defined = self._globals.get(root_symbol(origin, "global"), origin)
        source.location = defined.location
        function = _function_of(operation)
        initializer = self._last_initializers.get(root_symbol(origin, "global"))
        point = InsertPoint.before(function)
        if initializer is not None and not initializer.is_before_in_block(function):
            point = InsertPoint.after(initializer)
        builder = located_builder(point, operation)
        builder.insert((variable, InitializerOp(block)))
        self._globals[name] = variable
        return variable

    def _source(self, origin: Operation) -> Operation:
        """Return a constant where its contents are known, so that the global need not be kept."""
        variable = self._globals.get(root_symbol(origin, "global"))
        value = None if variable is None else variable.properties.get("initial_value")
        if isinstance(value, DenseIntOrFPElementsAttr):
            return ConstantOp(cast(DenseIntOrFPElementsAttr, value))
        if variable is not None and value is not None and value.name == "flow.parameter.named":
            return TensorConstantOp.create(
                properties={"value": value}, result_types=[variable.properties["type"]]
            )
        return origin.clone()


def _moves(value: SSAValue) -> tuple[Operation, ...]:
    """Return the moves that bring a value to its device, first to last."""
    moves: list[Operation] = []
    while (move := made_by(value, *MOVES)) is not None:
        moves.append(move)
        value = move.operands[0]
    return tuple(reversed(moves))


def _function_of(operation: Operation) -> Operation:
    """Return the top-level operation of the module that contains an operation."""
    while (parent := operation.parent_op()) is not None and not isinstance(parent, ModuleOp):
        operation = parent
    return operation
