"""Write sequential loops that set elements of tensors, such as scatters (`loop_forms`).

The carried tensors are updated in place, and scalars that a loop carries are variables. One thread
runs all iterations in order.

A kernel cannot be interrupted. A loop that may take long returns after some turns, and is called
again until it is done; what it carries is in the memory of its results meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....ir.locations import made_by
from ....ir.value_flow import initial_values, passed_values
from ..code.ast_builder import Term
from ..elements.index_ranges import is_scalar_code
from ..elements.kernel_text import RESUMES, RUNNING, TURN, TileCount
from ..elements.static_values import constant_attribute, shape_of
from ..elements.writer import Indices, KernelWriter
from .in_place import in_place_versions
from .loop_forms import carried_tensors, tensor_updates, turns_of_section
from .slice_loops import is_only_written, updates_slices, write_elements, write_slices


def write_element_loop(writer: KernelWriter, operation: Operation) -> TileCount:
    """Write the loop: copy initial values unless they are in place, then run the iterations.

    Raises OperationError for an operation that kernels do not support.
    """
    writer.checks.in_order = True
    section = turns_of_section(operation)
    if section is not None:
        writer.add_results(RUNNING, TURN)
    with writer.code.loop("first", "last"):
        loop = _Loop(writer, operation)
        if section is None:
            loop.begin()
            _write_all(loop)
        else:
            with writer.code.when(writer.constant(RESUMES)):
                loop.resume()
            with writer.code.otherwise():
                loop.begin()
                writer.store(TURN, 0, 0 if operation.name == "scf.while" else loop.bounds[0])
            write = _write_while if operation.name == "scf.while" else _write_section
            is_running = write(loop, section)
            writer.store(RUNNING, 0, writer.code.call("select_i64", is_running, 1, 0))
        loop.end()
    return TileCount()


@dataclass(frozen=True)
class _Variable:
    """A scalar that a loop carries, or an element of a small tensor.

    - `name`: the variable that holds it;
    - `index`: its position, or its tensor's, among the carried values.
    """

    name: str
    index: int
    indices: tuple[int, ...]


class _Loop:
    """A loop that is being written: its variables, and the tensors that it updates in place."""

    def __init__(self, writer: KernelWriter, operation: Operation) -> None:
        self.writer, self.code, self.operation = writer, writer.code, operation
        self._initial = initial_values(operation)
        self._slices: Sequence[tuple[SSAValue, SSAValue]] = ()
        self._few_elements: Sequence[tuple[SSAValue, SSAValue]] = ()
        self._copied = [result for _, result in carried_tensors(operation)]
        versions = in_place_versions(operation)
        if versions is None:
            self._find_updates()
        else:
            for value, number in versions.items():
                writer.updated_in_place[value] = operation.results[number]
        self.variables = [
            _Variable(self.code.fresh(), index, indices)
            for index, result in enumerate(operation.results)
            if result not in self._copied
            for indices in product(*map(range, shape_of(result)))
        ]

    def _find_updates(self) -> None:
        """Find the tensors that are updated slice by slice, or are variables.

        Elements of tensors that an iteration computes are written where they are read.
        """
        block, tensors = self.operation.regions[0].block, carried_tensors(self.operation)
        small = set[SSAValue]()
        if self.operation.name == "scf.while":
            blocks = (region.block for region in self.operation.regions)
            small.update(each for one in blocks for each in one.args)
            self._copied = []
        elif updates_slices(block, updates := tensor_updates(self.operation)):
            self._slices = updates
            self.writer.updated_in_place.update(tensors)
        else:
            self._few_elements = [each for each in updates if is_only_written(*each)]
            tables = {tensor for tensor, _ in self._few_elements}
            small.update(tensor for tensor, _ in tensors if tensor not in tables)
            self._copied = [result for tensor, result in tensors if tensor in tables]
            self.writer.updated_in_place.update(each for each in tensors if each[0] in tables)
        self._write_fused = self.writer.write_fused
        self.writer.write_fused = self._element
        is_outer = self.writer.is_fused
        self.writer.is_fused = lambda value: (
            is_outer(value)
            or value in small
            or (isinstance(value.owner, Operation) and is_scalar_code(value.owner, self.operation))
        )

    def _element(self, writer: KernelWriter, value: SSAValue, indices: Indices) -> Term:
        """Return an element of a tensor that is kept in variables, or computed where it is read.

        Those that are chosen at run time are computed before: they are few.
        """
        code, name = self.code, f"select_{writer.element_of(value).name}"
        if isinstance(value, BlockArgument):
            shape = shape_of(value)
            place, found = code.linear(indices, shape), ""
            for number, at in enumerate(product(*map(range, shape))):
                element, is_here = writer.element(value, at), code.compare("eq", place, number)
                found = code.call(name, is_here, element, found) if number else element
            return found
        insert = made_by(value, "tensor.insert")
        if insert is None or value in writer.updated_in_place:
            return self._write_fused(writer, value, indices)
        inserted, before, *position = insert.operands
        is_here: Term = 1
        for index, at in zip(indices, position, strict=True):
            is_here = code.both(is_here, code.compare("eq", index, writer.number(at)))
        new, old = writer.scalar(inserted), writer.element(before, indices)
        return new if is_here == 1 else old if is_here == 0 else code.call(name, is_here, new, old)

    @property
    def bounds(self) -> tuple[Term, ...]:
        """The bounds and the step of an `scf.for`."""
        return tuple(map(self.writer.number, self.operation.operands[:3]))

    # What the loop carries --------------------------------------------------------------------

    def begin(self) -> None:
        """Set everything that the loop carries to its initial value."""
        for each in self.variables:
            initial = self.writer.element(self._initial[each.index], each.indices)
            self.code.set(each.name, initial)
        for initial, result in zip(self._initial, self.operation.results, strict=True):
            if result in self._copied:
                _copy(self.writer, initial, result)

    def resume(self) -> None:
        """Set the variables to what `end` has stored."""
        for each in self.variables:
            result, position = self._place(each)
            self.code.set(each.name, self.writer.load(result, position))

    def end(self) -> None:
        """Store the variables to the results."""
        for each in self.variables:
            self.writer.store(*self._place(each), each.name)

    def _place(self, each: _Variable) -> tuple[SSAValue, Term]:
        result = self.operation.results[each.index]
        return result, self.code.linear(each.indices, shape_of(result))

    # A turn -----------------------------------------------------------------------------------

    def write_block(
        self, block: Block, names: Sequence[Term], arguments: Sequence[Term] = ()
    ) -> list[Term]:
        """Write a block of the loop; return what it passes on for each variable.

        `names` holds the variables before the block, `arguments` what else the block takes.
        """
        code, writer = self.code, self.writer
        for each, name in zip(self.variables, names, strict=True):
            carried = block.args[len(arguments) + each.index]
            is_tensor = isinstance(carried.type, TensorType)
            code.remember((carried, each.indices) if is_tensor else carried, name)
        writer.body(block, arguments, yielded=())
        passed = passed_values(block)
        return [code.copy(writer.element(passed[i.index], i.indices)) for i in self.variables]

    def write_turn(self, turn: Term) -> None:
        """Write a turn of an `scf.for`."""
        names = [each.name for each in self.variables]
        following = self.write_block(self.operation.regions[0].block, names, (turn,))
        if self._slices:
            write_slices(self.writer, self._slices)
        write_elements(self.writer, self._few_elements)
        self.set_variables(following)

    def set_variables(self, values: Sequence[Term]) -> None:
        """Assign the variables."""
        for each, value in zip(self.variables, values, strict=True):
            self.code.set(each.name, value)


def _write_all(loop: _Loop) -> None:
    """Write an `scf.for` that runs at once."""
    with loop.code.loop(*loop.bounds) as turn:
        loop.write_turn(turn)


def _write_section(loop: _Loop, section: int) -> Term:
    """Write the turns of an `scf.for` up to the next pause; return whether some are left.

    The turns are counted, since the index after the last one may overflow.
    """
    code, (_, high, step) = loop.code, loop.bounds
    first = code.copy(loop.writer.load(TURN, 0))
    left = code.call("subi_i64", high, first)
    if step != 1:
        left = code.add(code.call("divui_i64", code.subtract(left, 1), step), 1)
    left = code.call("select_i64", code.call("cmpislt_i64", first, high), left, 0)
    turns = code.call("minui_i64", left, section)
    with code.loop(0, turns) as number:
        loop.write_turn(code.add(first, code.multiply(number, step)))
    loop.writer.store(TURN, 0, code.add(first, code.multiply(turns, step)))
    return code.call("cmpiult_i64", turns, left)


def _write_while(loop: _Loop, section: int) -> Term:
    """Write the turns of an `scf.while` up to the next pause; return whether some are left."""
    code = loop.code
    before, after = (region.block for region in loop.operation.regions)
    assert before.last_op is not None
    count, holds = code.copy(0), code.copy(1)
    is_open = code.copy(1)
    with code.repeat(is_open):
        passed = loop.write_block(before, [each.name for each in loop.variables])
        proceed = loop.writer.scalar(before.last_op.operands[0])
        with code.when(proceed):
            loop.set_variables(loop.write_block(after, passed))
            code.set(count, code.add(count, 1))
            code.set(is_open, code.call("cmpislt_i64", count, section))
        with code.otherwise():
            loop.set_variables(passed)
            code.set(is_open, 0)
            code.set(holds, 0)
    return code.call("cmpine_i64", holds, 0)


def _copy(writer: KernelWriter, initial: SSAValue, result: SSAValue) -> None:
    code, shape = writer.code, writer.shape(result)
    if writer.is_fused(initial) or constant_attribute(initial) is not None:
        with code.loops(shape) as indices:
            element = writer.element(initial, indices)
            writer.store(result, code.linear(indices, shape), element)
        return
    is_elsewhere = code.compare("ne", writer.address(initial), writer.address(result))
    with code.when(is_elsewhere), code.loop(0, code.product(shape)) as position:
        writer.store(result, position, writer.load(initial, position))
