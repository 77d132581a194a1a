"""Convert globals of tensors to globals of resources and of their sizes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream.affinity import AFFINITY
from ....dialects.stream.tensor_ops import TensorEmptyOp, TensorSplatOp
from ....dialects.stream.types import ResourceType
from ....dialects.util.dialect import GlobalLoadOp, GlobalOp, GlobalStoreOp, InitializerOp
from ....dialects.util.types import UninitializedAttr
from ....ir.diagnostics import OperationError
from ....ir.host_programs import GLOBAL_LOAD, GLOBAL_STORE, host_operations
from ....ir.index_lists import INDEX
from ....ir.locations import builder_before, locate
from ....ir.symbols import FreshNames, root_symbol, symbols_in, visibility
from ....ir.tensor_types import require_ranked
from ..analysis.device_placement import DevicePlacement
from .stored_tensors import CONSTANT, VARIABLE, PlacedBuilder, StoredTensor, transfer, zero_of


@dataclass(frozen=True, slots=True)
class Copy:
    """The names of the globals that hold a tensor on one device: its resource and its size."""

    resource: str
    size: str


class StoredGlobals:
    """The tensor globals of a module after conversion.

    A global that is read on several devices becomes one global per device. A private one that is
    never read, and holds one value, is dropped. Raises OperationError if a global's dynamic sizes
    would have to be known.
    """

    def __init__(self, module: ModuleOp, placement: DevicePlacement, *, carries_dims: bool) -> None:
        self._placement = placement
        self._carries_dims = carries_dims
        self._names = FreshNames(module)
        self._globals = {
            name: operation
            for name, operation in symbols_in(module, ("util.global",)).items()
            if isinstance(operation.properties.get("type"), TensorType)
        }
        self._copies: dict[str, dict[Attribute | None, Copy]] = {}
        self._set_at_once = set_at_once(module)
        for operation in host_operations(module):
            name = root_symbol(operation, "global")
            if operation.name == GLOBAL_LOAD and name in self._globals:
                self._add_copy(name, self._affinity(operation))
        for name, operation in self._globals.items():
            self._define(name, operation)

    def load(self, operation: Operation, builder: Builder) -> StoredTensor:
        """Emit the load of a tensor. Raises OperationError if the global holds no tensor."""
        name = self._accessed(operation, "loads")
        affinity = self._affinity(operation)
        copy = self._copies[name][affinity]
        type_ = self._resource_type(name)
        loads = GlobalLoadOp(copy.resource, type_), GlobalLoadOp(copy.size, INDEX)
        resource, size = (builder.insert(load).result for load in loads)
        return transfer(StoredTensor(resource, size, ()), affinity, affinity, builder)

    def store(
        self,
        operation: Operation,
        stored: StoredTensor,
        affinity: Attribute | None,
        builder: Builder,
    ) -> None:
        """Store a tensor to every copy of a global.

        Raises OperationError if the global holds no tensor.
        """
        name = self._accessed(operation, "stores to")
        type_ = self._resource_type(name)
        for target, copy in self._copies.get(name, {}).items():
            _store(transfer(stored, affinity, target or affinity, builder, type_), copy, builder)

    def _accessed(self, operation: Operation, accesses: str) -> str:
        name = root_symbol(operation, "global")
        if name not in self._globals:
            raise OperationError(
                operation, f"{accesses} @{name}, which is not a global of tensor type"
            )
        return name

    def _affinity(self, load: Operation) -> Attribute | None:
        return self._placement.of_global(load) or self._placement.runs_on(load)

    def _add_copy(self, name: str, affinity: Attribute | None) -> None:
        copies = self._copies.setdefault(name, {})
        if affinity not in copies:
            own = self._names.fresh(name) if copies else name
            copies[affinity] = Copy(own, self._names.fresh(f"{own}__size"))

    def _resource_type(self, name: str) -> ResourceType:
        mutable = "is_mutable" in self._globals[name].properties
        return VARIABLE if mutable else CONSTANT

    def _define(self, name: str, variable: Operation) -> None:
        """Define a global for each copy, and an initializer if it has to be set."""
        tensor = require_ranked(variable, variable.properties["type"])
        value = variable.properties.get("initial_value")
        is_open = not tensor.has_static_shape()
        if is_open and (self._carries_dims or value is not None):
            raise OperationError(
                variable,
                f"is a global of {tensor}, expected static sizes: the global has an initial "
                "value, or the program queries sizes that operations do not list (tensor.dim)",
            )
        unread = visibility(variable) == "private" and "is_mutable" not in variable.properties
        if name not in self._copies and not unread:
            placed = variable.attributes.get(AFFINITY)
            self._add_copy(name, placed or self._placement.default_for(variable))
        builder = builder_before(variable)
        for affinity, copy in self._copies.get(name, {}).items():
            kind = self._resource_type(name)
            for symbol_name, type_ in ((copy.resource, kind), (copy.size, INDEX)):
                properties = {
                    key: value
                    for key, value in variable.properties.items()
                    if key not in ("initial_value", "inlining_policy", "type")
                }
                properties |= {"sym_name": StringAttr(symbol_name), "type": type_}
                definition = GlobalOp.create(properties=properties)
                definition.location = variable.location
                builder.insert(definition)
            if value is not None or not (is_open or name in self._set_at_once):
                initializer = self._initializer(value, tensor, copy, kind, affinity)
                locate(initializer, variable)
                builder.insert(initializer)
        Rewriter.erase_op(variable)

    def _initializer(
        self,
        value: Attribute | None,
        tensor: Tensor,
        copy: Copy,
        type_: ResourceType,
        affinity: Attribute | None,
    ) -> Operation:
        """Build the initializer of a copy: its initial value, or zero if it has none."""
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        here = PlacedBuilder(builder, affinity)
        if value is None or isinstance(value, UninitializedAttr):
            size = here.size_of(tensor, ())
            zero = [zero_of(tensor.element_type, builder)] if value is None else []
            op_class = TensorSplatOp if zero else TensorEmptyOp
            resource = here.make(op_class, [*zero, (), size], type_, result_encoding=tensor)
            stored = StoredTensor(resource, size, ())
        else:
            stored = here.constant(value, tensor, type_=type_)
        _store(stored, copy, builder)
        return InitializerOp(block)


def set_at_once(module: ModuleOp) -> set[str]:
    """Return the globals that an initializer always sets before any load."""
    is_set: dict[str, bool] = {}
    for initializer in module.body.block.ops:
        if initializer.name == "util.initializer":
            for operation in initializer.walk():
                if operation.name in (GLOBAL_LOAD, GLOBAL_STORE):
                    first = operation.parent is initializer.regions[0].blocks.first
                    is_set.setdefault(
                        root_symbol(operation, "global"), operation.name == GLOBAL_STORE and first
                    )
    return {name for name, at_once in is_set.items() if at_once}


def _store(stored: StoredTensor, copy: Copy, builder: Builder) -> None:
    """Store a tensor's resource and its size."""
    builder.insert(GlobalStoreOp(stored.resource, copy.resource))
    builder.insert(GlobalStoreOp(stored.size, copy.size))
