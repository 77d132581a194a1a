"""Lower loops, conditionals, branches and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from xdsl.ir import Operation, Region, SSAValue

from ...dialects.check import filled_message
from ...interpreter.function_signatures import argument_types, result_types
from ...ir.attribute_access import flag, integers, operand_groups, symbol
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.program import FRAME_SIZE, Label, Outgoing, Register
from .function_lowering import BlockGraph, FunctionLowering, lowers, lowers_branch
from .program_lowering import callee_of
from .tensor_steps import checked_part, write_part
from .values import (
    HostTensor,
    HostValue,
    NotLowered,
    flatten,
    flatten_all,
    passed_type,
    received,
    register_count,
)

Values = Sequence[SSAValue]


def registers_for(lowering: FunctionLowering, op: Operation, values: Values) -> list[Register]:
    """Return new registers for values of the types of `values`.

    Raises NotLowered for unsupported types.
    """
    return [
        lowering.builder.register()
        for value in values
        for _ in range(register_count(passed_type(value, op), op))
    ]


def taken_words(lowering: FunctionLowering, op: Operation, values: Values) -> list[IndexOrInt]:
    """Return the words of values, each with a reference.

    Raises NotLowered for unsupported types.
    """
    return words_of(op, map(lowering.acquire, values), values)


def words_of(op: Operation, contents: Iterable[HostValue], values: Values) -> list[IndexOrInt]:
    """Return the words of the contents of values.

    Raises NotLowered for values that are not passed in registers.
    """
    return flatten_all(contents, (passed_type(value, op) for value in values), op)


def bind_results(lowering: FunctionLowering, op: Operation, registers: Sequence[Register]) -> None:
    """Bind an operation's results to the registers that hold the words of all of them."""
    rest = list(registers)
    for result in op.results:
        count = register_count(passed_type(result, op), op)
        lowering.bind(result, received(rest[:count], result, op))
        del rest[:count]


# Choices --------------------------------------------------------------------------------------


def lower_inner(
    lowering: FunctionLowering,
    region: Region,
    results: Sequence[Register],
    arguments: Sequence[HostValue] = (),
) -> None:
    """Lower a region whose terminators move their operands to the registers `results`."""

    def leave(end: Operation, contents: Sequence[HostValue]) -> None:
        lowering.builder.move_all(results, words_of(end, contents, end.operands))
        if done is not None:
            lowering.builder.jump(done)

    done = lowering.builder.label() if len(region.blocks) > 1 else None
    lowering.lower_region(region, arguments, leave)
    if done is not None:
        lowering.builder.bind_label(done)


@lowers("scf.if")
def _if(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    condition = lowering.number(op.operands[0])
    results = registers_for(lowering, op, op.results)
    otherwise, end = builder.label(), builder.label()
    builder.jump_unless(condition, otherwise)
    with lowering.branch():
        lower_inner(lowering, op.regions[0], results)
        builder.jump(end)
    builder.bind_label(otherwise)
    if op.regions[1].blocks:
        with lowering.branch():
            lower_inner(lowering, op.regions[1], results)
    builder.bind_label(end)
    bind_results(lowering, op, results)


@lowers("scf.index_switch")
def _index_switch(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    chosen = builder.hold(lowering.number(op.operands[0]))
    results = registers_for(lowering, op, op.results)
    end = builder.label()
    cases = integers(op, "cases")
    for case, region in zip(cases, op.regions[1:], strict=True):
        following = builder.label()
        builder.jump_unless(builder.compare("eq", chosen, case), following)
        with lowering.branch():
            lower_inner(lowering, region, results)
            builder.jump(end)
        builder.bind_label(following)
    with lowering.branch():
        lower_inner(lowering, op.regions[0], results)
    builder.bind_label(end)
    bind_results(lowering, op, results)


@lowers("scf.execute_region", "flow.dispatch.region", "sdy.named_computation")
def _execute_region(lowering: FunctionLowering, op: Operation) -> None:
    block = op.regions[0].blocks.first
    if block is not None and len(block.args):
        raise NotLowered(op, "has arguments, which have no host code")
    results = registers_for(lowering, op, op.results)
    lower_inner(lowering, op.regions[0], results)
    bind_results(lowering, op, results)


# Loops ----------------------------------------------------------------------------------------


def _check_step(lowering: FunctionLowering, op: Operation, step: IndexOrInt) -> None:
    """Fail at run time if a step is not positive."""
    if isinstance(step, Register) or step <= 0:
        wrong = lowering.failure_label(
            op, lambda numbers: f"has step {numbers[0]}, expected a positive number", [step]
        )
        lowering.builder.jump_unless(lowering.builder.compare("sgt", step, 0), wrong)


@lowers("scf.for")
def _for(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    low, high, step = (lowering.number(each) for each in op.operands[:3])
    _check_step(lowering, op, step)
    if flag(op, "unsignedCmp"):
        lowering.fail(
            op, lambda _: "has an unsigned comparison of its bounds, which is not supported"
        )
    carried = registers_for(lowering, op, op.operands[3:])
    # The bounds may be arguments of an enclosing loop, whose registers change.
    index = builder.register()
    builder.move(index, low)
    builder.move_all(carried, taken_words(lowering, op, op.operands[3:]))
    with builder.turns(index, low, high, step):
        with lowering.branch():
            lower_inner(lowering, op.regions[0], carried, [index, *carried])
        builder.source = op
    bind_results(lowering, op, carried)


@lowers("scf.while")
def _while(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    before, after = op.regions
    carried = registers_for(lowering, op, op.operands)
    passed = registers_for(lowering, op, op.results)
    builder.move_all(carried, taken_words(lowering, op, op.operands))
    top, end = builder.label(), builder.label()

    def decide(last: Operation, contents: Sequence[HostValue]) -> None:
        condition, *rest = contents
        if isinstance(condition, int | Register):
            # An argument that is passed on unchanged keeps its register: nothing writes it before
            # the next iteration.
            for position, word in enumerate(words_of(last, rest, last.operands[1:])):
                if word in carried:
                    passed[position] = builder.hold(word)
                else:
                    builder.move(passed[position], word)
            builder.jump_unless(condition, end)
        if proceed is not None:
            builder.jump(proceed)

    def repeat(last: Operation, contents: Sequence[HostValue]) -> None:
        builder.move_all(carried, words_of(last, contents, last.operands))
        builder.jump(top)

    proceed: Label | None = builder.label() if len(before.blocks) > 1 else None
    with lowering.branch():
        builder.bind_label(top)
        lowering.lower_region(before, carried, decide)
    if proceed is not None:
        builder.bind_label(proceed)
    with lowering.branch():
        lowering.lower_region(after, passed, repeat)
    builder.bind_label(end)
    bind_results(lowering, op, passed)


@lowers("scf.parallel")
def _parallel(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    lows, highs, steps, starts = operand_groups(op, op.operands)
    ranges = [
        tuple(lowering.number(each) for each in bounds)
        for bounds in zip(lows, highs, steps, strict=True)
    ]
    for _, _, step in ranges:
        _check_step(lowering, op, step)
    values = registers_for(lowering, op, starts)
    builder.move_all(values, taken_words(lowering, op, starts))

    def reduce(last: Operation, contents: Sequence[HostValue]) -> None:
        first = 0
        for region, content, operand in zip(last.regions, contents, last.operands, strict=False):
            words = flatten(content, operand.type, last)
            own = values[first : first + len(words)]
            first += len(words)
            lower_inner(lowering, region, own, [*own, *words])

    with lowering.branch(), ExitStack() as stack:
        indices = [
            builder.hold(stack.enter_context(builder.loop(low, high, step)))
            for low, high, step in ranges
        ]
        lowering.lower_region(op.regions[0], indices, reduce)
    bind_results(lowering, op, values)


INSERTION = "tensor.parallel_insert_slice"


@lowers("scf.forall")
def _forall(lowering: FunctionLowering, op: Operation) -> None:
    """Lower `scf.forall`: iterations read the outputs' old contents, and insert into copies."""
    builder = lowering.builder
    lows, highs, steps, outputs = operand_groups(op, op.operands)
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    bounds = [
        lowering.mixed(integers(op, name), dynamic)
        for name, dynamic in zip(names, (lows, highs, steps), strict=True)
    ]
    ranges = list(zip(*bounds, strict=True))
    for _, _, step in ranges:
        _check_step(lowering, op, step)
    arguments = op.regions[0].blocks[0].args[len(ranges) :]
    results: list[HostTensor] = []
    shared: list[IndexOrInt] = []
    for output, argument in zip(outputs, arguments, strict=True):
        before = lowering.tensor(output)
        is_read = list(outputs).count(output) > 1 or any(
            use.operation.name != INSERTION or use.index != 1 for use in argument.uses
        )
        results.append(lowering.copy(before) if is_read else lowering.writable_tensor(output))
        # Iterations borrow the output.
        kept = HostTensor(before.address, None, before.shape, before.dtype)
        shared += flatten(kept, output.type, op)

    def insert(last: Operation, contents: Sequence[HostValue]) -> None:
        inner = last.regions[0].blocks[0].ops if last.regions else ()
        for insertion in inner:
            position = next(
                (i for i, each in enumerate(arguments) if each is insertion.operands[1]), None
            )
            if position is None or not integers(insertion, "operandSegmentSizes"):
                raise NotLowered(insertion, "does not insert into an output of its loop")
            target = results[position]
            part = checked_part(lowering, insertion, target.shape, 2)
            write_part(lowering, insertion, part, target)

    with lowering.branch(), ExitStack() as stack:
        indices = [builder.hold(stack.enter_context(builder.loop(*each))) for each in ranges]
        lowering.lower_region(op.regions[0], [*indices, *shared], insert)
    for result, content in zip(op.results, results, strict=True):
        lowering.bind(result, content)


# Branches and calls ---------------------------------------------------------------------------


@lowers_branch("cf.br")
def _br(lowering: FunctionLowering, op: Operation, graph: BlockGraph) -> None:
    graph.go(op, 0)


@lowers_branch("cf.cond_br")
def _cond_br(lowering: FunctionLowering, op: Operation, graph: BlockGraph) -> None:
    otherwise = lowering.builder.label()
    lowering.builder.jump_unless(lowering.number(op.operands[0]), otherwise)
    graph.go(op, 0)
    lowering.builder.bind_label(otherwise)
    graph.go(op, 1)


@lowers_branch("cf.switch")
def _switch(lowering: FunctionLowering, op: Operation, graph: BlockGraph) -> None:
    builder = lowering.builder
    chosen = builder.hold(lowering.number(op.operands[0]))
    for number, case in enumerate(integers(op, "case_values"), start=1):
        following = builder.label()
        builder.jump_unless(builder.compare("eq", chosen, case), following)
        graph.go(op, number)
        builder.bind_label(following)
    graph.go(op, 0)


@lowers("cf.assert", "check.holds")
def _assert(lowering: FunctionLowering, op: Operation) -> None:
    condition, *values = [lowering.number(operand) for operand in op.operands]
    wrong = lowering.failure_label(
        op, lambda numbers: f"does not hold: {filled_message(op, numbers)}", values
    )
    lowering.builder.jump_unless(condition, wrong)


@lowers("func.call", "util.call")
def _call(lowering: FunctionLowering, op: Operation) -> None:
    name = symbol(op, "callee")
    callee = callee_of(lowering.program, op, name)
    given, taken = op.operand_types, callee.regions[0].blocks[0].arg_types
    if tuple(given) != tuple(taken):
        given_text, taken_text = (", ".join(map(str, each)) for each in (given, taken))
        raise NotLowered(op, f"passes ({given_text}) to @{name}, which takes ({taken_text})")
    shown = [passed_type(each, op) for each in (*op.operands, *op.results)]
    if shown != [*argument_types(callee), *result_types(callee)]:
        raise NotLowered(op, f"passes buffer views of other tensors than @{name} takes and returns")
    number = lowering.program.function(callee, name)
    _emit_call(lowering, op, op.operands, lambda: lowering.builder.emit("call", number, FRAME_SIZE))


@lowers("func.constant")
def _function(lowering: FunctionLowering, op: Operation) -> None:
    """Bind a function's number. Raises NotLowered for a function without a body."""
    name = symbol(op, "value")
    callee = callee_of(lowering.program, op, name)
    lowering.bind(op.results[0], lowering.program.function(callee, name))


@lowers("func.call_indirect")
def _call_indirect(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    function = builder.hold(lowering.number(op.operands[0]))
    arguments = op.operands[1:]
    if any(passed_type(each, op) != each.type for each in (*arguments, *op.results)):
        raise NotLowered(op, "passes buffer views to a function that is only known at run time")
    _emit_call(lowering, op, arguments, lambda: builder.emit("call_register", function, FRAME_SIZE))


def _emit_call(
    lowering: FunctionLowering, op: Operation, arguments: Values, call: Callable[[], None]
) -> None:
    builder = lowering.builder
    words = taken_words(lowering, op, arguments)
    count = sum(register_count(passed_type(each, op), op) for each in op.results)
    for position, word in enumerate(words):
        builder.move(Outgoing(count + position), word)
    call()
    results = registers_for(lowering, op, op.results)
    for position, register in enumerate(results):
        builder.move(register, Outgoing(position))
    bind_results(lowering, op, results)
