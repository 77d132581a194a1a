"""Write a kernel: its bindings, its constants, and the code of tensor elements.

Elements are pulled. An element of a stored tensor becomes a load; an element of a fused tensor
becomes the code that computes it. `fusion` decides which tensors are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, IndexType, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from ....ir.attribute_access import integers
from ....ir.diagnostics import OperationError
from ....ir.host_programs import CHOICES
from ....ir.index_lists import mixed_list
from ....runtime.abi.elements import Element
from ..code.ast_builder import AstBuilder, Term
from .affine_terms import affine_term
from .checks import Checks
from .kernel_text import (
    Bound,
    Constant,
    FailedValue,
    IndexConstant,
    KernelText,
    SizeConstant,
    TileCount,
    constant_name,
    fetch,
    kernel_function,
)
from .scalar_operations import (
    INDEX,
    element_of_value,
    is_scalar_operation,
    write_constant,
    write_scalar_operation,
)
from .static_values import constant_attribute, is_tensor, shape_of, splat_value

Indices = tuple[Term, ...]

FREE_SUMS = ("sumf_", "productf_", "termf_")
"""Name prefixes of primitives that LLVM may reassociate or contract."""

ElementRule = Callable[["KernelWriter", SSAValue, Indices], Term]
"""Writes the code of an element of a tensor."""


@dataclass
class KernelWriter:
    """A kernel that is being written.

    - `operation`: where errors are reported;
    - `results`: the tensors that the kernel stores;
    - `is_fused`: whether a tensor is fused into the kernel;
    - `write_fused`: writes an element of a fused tensor;
    - `updated_in_place`: for tensors that are updated in place, the result whose memory they share;
    - `checks`: what may make the kernel fail.

    Methods raise OperationError for element types and constants that kernels do not support.
    """

    operation: Operation
    results: tuple[Bound, ...]
    is_fused: Callable[[SSAValue], bool]
    write_fused: ElementRule
    code: AstBuilder = field(default_factory=AstBuilder)
    updated_in_place: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _bindings: dict[Bound, int] = field(default_factory=dict[Bound, int])
    _constants: dict[Constant, int] = field(default_factory=dict[Constant, int])
    checks: Checks = field(init=False)

    def __post_init__(self) -> None:
        # Results are bound first, so that their binding numbers, which are alias scopes, are known.
        for result in self.results:
            self._bindings[result] = len(self._bindings)
        self.checks = Checks(self.operation, self.code)

    # Sizes and numbers ------------------------------------------------------------------------

    def constant(self, constant: Constant) -> str:
        """Return the variable of a constant of the kernel."""
        return constant_name(self._constants.setdefault(constant, len(self._constants)))

    def shape(self, value: SSAValue) -> Indices:
        """Return the sizes of a tensor: numbers if static, otherwise constants of the kernel."""
        return tuple(
            self.constant(SizeConstant(value, i)) if size == DYNAMIC_INDEX else size
            for i, size in enumerate(shape_of(value))
        )

    def number(self, value: SSAValue) -> Term:
        """Return an index: a number if known, a computed variable, or a constant of the kernel."""
        attribute = constant_attribute(value)
        if attribute is not None:
            known = getattr(getattr(attribute, "value", None), "data", None)
            if isinstance(known, int):
                return known
        if self.is_fused(value):
            return self.scalar(value)
        found = self.code.recall(value)
        if isinstance(found, str | int):
            return found
        return self.constant(IndexConstant(value))

    def mixed_numbers(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> tuple[Term, ...]:
        """Return a list in which `DYNAMIC_INDEX` marks the entries that are operands."""
        return mixed_list(static, map(self.number, dynamic))

    def element_of(self, value: Bound) -> Element:
        """Return the element type of a tensor, or the type of a scalar or word."""
        if not isinstance(value, SSAValue):
            return INDEX
        return element_of_value(value, self.operation)

    # Elements ---------------------------------------------------------------------------------

    def address(self, bound: Bound) -> str:
        """Return the variable of a binding's address."""
        return f"b{self._binding(bound)}"

    def _binding(self, value: Bound) -> int:
        return self._bindings.setdefault(value, len(self._bindings))

    def add_results(self, *results: Bound) -> None:
        """Let the kernel write other buffers; nothing but results may be bound yet."""
        self.results = (*self.results, *results)
        for each in results:
            self._binding(each)

    def load(self, value: Bound, position: Term) -> Term:
        """Return the element of a stored tensor at a row-major position."""
        if isinstance(value, SSAValue):
            value = self.updated_in_place.get(value, value)
        binding = self._binding(value)
        primitive = f"load_{self.element_of(value).name}_{binding}"
        if value in self.results:
            return self.code.load(primitive, f"b{binding}", position)
        return self.code.call(primitive, f"b{binding}", position)

    def store(self, value: Bound, position: Term, element: Term) -> None:
        """Store an element of a result at a row-major position."""
        binding = self._bindings[value]
        self.code.run(
            f"store_{self.element_of(value).name}_{binding}", f"b{binding}", position, element
        )

    def load_vector(
        self,
        value: SSAValue,
        position: Term,
        element: Element,
        total: Element,
        lanes: int,
        stride: int = 1,
    ) -> Term:
        """Return elements from a position on, `stride` (1 or 2) apart, as a vector of `total`."""
        binding, family = self._binding(value), "vload" if stride == 1 else "vloadeven"
        primitive = f"{family}_{element.name}_{total.name}_{lanes}_{binding}"
        return self.code.call(primitive, f"b{binding}", position)

    def load_splat(
        self, value: SSAValue, position: Term, element: Element, total: Element, lanes: int
    ) -> Term:
        """An element of a stored tensor, widened to one of `total`, in all lanes of a vector."""
        binding = self._binding(value)
        primitive = f"vloadsplat_{element.name}_{total.name}_{lanes}_{binding}"
        return self.code.call(primitive, f"b{binding}", position)

    def load_pair(self, value: SSAValue, position: Term, element: Element, lanes: int) -> Term:
        """Return two adjacent elements as 16-bit integers, repeated in all lanes of a vector."""
        binding = self._binding(value)
        primitive = f"vloadpair_{element.name}_{lanes}_{binding}"
        return self.code.call(primitive, f"b{binding}", position)

    def store_vector(self, value: SSAValue, position: Term, vector: Term, lanes: int) -> None:
        """Store a vector to a result from a row-major position on."""
        binding = self._bindings[value]
        primitive = f"vstore_{self.element_of(value).name}_{lanes}_{binding}"
        self.code.run(primitive, f"b{binding}", position, vector)

    def element(self, value: SSAValue, indices: Indices) -> Term:
        """Return the element of a tensor, or a scalar if there are no indices."""
        if not isinstance(value.type, TensorType):
            return self.scalar(value)
        attribute = constant_attribute(value)
        splat = None if attribute is None else splat_value(attribute)
        if splat is not None:
            return write_constant(self.code, splat, self.operation)
        if not self.is_fused(value):
            if isinstance(indices, LinearIndices):
                return self.load(value, indices.position)
            return self.load(value, self.code.linear(indices, self.shape(value)))
        key = (value, indices)
        found = self.code.recall(key)
        if isinstance(found, str | int):
            return found
        element = self.write_fused(self, value, indices)
        self.code.remember(key, element)
        if value in self.results:
            self.store(value, self.code.linear(indices, self.shape(value)), element)
        return element

    def scalar(self, value: SSAValue) -> Term:
        """Return a scalar: a constant, a computed variable, or a value that is bound."""
        attribute = constant_attribute(value)
        if attribute is not None:
            return write_constant(self.code, attribute, self.operation)
        found = self.code.recall(value)
        if isinstance(found, str | int):
            return found
        if self.is_fused(value):
            element = self.write_fused(self, value, ())
            self.code.remember(value, element)
            return element
        if isinstance(value.type, IndexType):
            return self.constant(IndexConstant(value))
        return self.load(value, 0)

    def zero(self, value: SSAValue) -> Term:
        """Return a zero of a tensor's element type."""
        element = self.element_of(value)
        if element.is_complex:
            part = self.code.number(0, element.part)
            return self.code.call(f"create_{element.name}", part, part)
        return self.code.number(0, element)

    # Bodies -----------------------------------------------------------------------------------

    def body(
        self,
        block: Block,
        arguments: Sequence[Term],
        loops: Indices = (),
        reduction_forms: dict[Operation, str] | None = None,
        yielded: Sequence[SSAValue] | None = None,
    ) -> tuple[Term, ...]:
        """Write the code of a block of scalar operations; return the terms that it yields.

        `loops` are the indices that `linalg.index` returns. `reduction_forms` renames the
        primitives of operations whose order is free. `yielded` replaces what the terminator yields.
        Raises OperationError for an operation that kernels do not support.
        """
        for argument, term in zip(block.args, arguments, strict=False):
            self.code.remember(argument, term)
        *operations, last = block.ops
        self.evaluate(operations, loops, reduction_forms)
        return tuple(map(self.scalar, last.operands if yielded is None else yielded))

    def evaluate(
        self,
        operations: Iterable[Operation],
        loops: Indices = (),
        reduction_forms: dict[Operation, str] | None = None,
    ) -> None:
        """Write the code of scalar operations whose operands are known; remember their results."""
        for operation in operations:
            form = reduction_forms.get(operation) if reduction_forms else None
            results = self._body_operation(operation, loops, form)
            for result, term in zip(operation.results, results, strict=True):
                self.code.remember(result, term)

    def _body_operation(
        self, operation: Operation, loops: Indices, form: str | None
    ) -> tuple[Term, ...]:
        name = operation.name
        if name == "tensor.insert" and operation.results[0] in self.updated_in_place:
            self._insert(operation)
            return ("",)
        if name in CHOICES:
            return self._choice(operation, loops)
        if name == "scf.for":
            return self._for(operation, loops)
        if any(isinstance(result.type, TensorType) for result in operation.results):
            # The elements of a tensor are computed where they are read.
            return ("",) * len(operation.results)
        if name in ("arith.constant", "complex.constant"):
            attribute = operation.get_attr_or_prop("value")
            if attribute is None:
                return ("",)
            return (write_constant(self.code, attribute, operation),)
        if name == "linalg.index":
            return (loops[linalg_index(operation)],)
        if is_scalar_operation(name):
            operands = [self.scalar(operand) for operand in operation.operands]
            self.checks.division(operation, operands)
            return write_scalar_operation(self.code, operation, operands, form)
        if name == "tensor.extract":
            return (self._extract(operation),)
        if name == "affine.apply":
            return self._apply(operation)
        if name == "tensor.dim":
            return (self._dimension(operation),)
        if name == "cf.assert":
            self.checks.holds(operation, self.scalar(operation.operands[0]))
            return ()
        raise OperationError(operation, "is an operation that the native backend does not compile")

    def _extract(self, operation: Operation) -> Term:
        """Return an element at computed indices; the kernel fails if they are out of bounds."""
        code = self.code
        tensor, *operands = operation.operands
        indices = tuple(self.number(operand) for operand in operands)
        if self.checks.is_proven(operation):
            return self.element(tensor, indices)
        shape = self.shape(tensor)
        for axis, (index, size) in enumerate(zip(indices, shape, strict=True)):
            self.checks.index(operation, axis, index, size)
        if self.checks.in_order:
            return self.element(tensor, indices)
        if all(isinstance(size, int) and size > 0 for size in shape):
            # Indices are clamped without a branch, so that loops are vectorised.
            lasts = [code.subtract(size, 1) for size in shape]
            pairs = zip(indices, lasts, strict=True)
            return self.element(tensor, tuple(code.call("minui_i64", *pair) for pair in pairs))
        inside: Term = 1
        for index, size in zip(indices, shape, strict=True):
            inside = code.both(inside, code.call("cmpiult_i64", index, size))
        return code.choose(inside, lambda: self.element(tensor, indices), lambda: self.zero(tensor))

    def _insert(self, operation: Operation) -> None:
        """Store an element to the result that a tensor shares memory with.

        The kernel computes in order, and fails before if an index is out of bounds.
        """
        element, tensor, *operands = operation.operands
        indices = [self.number(operand) for operand in operands]
        shape = self.shape(tensor)
        if not self.checks.is_proven(operation):
            for axis, (index, size) in enumerate(zip(indices, shape, strict=True)):
                self.checks.index(operation, axis, index, size)
        result = self.updated_in_place[tensor]
        self.store(result, self.code.linear(indices, shape), self.scalar(element))

    def _dimension(self, operation: Operation) -> Term:
        """Return the size of a tensor along a dimension, which may be a computed index."""
        code = self.code
        shape, index = self.shape(operation.operands[0]), self.scalar(operation.operands[1])
        if not self.checks.is_proven(operation):
            self.checks.index(operation, 0, index, len(shape))
        size: Term = 0
        for position, each in enumerate(shape):
            is_here = code.compare("eq", index, position)
            if isinstance(is_here, int):
                size = each if is_here else size
            else:
                size = code.call("select_i64", is_here, each, size)
        return size

    def _apply(self, operation: Operation) -> tuple[Term, ...]:
        attribute = operation.get_attr_or_prop("map")
        if not isinstance(attribute, AffineMapAttr):
            raise OperationError(operation, "has no map")
        operands = tuple(self.scalar(operand) for operand in operation.operands)
        return self.apply_map(attribute.data, operands, operation)

    # Branches and loops -----------------------------------------------------------------------

    def _choice(self, operation: Operation, loops: Indices) -> tuple[Term, ...]:
        """Write branches. Elements of tensors that they return are variables, as numbers are.

        Tensors that are updated in place need no code.
        """
        code, names = self.code, dict[tuple[SSAValue, Indices], str]()
        for result in operation.results:
            if result not in self.updated_in_place:
                places = product(*map(range, shape_of(result)))
                names |= {(result, at): code.fresh() for at in places}
        elements = {
            name: (cast(OpResult, result).index, at) for (result, at), name in names.items()
        }
        chosen = self.scalar(operation.operands[0])
        blocks = [region.first_block for region in operation.regions]
        if operation.name == "scf.if":
            cases = [(chosen, blocks[0])]
            default = blocks[1]
        else:
            default, *others = blocks
            pairs = zip(integers(operation, "cases"), others, strict=True)
            cases = [(code.compare("eq", chosen, case), block) for case, block in pairs]
        with ExitStack() as stack:
            for condition, block in cases:
                with code.when(condition):
                    self._set_yielded(elements, block, (), loops)
                stack.enter_context(code.otherwise())
            self._set_yielded(elements, default, (), loops)
        for element, name in names.items():
            code.remember(element, name)
        return tuple(names.get((result, ()), "") for result in operation.results)

    def _for(self, operation: Operation, loops: Indices) -> tuple[Term, ...]:
        """Write a loop in the body of a loop: its scalars are variables."""
        code, (low, high, step, *initial) = self.code, operation.operands
        carried = ["" if is_tensor(each) else code.copy(self.scalar(each)) for each in initial]
        elements = {name: (number, ()) for number, name in enumerate(carried) if name}
        with code.loop(self.number(low), self.number(high), self.number(step)) as turn:
            block = operation.regions[0].block
            self._set_yielded(elements, block, (turn, *carried), loops)
        return tuple(carried)

    def _set_yielded(
        self,
        elements: Mapping[str, tuple[int, Indices]],
        block: Block | None,
        arguments: Sequence[Term],
        loops: Indices,
    ) -> None:
        """Write a block, and assign elements of what it yields to variables, all at once.

        `elements` are the variables, each with the number of the value and the element's indices.
        """
        if block is None or block.last_op is None:
            return
        self.body(block, arguments, loops, yielded=())
        values = block.last_op.operands
        found = [
            (name, self.code.copy(self.element(values[number], at)))
            for name, (number, at) in elements.items()
        ]
        for name, value in found:
            self.code.set(name, value)

    # Affine maps ------------------------------------------------------------------------------

    def apply_map(
        self, affine_map: AffineMap, operands: Indices, operation: Operation | None = None
    ) -> Indices:
        """Apply an affine map; `operands` are its dimensions, then its symbols.

        If `operation` is given, the kernel fails at it if a computed divisor is not positive.
        """
        return tuple(
            affine_term(self.code, self.checks, each, operands, affine_map.num_dims, operation)
            for each in affine_map.results
        )

    # The end ----------------------------------------------------------------------------------

    def finish(self, tiles: TileCount) -> KernelText:
        """Return the kernel, with code in front that fetches its bindings and constants."""
        body = self.code.body
        if self.checks.failures:
            # The constant comes last, so that the other constants keep their numbers.
            self._constants[FailedValue()] = place = len(self._constants)
            body = self.checks.finished(body, place)
        fetches = [
            *(fetch(f"b{i}", "bindings", i) for i in self._bindings.values()),
            *(fetch(constant_name(i), "constants", i) for i in self._constants.values()),
        ]
        return KernelText(
            kernel_function([*fetches, *body]),
            tuple(self._bindings)[len(self.results) :],
            self.results,
            tuple(self._constants),
            tiles,
            self.checks.failures,
            any(name.startswith(FREE_SUMS) for name in self.code.primitives),
        )


class LinearIndices(tuple[Term, ...]):
    """Indices of which only the row-major position is used."""

    position: Term

    @staticmethod
    def at(position: Term, rank: int) -> LinearIndices:
        """Return indices of a rank that must only be passed on."""
        indices = LinearIndices((position,) * rank)
        indices.position = position
        return indices


def linalg_index(operation: Operation) -> int:
    """Return the number of the loop that a `linalg.index` reads.

    Raises OperationError if it has none.
    """
    attribute = operation.get_attr_or_prop("dim")
    value = getattr(getattr(attribute, "value", None), "data", None)
    if not isinstance(value, int):
        raise OperationError(operation, "has no dimension")
    return value


BODY_OPERATIONS = frozenset(
    (
        *("affine.apply", "arith.constant", "complex.constant", "linalg.index"),
        *("cf.assert", "tensor.dim", "tensor.extract", *CHOICES),
    )
)
"""Operations in kernel bodies besides the scalar operations of `arith` and `math`."""
