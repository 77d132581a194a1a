"""Find the device of each tensor of a host program, which is where it is computed.

Transfers, arguments, globals and operations may name a device. An operation without affinity runs
where its first placed tensor operand is. Tensors without inputs (constants, empty and filled
tensors, loads of immutable globals without affinity) are made wherever they are read. Other
operations without placed operands run where their result is read. What remains gets the default of
its scope, or the module's only device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use

from ....dialects.stream.affinity import (
    AFFINITY,
    DEFAULT_AFFINITY,
    AffinityAnalysisDialectInterface,
    affinity_of,
    own_affinity,
)
from ....ir.attribute_access import boundary_attributes
from ....ir.host_programs import (
    ABI_AFFINITY,
    CONSTANTS,
    GLOBAL_LOAD,
    GLOBAL_STORE,
    RETURNS,
    host_operations,
)
from ....ir.regions import captured
from ....ir.rules import Rules
from ....ir.symbols import root_symbol, symbols_in
from ....ir.value_flow import forwarded_to, forwards, loop_inputs

WITHOUT_TENSOR_INPUTS = CONSTANTS | {"tensor.empty", "tensor.splat"}
MOVES = ("flow.tensor.barrier", "flow.tensor.transfer")


class DevicePlacement:
    """The devices of all tensors of a module; `None` where the program does not determine one.

    As IREE's `AffinityAnalysis`, which finds the affinities of values and operations.
    """

    def __init__(self, context: Context, module: ModuleOp) -> None:
        self._affinities: dict[SSAValue, Attribute] = {}
        self._globals = symbols_in(module, ("util.global",))
        self._only_device = only_affinity(context, module)
        operations = [each for each in host_operations(module) if _may_place(each)]
        self._global_affinities: dict[Operation, Attribute] = {}
        """The inferred devices of mutable globals without affinity."""
        self._loads: dict[Operation, list[OpResult]] = {}
        for operation in operations:
            variable = self._global_of(operation) if operation.name == GLOBAL_LOAD else None
            if variable is not None:
                self._loads.setdefault(variable, []).append(operation.results[0])
        self._changed = True
        while self._changed:
            while self._changed:
                self._changed = False
                for operation in operations:
                    flow_rule.get(operation.name, _follow_operands)(self, operation)
            for operation in reversed(operations):
                self._follow_users(operation)

    def of(self, value: SSAValue) -> Attribute | None:
        """Return the device of a tensor."""
        found = self._affinities.get(value)
        if found is not None or self.is_flexible(value):
            return found
        return self.default_for(value.owner)

    def runs_on(self, operation: Operation) -> Attribute | None:
        """Return the device that an operation runs on."""
        if (own := own_affinity(operation)) is not None:
            return own
        for result in operation.results:
            if (affinity := self._affinities.get(result)) is not None:
                return affinity
        if not any(map(_is_tensor, operation.results)):
            # It returns numbers, which it computes from tensors that its regions read.
            for value in captured(operation):
                if not self.is_flexible(value) and (affinity := self.known(value)) is not None:
                    return affinity
        return self.default_for(operation)

    def default_for(self, owner: Operation | Block) -> Attribute | None:
        """Return the default device at an operation or for a block argument."""
        operation = owner if isinstance(owner, Operation) else owner.parent_op()
        if operation is None:
            return self._only_device
        # A block is inside of the scope that the operation around it may define.
        scope = None if operation is owner else operation.attributes.get(DEFAULT_AFFINITY)
        return scope or affinity_of(operation) or self._only_device

    def is_flexible(self, value: SSAValue) -> bool:
        """Return whether a tensor can be made again on any device instead of being transferred."""
        if not isinstance(value, OpResult):
            return False
        operation = value.op
        if own_affinity(operation) is not None:
            return False
        if operation.name == GLOBAL_LOAD:
            variable = self._global_of(operation)
            return variable is not None and _is_anywhere(variable)
        if operation.name == "linalg.fill":
            return self.is_flexible(operation.operands[-1])
        return operation.name in WITHOUT_TENSOR_INPUTS

    def assign(self, value: SSAValue, affinity: Attribute | None) -> None:
        """Record the device of a tensor unless it has one already."""
        if affinity is not None and value not in self._affinities:
            self._affinities[value] = affinity
            self._changed = True

    def known(self, value: SSAValue) -> Attribute | None:
        """Return the device of a tensor as far as it has been inferred yet."""
        return self._affinities.get(value)

    def of_global(self, access: Operation) -> Attribute | None:
        """Return the device of an accessed global; `None` if the global is wherever it is read."""
        variable = self._global_of(access)
        if variable is None or _is_anywhere(variable):
            return None
        affinity = variable.attributes.get(AFFINITY) or self.default_for(variable)
        return self._global_affinities.get(variable) if affinity is None else affinity

    def write_down_globals(self) -> None:
        """Write inferred affinities to globals, because later passes change what implies them."""
        for variable, affinity in self._global_affinities.items():
            variable.attributes[AFFINITY] = affinity

    def _global_of(self, access: Operation) -> Operation | None:
        return self._globals.get(root_symbol(access, "global"))

    def _put_global(self, access: Operation, value: SSAValue) -> None:
        """Infer the device of a global without affinity from a value that it stores or loads."""
        variable, affinity = self._global_of(access), self.known(value)
        if variable is None or affinity is None or _is_anywhere(variable):
            return
        if self.of_global(access) is None:
            self._global_affinities[variable] = affinity
            self._changed = True

    def _follow_users(self, operation: Operation) -> None:
        """Place results that have no placed operands on the device of their readers.

        If readers are on several devices, the default is preferred. If a result is only
        transferred, and there is no default, it is placed where it is transferred to.
        """
        if operation.name in MOVES or not operation.results:
            return
        if operation.name == GLOBAL_LOAD:
            # Another load may have placed the global.
            self.load(operation)
        for result in operation.results:
            if result in self._affinities or self.is_flexible(result) or not _is_tensor(result):
                continue
            moves = [use for use in result.uses if use.operation.name in MOVES]
            readers = [use for use in result.uses if use.operation.name not in MOVES]
            default = self.default_for(operation)
            affinities = self._affinities_of_users(readers)
            if not affinities and default is None:
                affinities = self._affinities_of_users(moves)
            if len(affinities) == 1 or (affinities and default is None):
                self.assign(result, affinities[0])
                if operation.name == GLOBAL_LOAD:
                    self._put_global(operation, result)

    def _affinities_of_users(self, uses: Iterable[Use]) -> tuple[Attribute, ...]:
        """Return the known devices of a tensor's readers, in order and without repeats.

        A store to a global that is wherever it is read counts as the readers of that global.
        """
        found: dict[Attribute, None] = {}
        followed: set[Operation] = set()
        pending = list(uses)
        for use in pending:
            variable = self._global_of(use.operation)
            if (
                use.operation.name == GLOBAL_STORE
                and variable is not None
                and _is_anywhere(variable)
            ):
                loads = [] if variable in followed else self._loads.get(variable, [])
                pending += [inner for load in loads for inner in load.uses]
                followed.add(variable)
            elif (affinity := self._affinity_of_user(use)) is not None:
                found[affinity] = None
        return tuple(found)

    def _affinity_of_user(self, use: Use) -> Attribute | None:
        operation = use.operation
        if (own := own_affinity(operation)) is not None:
            return own
        if operation.name == GLOBAL_STORE:
            return self.of_global(operation)
        parent = operation.parent_op()
        if operation.name in RETURNS and parent is not None:
            return boundary_affinity(parent, "res_attrs", use.index)
        results = forwarded_to(operation, use.index) or operation.results
        found = (self._affinities.get(result) for result in results)
        return next((affinity for affinity in found if affinity is not None), None)

    def enter(self, function: Operation) -> None:
        """Place arguments on the device that the function names, or on the default of its scope."""
        block = function.regions[0].blocks.first if function.regions else None
        if block is None:
            return
        for index, argument in enumerate(block.args):
            if _is_tensor(argument):
                affinity = boundary_affinity(function, "arg_attrs", index)
                self.assign(argument, affinity or self.default_for(block))

    def load(self, operation: Operation) -> None:
        """Place a load where its global is; any other load of it may have placed the global."""
        result = operation.results[0]
        if _is_tensor(result) and not self.is_flexible(result):
            self.assign(result, self.of_global(operation) or own_affinity(operation))
            self._put_global(operation, result)

    def store(self, operation: Operation) -> None:
        """Place a global without affinity on the device of the value that is stored to it."""
        self._put_global(operation, operation.operands[0])


Rule = Callable[[DevicePlacement, Operation], None]

flow_rule = Rules[Rule]()
"""How devices propagate through operations, by name; others run where their first operand is."""


def _may_place(operation: Operation) -> bool:
    """Return whether the device of a tensor may follow from an operation."""
    if operation.name in flow_rule:
        return True
    return any(map(_is_tensor, (*operation.operands, *operation.results)))


def _is_tensor(value: SSAValue) -> bool:
    return value.type.name == "tensor"


def _is_anywhere(variable: Operation) -> bool:
    """Return whether a global is wherever it is read: it is immutable and has no affinity."""
    return "is_mutable" not in variable.properties and AFFINITY not in variable.attributes


def only_affinity(context: Context, module: ModuleOp) -> Attribute | None:
    """Return the affinity of the module's only device, in any dialect, or `None`."""
    for dialect in context.loaded_dialects:
        interface = dialect.get_interface(AffinityAnalysisDialectInterface)
        if interface is not None and (found := interface.only_affinity(module)) is not None:
            return found
    return None


def boundary_affinity(function: Operation, group: str, index: int) -> Attribute | None:
    """Return the affinity of an argument (`arg_attrs`) or result (`res_attrs`), or `None`."""
    attributes = boundary_attributes(function, group, index)
    return attributes.get(ABI_AFFINITY) or attributes.get(AFFINITY)


def _follow_operands(placement: DevicePlacement, operation: Operation) -> None:
    """Propagate devices through control flow, and from operands to results of other operations."""
    # A loop's carried argument and its result are on one device, whichever is placed first.
    for result, argument in zip(operation.results, loop_inputs(operation), strict=False):
        placement.assign(argument, placement.known(result))
    forwarded = list(forwards(operation))
    for first, inputs in forwarded:
        for operand, value in zip(operation.operands[first:], inputs, strict=False):
            placement.assign(value, placement.known(operand))
    tensors = list(filter(_is_tensor, operation.results))
    if forwarded or not tensors:
        return
    fixed = (each for each in operation.operands if not placement.is_flexible(each))
    known = (placement.known(operand) for operand in fixed)
    affinity = own_affinity(operation) or next((each for each in known if each is not None), None)
    for result in tensors:
        placement.assign(result, affinity)


@flow_rule(*MOVES)
def _move(placement: DevicePlacement, operation: Operation) -> None:
    placement.assign(operation.results[0], operation.properties.get("target"))


flow_rule("func.func", "util.func")(DevicePlacement.enter)
flow_rule(GLOBAL_LOAD)(DevicePlacement.load)
flow_rule(GLOBAL_STORE)(DevicePlacement.store)
