"""The types of arguments that become packed tensors, and sizes of theirs that are not known."""

from __future__ import annotations

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects.iree_encoding.interfaces import Tensor, plain, tensor_encoding
from ....dialects.iree_tensor_ext import DispatchTensor
from ....ir.diagnostics import OperationError
from ....ir.index_lists import INDEX
from ....tiling.packed_layouts import IDENTITY, PackedLayout
from .values import memory_type


def stored_type(tensor: Tensor, layout: PackedLayout) -> Tensor:
    """Return the type of a tensor in memory, given its layout."""
    return plain(tensor) if layout == IDENTITY else memory_type(tensor, layout)


class UnknownSizes:
    """Placeholders for sizes that are not known: the logical sizes of arguments passed in tiles.

    Each is the result of an operation that is not inserted. Code that is erased later may use it,
    such as tile counts that are not needed; a use that remains in the end is an error.
    """

    def __init__(self) -> None:
        self._placeholders: list[tuple[Operation, SSAValue]] = []

    def placeholder(self, argument: SSAValue) -> SSAValue:
        """Return a placeholder for a size of an argument."""
        op = UnrealizedConversionCastOp.create(operands=[], result_types=[INDEX])
        self._placeholders.append((op, argument))
        return op.results[0]

    def verify_unused(self) -> None:
        """Erase unused operations on placeholders.

        Raises OperationError at an operation that needs one.
        """
        for op, argument in self._placeholders:
            _drop_unused_users(op.results[0])
            for use in op.results[0].uses:
                raise OperationError(
                    use.operation,
                    f"needs a size of the packed argument {argument.type}, but its tiles may be "
                    "padded: list the sizes where it is decoded",
                )


def _drop_unused_users(value: SSAValue) -> None:
    for user in [use.operation for use in value.uses]:
        for result in user.results:
            _drop_unused_users(result)
        unused = user.results and not any(result.first_use for result in user.results)
        if unused and user.parent is not None and not user.regions:
            Rewriter.erase_op(user)


def has_encoding(type_: Attribute) -> bool:
    """Return whether a type is an encoded tensor or a binding of one."""
    if isinstance(type_, DispatchTensor):
        type_ = type_.bound_type
    return tensor_encoding(type_) is not None
