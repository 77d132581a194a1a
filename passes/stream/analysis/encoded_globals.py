"""Find encoded globals: which constants are stored in several encodings, and their readers.

    %w = util.global.load @w
    %s = stream.tensor.sizeof tensor<64x64xf32, #e>
    %e = stream.tensor.encode %w : tensor<64x64xf32> -> tensor<64x64xf32, #e>{%s}
    util.global.store %e, @w_encoded

makes `@w_encoded` one version of the constant `@w`, if both globals never change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue, Use

from ....dialects.iree_encoding.interfaces import Tensor, TensorEncoding, plain, tensor_encoding
from ....dialects.stream.affinity import TensorPhase
from ....dialects.stream.tensor_ops import TensorDispatchOp, TensorEncodeOp, TensorSizeOfOp
from ....dialects.stream.types import NamedParameterAttr
from ....ir.host_programs import GLOBAL_LOAD, GLOBAL_STORE
from ....ir.symbols import root_symbol
from ....ir.syntax.assembly_format import operand_index
from ...general.global_accesses import global_accesses

COPIES = frozenset({"stream.async.cast", "stream.async.clone", "stream.async.transfer"})
"""Operations whose result has the bytes of their source, in the same layout."""


@dataclass(slots=True)
class Readers:
    """The readers of a version, found through operations that keep its bytes."""

    copies: list[Operation] = field(default_factory=list[Operation])
    encodes: list[TensorEncodeOp] = field(default_factory=list[TensorEncodeOp])
    dispatched: list[tuple[TensorDispatchOp, int]] = field(
        default_factory=list[tuple[TensorDispatchOp, int]]
    )
    """Dispatches, each with the index of the mixed operand."""
    others: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """Tensor operations that access elements by position, each with the name of the operand."""
    unknown: list[Operation] = field(default_factory=list[Operation])
    """Operations that do not say which tensor type they read."""


@dataclass(frozen=True, slots=True)
class EncodedVersion:
    """A global that holds a constant in one encoding."""

    name: str
    encode: TensorEncodeOp
    size: TensorSizeOfOp
    copies: tuple[Operation, ...]
    """The operations between the encode and the store."""
    store: Operation

    @property
    def tensor(self) -> Tensor:
        """The type of the tensor as it is stored."""
        return cast(Tensor, self.encode.result_encoding)

    @property
    def encoding(self) -> TensorEncoding:
        """The encoding of the stored tensor."""
        return cast(TensorEncoding, self.tensor.encoding)


class EncodedGlobals:
    """The encoded globals of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._globals = global_accesses(module)
        self.sources: dict[tuple[str, ...], list[EncodedVersion]] = {}
        """Versions by their constant: a parameter, or the original global."""
        for initializer in module.body.block.ops:
            if initializer.name == "util.initializer":
                for operation in initializer.walk():
                    if isinstance(operation, TensorEncodeOp):
                        self._add(operation)

    def _add(self, encode: TensorEncodeOp) -> None:
        size = encode.result_size.owner
        if tensor_encoding(encode.result_encoding) is None or not isinstance(size, TensorSizeOfOp):
            return
        copies: list[Operation] = []
        user = encode.result.get_user_of_unique_use()
        while user is not None and user.name in COPIES:
            copies.append(user)
            user = user.results[0].get_user_of_unique_use()
        if user is None or user.name != GLOBAL_STORE:
            return
        name = root_symbol(user, "global")
        source = self._source(encode.source)
        if source and self._is_constant(name) and len(self._globals[name].stores) == 1:
            version = EncodedVersion(name, encode, size, tuple(copies), user)
            self.sources.setdefault(source, []).append(version)

    def _source(self, value: SSAValue) -> tuple[str, ...]:
        """Return the constant whose bytes a value has; empty if it is not known."""
        found: tuple[str, ...] = ()
        seen: set[str] = set()
        while isinstance(value, OpResult):
            operation: Operation = value.op
            if operation.name == GLOBAL_LOAD:
                name = root_symbol(operation, "global")
                if not self._is_constant(name) or name in seen:
                    return ()
                seen.add(name)
                found = ("global", name)
                variable = self._globals[name]
                if "initial_value" in variable.op.properties:
                    return found
                if len(variable.stores) != 1:
                    return ()
                value = variable.stores[0].operands[0]
            elif operation.name in COPIES:
                value = operation.operands[0]
            elif operation.name == "stream.tensor.constant":
                parameter = operation.properties.get("value")
                if isinstance(parameter, NamedParameterAttr):
                    return "parameter", str(parameter.scope), parameter.key.data
                return found
            else:
                return ()
        return ()

    def _is_constant(self, name: str) -> bool:
        found = self._globals.get(name)
        return found is not None and not found.others and "is_mutable" not in found.op.properties

    def readers(self, version: EncodedVersion) -> Readers:
        """Return the readers of a version."""
        readers = Readers()
        pending: list[SSAValue] = [load.results[0] for load in self._globals[version.name].loads]
        while pending:
            for use in tuple(pending.pop().uses):
                pending += _read(version, use, readers)
        return readers


def _read(version: EncodedVersion, use: Use, readers: Readers) -> Iterator[SSAValue]:
    """Record a reader; yield its results that have the same bytes."""
    operation = use.operation
    if operation.name in COPIES:
        readers.copies.append(operation)
        yield operation.results[0]
    elif isinstance(operation, TensorDispatchOp):
        index = use.index - len(operation.workload)
        type_ = operation.operand_encodings.data[index]
        if tensor_encoding(type_) is not None and plain(cast(Tensor, type_)) == plain(
            version.tensor
        ):
            readers.dispatched.append((operation, index))
        else:
            readers.unknown.append(operation)
    elif (name := _tensor_operand(operation, use.index)) is None:
        readers.unknown.append(operation)
    elif isinstance(operation, TensorEncodeOp):
        readers.encodes.append(operation)
    else:
        readers.others.append((operation, name))


def _tensor_operand(operation: Operation, index: int) -> str | None:
    """Return the name of an operand whose tensor type is a property of the operation, or `None`."""
    if not operation.has_trait(TensorPhase):
        return None
    for name in ("source", "target", "update"):
        if f"{name}_encoding" in operation.properties and operand_index(operation, name) == index:
            return name
    return None
