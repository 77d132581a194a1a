"""Deallocate resources after their last use, if all uses are in one block.

    %r, %t = stream.resource.alloca uninitialized on(A) : !stream.resource<transient>{%n} => ...
    %u = stream.cmd.execute on(A) await(%t) => with(%r as %a: ...) { ... }
    %v = stream.cmd.execute on(B) await(%u) => with(%r as %b: ...) { ... }

is followed by

    %w = stream.resource.dealloca on(A) await(%v) => %r : ...

Resources that are returned, exported, stored or carried by control flow are not deallocated, since
there is no reference count at run time.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.stream.regions import joined
from ...dialects.stream.resources import ResourceAllocaOp, ResourceDeallocaOp
from ...dialects.stream.types import TimepointType
from ...ir.host_programs import host_operations
from ...ir.locations import located_builder
from .analysis.storage import VIEW_LIKE, views_of

HOST_ACCESSES = frozenset({"stream.resource.load", "stream.resource.size", "stream.resource.store"})
"""Operations by which the host accesses a resource."""

FOLLOWED = HOST_ACCESSES | VIEW_LIKE | {"stream.cmd.execute"}


@dataclass(frozen=True)
class AutomaticReferenceCountingPass(ModulePass):
    """Deallocate resources after their last use."""

    name = "iree-stream-automatic-reference-counting"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for operation in tuple(host_operations(op)):
            if isinstance(operation, ResourceAllocaOp):
                users = _users(operation)
                if users is not None:
                    _deallocate(operation, users)


def _users(alloca: ResourceAllocaOp) -> set[Operation] | None:
    """Return all users of a resource; `None` if it is deallocated already or cannot be followed."""
    views: list[SSAValue] = [alloca.result]
    users: set[Operation] = set()
    for view in views:
        for use in view.uses:
            user = use.operation
            if user.parent is not alloca.parent or user.name not in FOLLOWED:
                return None
            users.add(user)
        views += views_of(view)
    return users


def _deallocate(alloca: ResourceAllocaOp, users: set[Operation]) -> None:
    last: Operation = alloca
    waits: dict[SSAValue, None] = {}
    following: Operation | None = alloca
    while following is not None:
        if following in users:
            last = following
            if following.name == "stream.cmd.execute":
                waits[following.results[-1]] = None
        following = following.next_op
    builder = located_builder(InsertPoint.after(last), alloca)
    reached = joined(list(waits) or [alloca.result_timepoint], builder)
    builder.insert(
        ResourceDeallocaOp.build(
            operands=[alloca.result, alloca.storage_size, [reached]],
            result_types=[TimepointType()],
            properties={"affinity": alloca.affinity},
        )
    )
