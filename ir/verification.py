"""Verify modules and locate the faulty operation."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FunctionType
from xdsl.ir import Attribute, Block, ErasedSSAValue, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, OptPropertyDef, VerificationContext
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from .attribute_access import boundary_attributes, symbol_name
from .constraint_errors import constraint_error
from .diagnostics import Note, OperationError
from .dominance import Dominance
from .foreign_code import exception_text, foreign_origin
from .nesting_limits import deep_recursion
from .rules import Rules
from .structural_hash import Structures
from .symbols import SymbolTables, remembered_symbols

Check = Callable[[Operation], None]

check = Rules[Check]()
"""Extra checks of operations by name, beyond their own verifiers. They raise VerifyException."""


AttributeCheck = Callable[[Operation, Attribute, Sequence[Attribute]], None]
"""Checks an attribute of an operation, given the types of the values that it is about."""

attribute_check = Rules[AttributeCheck]()
"""Checks of discardable attributes by name. They raise VerifyException.

They see attributes of operations with the types of all results, and those of arguments and results
of functions, for which the error names the value.
"""


def add_checks(checks: Mapping[str, Check]) -> None:
    """Register extra checks by operation name.

    Raises ValueError if an operation already has another one.
    """
    for name, function in checks.items():
        check(name)(function)


VERIFIER_CRASHES = (ValueError, IndexError, KeyError, NotImplementedError)
"""Exceptions that xDSL's verifiers raise by mistake. A plain `Exception` is another one."""

GRAPH_REGION_OPERATIONS = frozenset({"builtin.module"})
"""Operations with graph regions, in which a value may be used before its definition."""

SELF_CONTAINED_DIALECTS = frozenset({"arith", "linalg", "math", "stablehlo", "tensor"})
"""Dialects whose operations are verified without a look at producers and users of values."""

NEED_PARENT = frozenset({"linalg.index", "tensor.parallel_insert_slice"})
"""Operations of these dialects that are only valid in some others, like all terminators."""


def verify(root: Operation) -> None:
    """Verify an operation and all nested ones. Raises OperationError for the first error."""
    for failure in verification_errors(root):
        raise failure


def verification_errors(
    root: Operation, skipped: Container[Operation] = ()
) -> Iterator[OperationError]:
    """Yield the errors in an operation: at most one for each isolated operation in it.

    As in MLIR, an error in one function does not hide errors in others. Isolated operations in
    `skipped` are not verified.
    """
    tables: SymbolTables = {}
    pending = [root]
    while pending:
        verifier = _TreeVerifier()
        failure: OperationError | None = None
        with deep_recursion(), remembered_symbols(tables):
            try:
                verifier.verify_tree(pending.pop())
            except OperationError as error:
                failure = error
        if failure is not None:
            yield failure
        pending.extend(each for each in reversed(verifier.isolated) if each not in skipped)


class _TreeVerifier:
    """Verifies an operation and its nested operations; collects, but skips, isolated ones."""

    def __init__(self) -> None:
        self.isolated: list[Operation] = []
        self._computed: set[Operation] = set()
        self._dominance: dict[Region, Dominance] = {}
        self._structures = Structures()
        self._valid: set[Hashable] = set()
        """The keys of verified operations."""

    def verify_tree(self, operation: Operation) -> None:
        """Verify an op: position, properties, regions, then its own verifier (xDSL's order).

        Properties come before regions, as in MLIR, because nested operations use them. For example,
        `func.return` uses the type of its function.
        """
        _verify_place(operation)
        if operation.regions and isinstance(operation, IRDLOperation):
            _verify_properties(operation)
        if operation.has_trait(SymbolTable, value_if_unregistered=False):
            _verify_names(operation)
        for region in operation.regions:
            self._verify_region(operation, region)
        _verify_invariants(operation)

    def _verify_region(self, parent: Operation, region: Region) -> None:
        single = region.first_block is region.last_block
        for block in region.blocks:
            if block.last_op is None and not (single and parent.has_trait(NoTerminator)):
                raise OperationError(parent, "has an empty block, which must end in a terminator")
            for operation in block.ops:
                self._verify_operands(operation, block)
                if operation.has_trait(IsolatedFromAbove, value_if_unregistered=False):
                    self.isolated.append(operation)
                else:
                    self._verify_once(operation)
                self._computed.add(operation)

    def _verify_once(self, operation: Operation) -> None:
        """Verify an operation in a block, but only its position if an equal one was verified."""
        key = None
        is_large = isinstance(operation.properties.get("value"), DenseIntOrFPElementsAttr)
        if not is_large and _is_self_contained(type(operation), operation.name):
            key = self._structures.of_operation(operation)
        if key is None:
            self.verify_tree(operation)
        elif key in self._valid:
            _verify_place(operation)
        else:
            self.verify_tree(operation)
            self._valid.add(key)

    def _verify_operands(self, operation: Operation, block: Block) -> None:
        for index, operand in enumerate(operation.operands):
            owner = operand.owner
            if owner is block or (owner in self._computed and owner.parent is block):
                continue
            if isinstance(operand, ErasedSSAValue):
                raise OperationError(operation, f"operand #{index} was erased")
            if not self._is_computed_before(operand, operation):
                notes = [_defined(owner, operation)] if isinstance(owner, Operation) else []
                raise OperationError(
                    operation, f"operand #{index} does not dominate this use", notes
                )

    def _is_computed_before(self, value: SSAValue, user: Operation) -> bool:
        """Return whether the definition of a value properly dominates an operation."""
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        if home is None:
            return False
        block = user.parent
        while block is not None:
            region = block.parent
            if block is home:
                if owner is home or owner in self._computed or _in_graph_region(block):
                    return True
                # In an unreachable block any operand is allowed.
                return region is not None and not self._dominance_in(region).reaches(block)
            if region is None:
                return False
            if home.parent is region:
                return self._dominance_in(region).dominates(home, block)
            block = block.parent_block()
        return False

    def _dominance_in(self, region: Region) -> Dominance:
        dominance = self._dominance.get(region)
        if dominance is None:
            dominance = self._dominance[region] = Dominance(region)
        return dominance


@lru_cache(maxsize=1024)
def _is_self_contained(kind: type[Operation], name: str) -> bool:
    """Return whether operations that look the same are equally valid."""
    return (
        name.partition(".")[0] in SELF_CONTAINED_DIALECTS
        and name not in NEED_PARENT
        and not kind.has_trait(IsTerminator)
    )


def _in_graph_region(block: Block) -> bool:
    parent = block.parent_op()
    return parent is not None and parent.name in GRAPH_REGION_OPERATIONS


def _defined(owner: Operation, user: Operation) -> Note:
    """Return a note at the definition of an operand, with MLIR's description of where it is."""
    home, region = owner.parent_region(), user.parent_region()
    if owner.parent is user.parent:
        where = "op in the same block"
    elif home is region:
        where = "op in the same region"
    elif home is not None and home.is_ancestor(user):
        where = "op in a parent region"
    elif region is not None and region.is_ancestor(owner):
        where = "op in a child region"
    else:
        where = "op is neither in a parent nor in a child region"
    return Note(f"operand defined here ({where})", owner)


def _verify_names(table: Operation) -> None:
    """Check that symbol names are unique; report the second definition and note the first."""
    first: dict[str, Operation] = {}
    blocks = (block for region in table.regions for block in region.blocks)
    for operation in (operation for block in blocks for operation in block.ops):
        name = symbol_name(operation)
        if name is not None and first.setdefault(name, operation) is not operation:
            note = Note("see existing symbol definition here", first[name])
            raise OperationError(operation, f"redefinition of symbol named '{name}'", [note])


def _verify_place(operation: Operation) -> None:
    """Check the position of an operation: terminators end blocks, branches stay in their region."""
    block = operation.parent
    region = block.parent if block is not None else None
    parent = region.parent if region is not None else None
    if block is None or region is None or parent is None:
        if operation.successors:
            raise OperationError(operation, "has successors but is not in a block")
        return
    is_last = block.last_op is operation
    if operation.successors and not is_last:
        raise OperationError(operation, "has successors, so it must end its block")
    for successor in operation.successors:
        if successor.parent is not region:
            raise OperationError(operation, "branches to a block of another region")
        if successor is region.first_block:
            raise OperationError(operation, "entry block of region may not have predecessors")
    if is_last and not operation.has_trait(IsTerminator):
        single = region.first_block is region.last_block
        if not single or not parent.has_trait(NoTerminator):
            raise OperationError(
                operation,
                "ends a block but is not a terminator",
                [Note(f"in the body of this '{parent.name}'", parent)],
            )


def _verify_properties(operation: IRDLOperation) -> None:
    context = VerificationContext()
    for name, definition in operation.get_irdl_definition().properties.items():
        found = operation.properties.get(name)
        if found is None:
            if not isinstance(definition, OptPropertyDef):
                raise OperationError(operation, f"requires attribute '{name}'")
            continue
        try:
            definition.constr.verify(found, context)
        except VerifyException as failure:
            message = constraint_error(operation) or str(failure)
            raise OperationError(operation, message) from failure


def _verify_invariants(operation: Operation) -> None:
    try:
        operation.verify_()
        if (function := check.get(operation.name)) is not None:
            function(operation)
        _verify_attributes(operation)
    except OperationError:
        raise
    except DiagnosticException as failure:
        message = constraint_error(operation) if isinstance(operation, IRDLOperation) else None
        if message is None:
            message = str(failure).strip().removeprefix("Operation does not verify: ")
        raise OperationError(operation, message) from failure
    except Exception as failure:
        raise OperationError(operation, _said_of(failure)) from failure


def _verify_attributes(operation: Operation) -> None:
    for name, attribute in operation.attributes.items():
        if (function := attribute_check.get(name)) is not None:
            function(operation, attribute, operation.result_types)
    signature = operation.properties.get("function_type")
    if not isinstance(signature, FunctionType):
        return
    for what, group, types in (
        ("argument", "arg_attrs", signature.inputs),
        ("result", "res_attrs", signature.outputs),
    ):
        for index, value_type in enumerate(types):
            for name, attribute in boundary_attributes(operation, group, index).items():
                if (function := attribute_check.get(name)) is None:
                    continue
                try:
                    function(operation, attribute, [value_type])
                except VerifyException as failure:
                    message = f"{name} of {what} #{index}: {failure}"
                    raise OperationError(operation, message) from failure


def _said_of(failure: Exception) -> str:
    """Return the message for an exception that a verifier should not raise.

    Raises the exception itself if it is a bug of this project.
    """
    function = foreign_origin(failure)
    if function is not None:
        return f"in verifier {function}: {exception_text(failure)}"
    if isinstance(failure, AttributeError) and _is_raised_by_xdsl(failure):
        # For example a call whose callee has no function type. The callee has its own error.
        return "refers to an invalid operation"
    if type(failure) is Exception or isinstance(failure, VERIFIER_CRASHES):
        # Some of xDSL's verifiers raise these on input that they should reject.
        return f"does not verify: {failure or type(failure).__name__}"
    raise failure


def _is_raised_by_xdsl(failure: Exception) -> bool:
    """Return whether xDSL's own code raised an exception, and not a function that it called."""
    frame = failure.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and str(frame.tb_frame.f_globals.get("__name__")).startswith("xdsl.")
