"""Calls, branches, loops and memory that pass on what lies: one writer each."""

from __future__ import annotations

import numpy as np
from lying_writer import LyingWriter, type_text


def branch(w: LyingWriter) -> None:
    value = w.pick()
    static = w.loosened(value.shape)
    open_shape = tuple(-1 for _ in static)
    condition = f"%a{len(w.inputs)}"
    w.parameters.append((condition, "i1"))
    w.inputs.append(np.asarray(w.chance(0.5)))
    opened = w.cast(value, open_shape)
    new = w.result(value.shape, static=static)
    inner, other = w.fresh(), w.fresh()
    w.emit(f"{new.name} = scf.if {condition} -> ({new.type}) {{")
    w.emit(f"  {inner} = tensor.cast {opened.name} : {opened.type} to {new.type}")
    w.emit(f"  scf.yield {inner} : {new.type}\n  }} else {{")
    wrong = type_text(w.loosened(value.shape), "f32")
    w.emit(f"  {other}x = tensor.cast {opened.name} : {opened.type} to {wrong}")
    w.emit(f"  {other}y = tensor.cast {other}x : {wrong} to {opened.type}")
    w.emit(f"  {other} = tensor.cast {other}y : {opened.type} to {new.type}")
    w.emit(f"  scf.yield {other} : {new.type}\n  }}")
    w.keep(new)


def loop(w: LyingWriter) -> None:
    """A tensor that a loop carries, with a type that may not be true of each turn."""
    value = w.cast(w.pick(1), (-1,))
    low, high, step = w.number(0), w.number(2), w.fresh()
    w.emit(f"{step} = arith.constant 1 : index")
    start = w.cast(value, (-1,) if w.chance(0.6) else w.loosened(value.shape))
    other = w.cast(w.of_shape(value.shape), (-1,))
    new = w.result(value.shape, static=start.static)
    carried, opened, made, closed = (f"%l{w.count}_{i}" for i in range(4))
    w.emit(
        f"{new.name} = scf.for %i{w.count} = {low} to {high} step {step} iter_args({carried} ="
        f" {start.name}) -> ({new.type}) {{"
    )
    w.emit(f"  {opened} = tensor.cast {carried} : {new.type} to tensor<?xf32>")
    if w.lies():
        w.emit(
            f"  {made} = tensor.concat dim(0) {opened}, {other.name} : (tensor<?xf32>,"
            " tensor<?xf32>) -> tensor<?xf32>"
        )
    else:
        w.emit(f"  {made} = arith.addf {opened}, {other.name} : tensor<?xf32>")
    w.emit(f"  {closed} = tensor.cast {made} : tensor<?xf32> to {new.type}")
    w.emit(f"  scf.yield {closed} : {new.type}\n  }}")
    w.keep(new)


def call(w: LyingWriter) -> None:
    value = w.pick()
    given, made = w.loosened(value.shape), w.loosened(value.shape)
    name = f"@f{len(w.functions)}"
    types = type_text(given, "f32"), type_text(made, "f32"), type_text((-1,) * len(given), "f32")
    w.functions.append(
        f"func.func private {name}(%x: {types[0]}) -> {types[1]} {{\n"
        f"  %o = tensor.cast %x : {types[0]} to {types[2]}\n"
        f"  %e = math.exp %o : {types[2]}\n"
        f"  %r = tensor.cast %e : {types[2]} to {types[1]}\n"
        f"  return %r : {types[1]}\n}}"
    )
    passed = w.cast(value, given)
    new = w.result(value.shape, static=made)
    w.emit(f"{new.name} = call {name}({passed.name}) : ({passed.type}) -> {new.type}")
    w.keep(new)


def until(w: LyingWriter) -> None:
    """A loop that ends when the data say so."""
    value = w.cast(w.pick(1), (-1,))
    static = (-1,) if w.chance(0.6) else w.loosened(value.shape)
    start = w.cast(value, static)
    count, new = w.fresh(), w.result(value.shape, static=static)
    carried, other, turn, next_, is_less, opened, sum_, closed, one, two = (
        f"%u{w.count}_{i}" for i in range(10)
    )
    w.emit(f"{count} = arith.constant 0 : index\n  {one} = arith.constant 1 : index")
    w.emit(f"{two} = arith.constant 2 : index")
    kind = f"index, {new.type}"
    w.emit(f"%r{w.count}, {new.name} = scf.while (%c{w.count} = {count}, {carried} = {start.name})")
    w.emit(f"    : ({kind}) -> ({kind}) {{")
    w.emit(f"  {is_less} = arith.cmpi slt, %c{w.count}, {two} : index")
    w.emit(f"  scf.condition({is_less}) %c{w.count}, {carried} : {kind}\n  }} do {{")
    w.emit(f"^bb0({turn}: index, {other}: {new.type}):")
    w.emit(f"  {next_} = arith.addi {turn}, {one} : index")
    w.emit(f"  {opened} = tensor.cast {other} : {new.type} to tensor<?xf32>")
    w.emit(f"  {sum_} = math.absf {opened} : tensor<?xf32>")
    w.emit(f"  {closed} = tensor.cast {sum_} : tensor<?xf32> to {new.type}")
    w.emit(f"  scf.yield {next_}, {closed} : {kind}\n  }}")
    w.keep(new)


def memory(w: LyingWriter) -> None:
    """A buffer that is written and read at indices from the caller."""
    size = w.size() or 1
    length, buffer, number, found = w.number(size), w.fresh(), w.fresh(), w.fresh()
    first = w.number(w.random.randrange(size), is_index=True)
    if w.chance(0.3):
        given = f"%a{len(w.inputs)}"
        w.parameters.append((given, "memref<?xf32>"))
        w.inputs.append(w.contents((size,), "f32"))
        w.emit(f"{found} = memref.load {given}[{first}] : memref<?xf32>")
        w.returned.append((found, "f32"))
        return
    w.emit(f"{buffer} = memref.alloc({length}) : memref<?xf32>")
    w.emit(f"{number} = arith.constant 2.5 : f32")
    if w.chance(0.5):
        w.emit(f"memref.store {number}, {buffer}[{first}] : memref<?xf32>")
        w.emit(f"{found} = memref.load {buffer}[{first}] : memref<?xf32>")
    else:
        place = "map = affine_map<()[s0] -> (s0)>"
        w.emit(
            f'"affine.store"({number}, {buffer}, {first}) {{{place}}} : (f32, memref<?xf32>, index)'
            " -> ()"
        )
        w.emit(
            f'{found} = "affine.load"({buffer}, {first}) {{{place}}} : (memref<?xf32>, index)'
            " -> f32"
        )
    w.returned.append((found, "f32"))
