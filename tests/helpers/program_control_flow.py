"""Loops, branches and calls that random programs are made of."""

from __future__ import annotations

from hypothesis import strategies as st
from program_table import operation, operations
from program_writer import Value, Writer


@operation
def loop(w: Writer) -> None:
    """A loop that carries a value, with a few operations inside."""
    if w.nested:
        return
    value = w.pick(2)
    names = {name: w.fresh() for name in ("low", "high", "step")}
    for name, number in (("low", 0), ("high", 2), ("step", 1)):
        w.emit(f"{names[name]} = arith.constant {number} : index")
    result = Value(w.fresh(), value.shape)
    carried = Value(w.fresh(), value.shape)
    w.emit(
        f"{result.name} = scf.for {w.fresh()} = {names['low']} to {names['high']} step "
        f"{names['step']} iter_args({carried.name} = {value.name}) -> ({value.type}) {{"
    )
    outer, w.pool, w.nested = w.pool, [*w.pool, carried], True
    inside = w.annotate(carried)
    w.pool.append(inside)
    for _ in range(w.data.draw(st.integers(0, 2))):
        w.draw(operations())(w)
    same = [v for v in w.pool if v.shape == value.shape and v.element == "f64"]
    total = Value(w.fresh(), value.shape)
    w.emit(f"{total.name} = arith.addf {inside.name}, {same[-1].name} : {value.type}")
    total = w.annotate(total)
    w.emit(f"scf.yield {total.name} : {value.type}")
    w.emit("}")
    w.pool, w.nested = outer, False
    w.done(result)


@operation
def branch(w: Writer) -> None:
    """A choice by a condition that all processes agree on."""
    if w.nested:
        return
    value = w.pick(w.draw([1, 2, 2, 3]))
    condition = w.fresh()
    w.emit(f"{condition} = arith.constant {w.draw(['true', 'false'])}")
    result = Value(w.fresh(), value.shape)
    w.emit(f"{result.name} = scf.if {condition} -> ({value.type}) {{")
    outer, w.pool, w.nested = w.pool, list(w.pool), True
    first = Value(w.fresh(), value.shape)
    w.emit(f"{first.name} = math.absf {value.name} : {value.type}")
    first = w.annotate(first)
    w.emit(f"scf.yield {first.name} : {value.type}")
    w.emit("} else {")
    second = w.annotate(value)
    w.emit(f"scf.yield {second.name} : {value.type}")
    w.emit("}")
    w.pool, w.nested = outer, False
    w.done(result)


@operation
def call(w: Writer) -> None:
    value = w.pick(2)
    if value.shape != (4, 6) or w.nested:
        return
    result = Value(w.fresh(), value.shape)
    w.emit(f"{result.name} = func.call @helper({value.name}) : ({value.type}) -> {value.type}")
    w.done(result)


@operation
def while_(w: Writer) -> None:
    """A loop that doubles a value while a counter is small."""
    if w.nested:
        return
    value = w.pick(2)
    zero, one, two = w.fresh(), w.fresh(), w.fresh()
    for name, number in ((zero, 0), (one, 1), (two, 2)):
        w.emit(f"{name} = arith.constant {number} : index")
    carried = Value(w.fresh(), value.shape)
    pair = w.fresh()
    w.emit(
        f"{pair}:2 = scf.while (%n = {zero}, {carried.name} = {value.name}) : (index, "
        f"{value.type}) -> (index, {value.type}) {{"
    )
    inside = w.annotate(carried)
    w.emit(f"  %p = arith.cmpi slt, %n, {two} : index")
    w.emit(f"  scf.condition(%p) %n, {inside.name} : index, {value.type}")
    w.emit("} do {")
    w.emit(f"^bb0(%m: index, %w: {value.type}):")
    w.emit(f"  %q = arith.addi %m, {one} : index")
    total = Value(w.fresh(), value.shape)
    w.emit(f"{total.name} = arith.addf %w, %w : {value.type}")
    total = w.annotate(total)
    w.emit(f"  scf.yield %q, {total.name} : index, {value.type}")
    w.emit("}")
    w.done(Value(f"{pair}#1", value.shape))
