"""Infer the lifetime of each resource: `!stream.resource<*>` gets one of the known lifetimes.

Values that share storage have one lifetime: tied values, and what control flow, calls and globals
carry. The lifetime is the one that the program gives to one of these values, or follows from their
use: a constant is `constant`; what the host loads or stores is `staging`; a global is `variable` if
it is mutable and `constant` otherwise; exported resources, and arguments and results of functions
without body, are `external`. All others are `transient`.

A `stream.async.cast` is dropped if both sides can have the same lifetime, and otherwise becomes a
copy, for instance where a constant is returned. A transfer within one device keeps the lifetime,
unless one side is `staging`, or a constant is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.disjoint_set import DisjointSet

from ...dialects.stream.affinity import affinity_of
from ...dialects.stream.async_ops import AsyncTransferOp
from ...dialects.stream.types import ResourceType, lifetime_of
from ...ir.diagnostics import OperationError
from ...ir.host_programs import CALLS, FUNCTIONS, GLOBAL_LOAD, GLOBAL_STORE, host_operations
from ...ir.locations import builder_before, located_builder
from ...ir.regions import inner_blocks, replace_other_uses
from ...ir.rules import Rules
from ...ir.symbols import defined_name, root_symbol, visibility
from ...ir.value_flow import returned_values, update_function_type, value_flow
from ..manager.module_pass import module_pass
from .analysis.storage import is_resource, storage_flow, stored_in
from .conversion.stored_tensors import transferred

CAST, CONSTANT = "stream.async.cast", "stream.async.constant"
OPEN = "*"
STRONGEST_FIRST = ("external", "staging", "variable", "constant", "transient")


@module_pass("iree-stream-refine-usage")
def refine_usage(module: ModuleOp) -> None:
    """Give every resource a lifetime."""
    lifetimes = LifetimeInference(module)
    for operation in tuple(host_operations(module)):
        lifetimes.refine(operation)
    for operation in tuple(host_operations(module)):
        if operation.name == CAST:
            _replace_cast(operation)
        elif operation.name == CONSTANT:
            _copy_constant(operation)
    for operation in module.body.block.ops:
        if operation.name in FUNCTIONS:
            lifetimes.declare(operation)
    lifetimes.check_globals(module)


class LifetimeInference:
    """The lifetimes of a module's resources."""

    def __init__(self, module: ModuleOp) -> None:
        self._known: dict[Hashable, str] = {}
        operations = tuple(host_operations(module))
        required = [found for operation in operations for found in _required_lifetimes(operation)]
        self._classes = DisjointSet[Hashable](list(dict.fromkeys(key for key, _ in required)))
        for one, other in _aliases(module):
            if is_resource(one):
                self._classes.union_left(one, other)
        for key, lifetime in required:
            self._require(key, lifetime)
        for operation in operations:
            for one, other in _joined_if_compatible(operation):
                self._join_if_compatible(one, other)
        self._join_transfers(operations)

    def refine(self, operation: Operation) -> None:
        """Set the lifetimes of the values that an operation defines."""
        for result in operation.results:
            self._set(result)
        for block in inner_blocks(operation):
            for argument in block.args:
                self._set(argument)
        if operation.name == "util.global" and lifetime_of(operation.properties["type"]) == OPEN:
            operation.properties["type"] = self._type_of(defined_name(operation))

    def check_globals(self, module: ModuleOp) -> None:
        """Raise an OperationError if a global is accessed with another lifetime than it has."""
        for operation in host_operations(module):
            if operation.name not in (GLOBAL_LOAD, GLOBAL_STORE):
                continue
            value = (*operation.results, *operation.operands)[0]
            if not is_resource(value):
                continue
            lifetime = self._lifetime_of(root_symbol(operation, "global"))
            if lifetime_of(value.type) != lifetime:
                raise OperationError(
                    operation,
                    f"accesses a global of lifetime '{lifetime}' as '{lifetime_of(value.type)}': "
                    "insert a stream.async.cast between them, which copies",
                )

    def _set(self, value: SSAValue) -> None:
        if is_resource(value) and value.type != (type_ := self._type_of(value)):
            Rewriter.replace_value_with_new_type(value, type_)

    def _lifetime_of(self, key: Hashable) -> str:
        return self._known.get(self._classes.find(key), "transient")

    def _type_of(self, key: Hashable) -> ResourceType:
        return ResourceType(StringAttr(self._lifetime_of(key)))

    def declare(self, function: Operation) -> None:
        """Update a function's type to the lifetimes of its arguments and returned values."""
        if function.regions[0].blocks:
            update_function_type(function)
            return
        types: dict[str, list[Attribute]] = {"inputs": [], "outputs": []}
        for slot, each in _declared(function):
            types[slot.group].append(self._type_of(slot) if lifetime_of(each) else each)
        function.properties["function_type"] = FunctionType.from_lists(*types.values())

    def _join_transfers(self, operations: Sequence[Operation]) -> None:
        """Unite source and result of transfers within one device if their lifetimes allow it."""
        written = {
            self._classes.find(result)
            for operation in operations
            if operation.name.startswith("stream.async.")
            for result in operation.results
            if stored_in(operation, result.index) is not None
        }
        for operation in operations:
            if not isinstance(operation, AsyncTransferOp):
                continue
            if operation.source_affinity != operation.target_affinity:
                continue
            ends = {self._classes.find(each) for each in (operation.source, operation.result)}
            known = {self._known[end] for end in ends if end in self._known}
            is_written = not ends.isdisjoint(written)
            if "staging" not in known and not ("constant" in known and is_written):
                self._join_if_compatible(operation.source, operation.result)
                if is_written:
                    written |= {self._classes.find(operation.source)}

    def _require(self, key: Hashable, lifetime: str) -> None:
        if lifetime != OPEN:
            top = self._classes.find(key)
            known = self._known.get(top, lifetime)
            self._known[top] = min(known, lifetime, key=STRONGEST_FIRST.index)

    def _join_if_compatible(self, one: Hashable, other: Hashable) -> None:
        one, other = self._classes.find(one), self._classes.find(other)
        known = {self._known[top] for top in (one, other) if top in self._known}
        if len(known) < 2:
            self._classes.union_left(one, other)
            if known:
                self._known[one] = known.pop()


Requirements = Iterator[tuple[Hashable, str]]
"""Lifetimes of values, of globals by name, and of arguments and results of declarations."""

requirement = Rules[Callable[[Operation], Requirements]]()
"""The lifetimes that operations imply, by operation name."""


def _required_lifetimes(operation: Operation) -> Requirements:
    """Yield the lifetimes that types give, and those that an operation implies."""
    arguments = (argument for block in inner_blocks(operation) for argument in block.args)
    for value in filter(is_resource, (*operation.results, *arguments)):
        yield value, lifetime_of(value.type)
    if (rule := requirement.get(operation.name)) is not None:
        yield from rule(operation)


@requirement(CONSTANT)
def _constant(operation: Operation) -> Requirements:
    yield operation.results[0], "constant"


@requirement("stream.async.load", "stream.async.store")
def _host_access(operation: Operation) -> Requirements:
    yield operation.operands[0], "staging"


@requirement("stream.tensor.export")
def _export(operation: Operation) -> Requirements:
    yield operation.operands[0], "external"


@requirement("stream.async.call")
def _external_call(operation: Operation) -> Requirements:
    for value in filter(is_resource, (*operation.operands, *operation.results)):
        yield value, "external"


@requirement("util.global")
def _global(operation: Operation) -> Requirements:
    if lifetime := lifetime_of(operation.properties["type"]):
        default = "variable" if "is_mutable" in operation.properties else "constant"
        yield defined_name(operation), default if lifetime == OPEN else lifetime


@requirement(*FUNCTIONS)
def _function(function: Operation) -> Requirements:
    for slot, type_ in _declared(function):
        if lifetime := lifetime_of(type_):
            yield slot, "external" if lifetime == OPEN else lifetime
    first = function.regions[0].blocks.first
    if first is not None and visibility(function) != "private":
        for value in (*first.args, *chain.from_iterable(returned_values(function))):
            if is_resource(value) and lifetime_of(value.type) == OPEN:
                yield value, "external"


def _joined_if_compatible(operation: Operation) -> Iterator[tuple[Hashable, Hashable]]:
    """Yield pairs that share storage if their lifetimes agree, and are copied otherwise."""
    if operation.name == CAST:
        yield operation.operands[0], operation.results[0]
    elif operation.name == GLOBAL_LOAD and is_resource(operation.results[0]):
        yield operation.results[0], root_symbol(operation, "global")
    elif operation.name == GLOBAL_STORE and is_resource(operation.operands[0]):
        yield operation.operands[0], root_symbol(operation, "global")


def _replace_cast(operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if source.type == result.type:
        result.replace_all_uses_with(source)
        source.name_hint = source.name_hint or result.name_hint
        Rewriter.erase_op(operation)
        return
    here, builder = affinity_of(operation), builder_before(operation)
    copy = transferred(source, operation.operands[1], here, here, builder, result.type)
    Rewriter.replace_op(operation, [], [copy])


def _copy_constant(operation: Operation) -> None:
    """Copy a constant whose result has another lifetime, because it is written to."""
    result, type_ = operation.results[0], ResourceType(StringAttr("constant"))
    if result.type == type_:
        return
    here, builder = affinity_of(operation), located_builder(InsertPoint.after(operation), operation)
    copy = transferred(result, operation.operands[0], here, here, builder, result.type)
    replace_other_uses(result, copy)
    Rewriter.replace_value_with_new_type(result, type_)


@dataclass(frozen=True, slots=True)
class _Declared:
    """An argument or result of a function without a body: it has a type, but no SSA value."""

    function: Operation
    group: str
    """`inputs` or `outputs`."""
    index: int


def _declared(function: Operation) -> Iterator[tuple[_Declared, Attribute]]:
    """Yield the arguments and results of a function with their types, if it has no body."""
    if function.regions[0].blocks.first is None:
        type_ = cast(FunctionType, function.properties["function_type"])
        for group, types in (("inputs", type_.inputs), ("outputs", type_.outputs)):
            for index, each in enumerate(types):
                yield _Declared(function, group, index), each


def _aliases(module: ModuleOp) -> Iterator[tuple[SSAValue, SSAValue | _Declared]]:
    """Yield pairs of values that share storage. They include values that are not resources."""
    operations = tuple(host_operations(module))
    yield from value_flow(operations)
    slots = {
        defined_name(function): [slot for slot, _ in _declared(function)]
        for function in operations
        if function.name in FUNCTIONS
    }
    for operation in operations:
        yield from storage_flow(operation)
        if operation.name in CALLS:
            for slot in slots.get(root_symbol(operation, "callee"), ()):
                values = operation.operands if slot.group == "inputs" else operation.results
                yield values[slot.index], slot
