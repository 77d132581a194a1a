"""The values of a function while it is lowered: their location, ownership and sizes.

Each tensor value owns a reference to the block that contains it. A step that passes a value on
moves the reference if it is the last reader, and retains another one if it is not. A value whose
last reader did not take its reference is released after that step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ...dialects.result_sizes import Sizes, result_size
from ...interpreter.frames import check_result, result_check
from ...ir.diagnostics import OperationError
from ...ir.index_lists import mixed_list
from ...ir.locations import maker_of
from ...runtime.abi.arrays import Array, dynamic_sizes
from ...runtime.abi.values import integer_width
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.entry import word_of
from ...runtime.host.program import HostFunction, Label, Register, RegisterValues
from ...runtime.host.size_rules import SizeRules
from ..kernels.elements.index_ranges import is_proven_slice
from ..kernels.elements.static_values import constant_attribute, shape_of
from .program_lowering import ProgramLowering
from .shape_queries import ShapeQuery, list_length, reads_number
from .size_rules import conditions, fixed_sizes, given_sizes
from .values import (
    Counted,
    HostObject,
    HostTensor,
    HostValue,
    NotLowered,
    Shape,
    dynamic_words,
    element_dtype,
    filled_words,
    is_wide_number,
    type_shape,
)


class ValueLowering(Sizes[Register]):
    """The known values of a function at the step that is being lowered.

    Methods that read a value raise NotLowered if host code does not have it or its type.
    """

    def __init__(self, program: ProgramLowering, function: HostFunction) -> None:
        self.program = program
        self.builder = Builder(function)
        self.values: dict[SSAValue, HostValue] = {}
        self.owned: set[SSAValue] = set()
        """Values whose references end in the region that is being lowered."""
        self.dying: frozenset[SSAValue] = frozenset()
        """Values that nothing reads after the step that is being lowered."""
        self.lent: set[SSAValue] = set()
        """Values without a reference of their own that their last reader may overwrite."""
        self.started: dict[Operation, int] = {}
        """The numbers of exchanges that were started and not yet awaited."""
        self._noted: dict[SSAValue, Shape] = {}

    # Values -----------------------------------------------------------------------------------

    def value(self, value: SSAValue) -> HostValue:
        """Return a computed value or a constant. Raises NotLowered if it is neither."""
        found = self.values.get(value)
        if found is not None:
            return found
        owner = value.owner
        if isinstance(owner, Operation) and constant_attribute(value) is not None:
            return self.constant(owner)
        raise NotLowered(maker_of(value), "reads a value that host code does not have")

    def constant(self, operation: Operation) -> HostValue:
        """Return the value of a constant operation."""
        result = operation.results[0]
        if is_wide_number(result.type):
            # Kernels have the number in their code.
            return HostObject(self.program.array(operation)[0])
        dtype = element_dtype(result.type, operation)
        array, address = self.program.array(operation)
        if type_shape(result.type, operation) is None:
            return word_of(array)
        return HostTensor(self.builder.constant(address), None, array.shape, dtype)

    def number(self, value: SSAValue) -> IndexOrInt:
        """Return a number. Raises NotLowered if the value is not a number."""
        found = self.value(value)
        if isinstance(found, int | Register):
            return found
        raise NotLowered(maker_of(value), "is used as a number, but has no number")

    def tensor(self, value: SSAValue) -> HostTensor:
        """Return a tensor in memory. Raises NotLowered if the value is none."""
        found = self.value(value)
        if isinstance(found, HostTensor):
            return found
        raise NotLowered(maker_of(value), "is used as a tensor, but has no tensor")

    def bind(self, value: SSAValue, content: HostValue) -> None:
        """Bind a value to its content, and make it own the reference to the content's block."""
        if isinstance(content, HostTensor):
            content = self._as_typed(value, content)
        self.values[value] = content
        if isinstance(content, Counted) and content.block is not None:
            self.owned.add(value)

    def acquire(self, value: SSAValue) -> HostValue:
        """Return a value with a reference that the caller owns.

        It is the value's own if this is the last reader, otherwise another one.
        """
        found = self.value(value)
        if isinstance(found, Counted) and found.block is not None:
            if value in self.owned and value in self.dying:
                self.owned.discard(value)
            else:
                self.builder.emit("retain", found.block)
        return found

    def bind_alias(self, op: Operation, content: HostValue) -> None:
        """Bind the result of an operation to content in the block of its first operand."""
        self.acquire(op.operands[0])
        self.bind(op.results[0], content)

    def may_overwrite(self, value: SSAValue) -> bool:
        """Return whether the current step is the last reader; other values may share its block."""
        return value in self.owned and value in self.dying

    def release(self, value: SSAValue) -> None:
        """Release a value's reference if it owns one."""
        found = self.values.get(value)
        if value in self.owned and isinstance(found, Counted) and found.block is not None:
            self.owned.discard(value)
            self.builder.emit("release", found.block)

    def release_all(self, but: frozenset[SSAValue] = frozenset()) -> None:
        """Release all references that the current region owns, except those of `but`."""
        for value in sorted(self.owned - but, key=lambda each: _order(self.values[each])):
            self.release(value)

    def forget(self, values: Sequence[SSAValue]) -> None:
        """Forget values that will be computed again."""
        for value in values:
            self.values.pop(value, None)
            self._noted.pop(value, None)

    def new_tensor(self, op: Operation, shape: Shape, value: SSAValue) -> HostTensor:
        """Allocate an uninitialised tensor for a value."""
        return self.allocate(shape, element_dtype(value.type, op))

    def allocate(self, shape: Shape, dtype: np.dtype[Any]) -> HostTensor:
        """Allocate an uninitialised tensor that is not a value of the program."""
        size = self.builder.size((*shape, dtype.itemsize))
        block = self.builder.compute("allocate", self.builder.hold(size))
        return HostTensor(block, block, shape, dtype)

    def writable_tensor(self, value: SSAValue) -> HostTensor:
        """Return a writable tensor with the contents of a value: with a reference, or lent."""
        old = self.tensor(value)
        if value in self.lent and value in self.dying:
            return old
        if not self.may_overwrite(value) or old.block is None:
            return self.copy(old)
        if old.is_whole and self.builder.is_unshared(old.block):
            self.owned.discard(value)
            return old
        size = self.builder.hold(old.bytes(self.builder))
        block = self.builder.compute("own", old.block, old.address, size)
        return HostTensor(block, block, old.shape, old.dtype)

    def move_into(self, value: SSAValue, block: Register) -> bool:
        """Place a value that dies here into a block that nothing has accessed, if it can be moved.

        Returns whether it was. A size that is not known is not moved: its block may be larger.
        """
        found = self.values.get(value)
        if not isinstance(found, HostTensor) or found.block is None:
            return False
        if dynamic_words(found.shape):
            return False
        if not self.builder.merge(found.block, block, found.bytes(self.builder)):
            return False
        self.owned.discard(value)
        self.values[value] = HostTensor(block, None, found.shape, found.dtype)
        return True

    def copy(self, old: HostTensor) -> HostTensor:
        """Copy a tensor to new memory."""
        block = self.builder.copied(old.address, old.bytes(self.builder))
        return HostTensor(block, block, old.shape, old.dtype)

    def scalar_register(self) -> Register:
        """Return a register to which a kernel writes an element; its other bytes are 0."""
        register = self.builder.register()
        self.builder.move(register, 0)
        return register

    def stored_scalar(self, register: Register, value_type: Attribute, op: Operation) -> Register:
        """Return an element that a kernel wrote to a register; integers are extended by sign."""
        if integer_width(value_type) is None:
            return register
        address = self.builder.compute("address", register)
        return self.builder.load_element(address, element_dtype(value_type, op))

    # Sizes ------------------------------------------------------------------------------------

    def shape(self, value: SSAValue) -> Shape:
        """Return the shape of a tensor, which may be fused into a kernel and have no memory.

        Raises ValueError for a block argument whose shape is not known.
        """
        content = self.values.get(value)
        found = content.shape if isinstance(content, HostTensor) else self._noted.get(value)
        if found is not None:
            return found
        static = shape_of(value)
        if all(size >= 0 for size in static):
            return static
        if not isinstance(value, OpResult):
            raise ValueError("an argument has no shape yet")
        return self.result_shape(value)

    def result_shape(self, result: OpResult) -> Shape:
        """Return the shape of a result: static sizes from its type, others from the operands."""
        sizes: list[IndexOrInt] = []
        for index, static in enumerate(shape_of(result)):
            size = static if static >= 0 else result_size(self, result, index)
            if size is None:
                return self._ask(result.op)[result.index]
            sizes.append(size)
        return tuple(sizes)

    def size(self, value: SSAValue, index: int) -> IndexOrInt:
        return self.shape(value)[index]

    def given(self, value: SSAValue) -> IndexOrInt:
        return self.number(value)

    def arithmetic(self, value: OpResult) -> Builder:
        return self.builder

    def _as_typed(self, value: SSAValue, content: HostTensor) -> HostTensor:
        """Return a tensor with the static sizes of its value's type; fail if they differ."""
        expected = result_check(value.type)
        if expected is None or len(expected.shape) != len(content.shape):
            return content
        pairs = list(zip(content.shape, expected.shape, strict=True))
        if all(want < 0 or size == want for size, want in pairs):
            return content
        op, dtype = maker_of(value), content.dtype
        index = value.index if isinstance(value, OpResult) else 0

        def check(numbers: RegisterValues) -> None:
            check_result(op, index, expected, tuple(numbers), dtype)

        self.check(op, content.shape, check, fixed_sizes(expected.shape))
        shape = tuple(size if want < 0 else want for size, want in pairs)
        return HostTensor(content.address, content.block, shape, dtype)

    def infer_shapes(self, op: Operation) -> None:
        """Check the operand shapes of an operation, and record the shapes of its results."""
        is_slice = op.name == "tensor.extract_slice" and len(op.operands) > 1
        if not (is_slice and is_proven_slice(op)):
            query = self.query(op)
            rules = query.rules() if dynamic_words(query.words) else None
            self.check(op, query.words, query.check, rules)
        for result in op.results:
            if isinstance(result.type, TensorType):
                self._noted[result] = self.result_shape(result)

    def query(self, op: Operation) -> ShapeQuery:
        """Return the words that the shapes of an operation depend on.

        Raises NotLowered if a list of sizes is not known.
        """
        query = ShapeQuery(op, self._constant_array)
        operands = list(dict.fromkeys(op.operands))
        for operand in operands:
            if isinstance(operand.type, TensorType):
                query.add_shape(operand, self.shape(operand))
        for position, operand in enumerate(op.operands):
            if constant_attribute(operand) is not None:
                continue
            length = list_length(op, position)
            if length is not None:
                query.add_list(operand, self._elements(operand, length))
            elif reads_number(operand):
                query.add_number(operand, self.number(operand))
        return query

    def _constant_array(self, value: SSAValue) -> Array:
        owner = value.owner
        if not isinstance(owner, Operation) or constant_attribute(value) is None:
            raise NotLowered(maker_of(value), "is used as a list of sizes, but is not known")
        return self.program.array(owner)[0]

    def _elements(self, value: SSAValue, count: int) -> list[IndexOrInt]:
        tensor, builder = self.tensor(value), self.builder
        addresses = [builder.add(tensor.address, i * tensor.dtype.itemsize) for i in range(count)]
        return [builder.load_element(builder.hold(each), tensor.dtype) for each in addresses]

    def _ask(self, op: Operation) -> list[Shape]:
        """Return result shapes that only the interpreter can compute, by a call of Python."""
        query = self.query(op)
        shapes = [type_shape(result.type, op) or () for result in op.results]
        if not dynamic_words(query.words):
            return list(query.result_shapes(filled_words(query.words, ())))
        registers = [self.builder.register() for shape in shapes for size in shape if size < 0]

        def ask(machine: object, numbers: RegisterValues) -> RegisterValues:
            found = query.result_shapes(filled_words(query.words, numbers))
            pairs = zip(found, shapes, strict=True)
            return [size for shape, static in pairs for size in dynamic_sizes(shape, static)]

        number = self.program.python(f"{op.name} sizes", ask)
        self.builder.emit("python", number, tuple(registers), dynamic_words(query.words))
        rest = iter(registers)
        return [mixed_list(shape, rest) for shape in shapes]

    def size_failure_label(self, query: ShapeQuery) -> Label:
        """Return a label whose code fails with the error that a query finds in sizes."""
        words = tuple(query.words)
        number = self.program.failure(lambda numbers: query.failure(filled_words(words, numbers)))
        return self.builder.later(lambda: self.builder.emit("fail", number, dynamic_words(words)))

    # Errors -----------------------------------------------------------------------------------

    def fail_with(self, error: OperationError) -> None:
        """Emit a failure with an error that is known already."""
        self.builder.emit("fail", self.program.failure(lambda numbers: error), ())

    def fail(
        self,
        op: Operation,
        message: Callable[[RegisterValues], str],
        values: Sequence[IndexOrInt] = (),
    ) -> None:
        """Emit a failure whose message is made from the values."""
        number = self.program.failure(lambda numbers: OperationError(op, message(numbers)))
        self.builder.emit("fail", number, self.builder.hold_all(values))

    def failure_label(
        self,
        op: Operation,
        message: Callable[[RegisterValues], str],
        values: Sequence[IndexOrInt] = (),
    ) -> Label:
        """Return a label whose code fails with an error."""
        return self.builder.later(lambda: self.fail(op, message, values))

    def check(
        self,
        op: Operation,
        values: Sequence[IndexOrInt],
        check: Callable[[RegisterValues], None],
        rules: SizeRules | None = None,
    ) -> None:
        """Check numbers: at compile time if all are known, otherwise each time they change.

        `check` gets all of them and raises OperationError. Numbers that fulfil `rules` pass: host
        code tests these, and calls Python only if they do not hold.
        """
        words, dynamic = tuple(values), dynamic_words(values)
        if not dynamic:
            try:
                check(filled_words(words, ()))
            except OperationError as error:
                self.fail_with(error)
            return

        def check_filled(numbers: RegisterValues) -> None:
            check(filled_words(words, numbers))

        own = None if rules is None else given_sizes(rules, words)
        fits = None if own is None else conditions(self.builder, own, dynamic)
        if fits == []:
            return
        number = self.program.check(check_filled, own)
        if fits is None:
            self.builder.emit("check", number, dynamic)
            return
        right = self.builder.label()
        self.builder.jump_if(self.builder.all_of(fits), right)
        with self.builder.scope():
            self.builder.emit("check", number, dynamic)
        self.builder.bind_label(right)


def _order(value: HostValue) -> int:
    return value.address.number if isinstance(value, Counted) else 0
