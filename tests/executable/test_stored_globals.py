"""Globals that are set by what is computed: on devices of different layouts, after each stage.

Nothing has a default place here, so what is stored is computed where its global is, or is wanted.
"""

from __future__ import annotations

import re

import pytest
from tiled_programs import HERE, check

SQUARE = "tensor<8x8xf32>"
ON_A, ON_B = (f"#hal.device.affinity<@{name}>" for name in "ab")
AT_A, AT_B = (f"{{stream.affinity = {place}}}" for place in (ON_A, ON_B))
MAIN = f"func.func @main(%x: {SQUARE} {HERE}) -> ({SQUARE} {HERE})"

INITIALIZED = f"""
util.global private @g %PLACE% : {SQUARE}
util.initializer {{
  %c = arith.constant dense<3.0> : {SQUARE}
  %r = product %c, %c
  util.global.store %r, @g : {SQUARE}
  util.return
}}
{MAIN} {{
  %g = util.global.load @g : {SQUARE}
  %ga = flow.tensor.transfer %g : {SQUARE} to {ON_A}
  %r = product %x, %ga
  %xb = flow.tensor.transfer %x : {SQUARE} to {ON_B}
  %s = product %xb, %g
  %t = arith.addf %r, %s : {SQUARE}
  return %t : {SQUARE}
}}
"""

BEFORE, INITIALIZER, AFTER = re.split(r"(util.initializer.*?\n}\n)", INITIALIZED, flags=re.DOTALL)

PROGRAMS = {
    "set by an initializer": INITIALIZED.replace("%PLACE%", AT_B),
    "set behind the function that reads it": BEFORE.replace("%PLACE%", AT_B) + AFTER + INITIALIZER,
    "set by an initializer, read anywhere": INITIALIZED.replace("%PLACE%", ""),
    "of one initializer read by the next": f"""
util.global private @first {AT_A} : {SQUARE}
util.global private @second {AT_B} : {SQUARE}
util.global private @third : {SQUARE}
util.initializer {{
  %c = arith.constant dense<2.0> : {SQUARE}
  %r = product %c, %c
  util.global.store %r, @first : {SQUARE}
  util.return
}}
util.initializer {{
  %c = util.global.load @first : {SQUARE}
  %r = product %c, %c
  util.global.store %r, @second : {SQUARE}
  util.global.store %r, @third : {SQUARE}
  util.return
}}
{MAIN} {{
  %g = util.global.load @second : {SQUARE}
  %h = util.global.load @third : {SQUARE}
  %r = product %g, %h
  %s = product %h, %x
  %t = arith.addf %r, %s : {SQUARE}
  return %t : {SQUARE}
}}
""",
    "stored in a function, and placed": f"""
util.global private mutable @g {AT_B} = dense<2.0> : {SQUARE}
{MAIN} {{
  %before = util.global.load @g : {SQUARE}
  %r = product %x, %x
  util.global.store %r, @g : {SQUARE}
  %after = util.global.load @g : {SQUARE}
  %s = product %before, %after
  return %s : {SQUARE}
}}
""",
    "stored in a function, where it is wanted": f"""
util.global private mutable @g = dense<2.0> : {SQUARE}
util.global private @w = dense<3.0> : {SQUARE}
{MAIN} {{
  %w = util.global.load @w : {SQUARE}
  %r = product %w, %w
  util.global.store %r, @g : {SQUARE}
  %g = util.global.load @g : {SQUARE}
  %h = flow.tensor.transfer %g : {SQUARE} to {ON_B}
  %s = product %h, %h
  %again = util.global.load @g : {SQUARE}
  %t = product %x, %again
  %sa = flow.tensor.transfer %s : {SQUARE} to {ON_A}
  %u = arith.addf %sa, %t : {SQUARE}
  return %u : {SQUARE}
}}
""",
    "zero until they are stored": f"""
util.global private @never : {SQUARE}
util.global private mutable @g {AT_B} : {SQUARE}
{MAIN} {{
  %z = util.global.load @never : {SQUARE}
  %before = util.global.load @g : {SQUARE}
  %r = product %x, %z
  %s = product %before, %before
  util.global.store %r, @g : {SQUARE}
  %sa = flow.tensor.transfer %s : {SQUARE} to {ON_A}
  %t = arith.addf %sa, %x : {SQUARE}
  return %t : {SQUARE}
}}
""",
    "in loops": f"""
util.global private mutable @g {AT_B} : {SQUARE}
util.global private mutable @h : {SQUARE}
util.initializer {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c = arith.constant dense<0.5> : {SQUARE}
  %p = product %c, %c
  %l = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %p) -> ({SQUARE}) {{
    %r = product %a, %c
    scf.yield %r : {SQUARE}
  }}
  util.global.store %l, @g : {SQUARE}
  util.global.store %c, @h : {SQUARE}
  util.return
}}
{MAIN} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {{
    %g = util.global.load @g : {SQUARE}
    %h = util.global.load @h : {SQUARE}
    %half = arith.constant dense<0.125> : {SQUARE}
    %r = product %g, %half
    util.global.store %r, @h : {SQUARE}
    %s = product %h, %half
    util.global.store %s, @g : {SQUARE}
  }}
  %g = util.global.load @g : {SQUARE}
  %h = util.global.load @h : {SQUARE}
  %r = product %x, %g
  %s = product %r, %h
  return %s : {SQUARE}
}}
""",
    "on either way": f"""
util.global private mutable @g {AT_B} = dense<1.0> : {SQUARE}
func.func private @keep(%v: {SQUARE}) {{
  %r = product %v, %v
  util.global.store %r, @g : {SQUARE}
  return
}}
{MAIN} {{
  %c1 = arith.constant 1 : index
  %e = tensor.extract %x[%c1, %c1] : {SQUARE}
  %zero = arith.constant 0.0 : f32
  %p = arith.cmpf olt, %e, %zero : f32
  scf.if %p {{
    %c = arith.constant dense<2.0> : {SQUARE}
    %r = product %c, %c
    util.global.store %r, @g : {SQUARE}
  }} else {{
    func.call @keep(%x) : ({SQUARE}) -> ()
  }}
  %g = util.global.load @g : {SQUARE}
  %s = product %g, %g
  return %s : {SQUARE}
}}
""",
}


COMPILED = ("set by an initializer", "in loops", "on either way")
"""The others take no other way in kernels."""


def with_products(text: str) -> str:
    """The program with `%r = product %a, %b` written out."""

    def product(found: re.Match[str]) -> str:
        result, left, right = found.groups()
        return f"""{result}z = arith.constant 0.0 : f32
  {result}e = tensor.empty() : {SQUARE}
  {result}f = linalg.fill ins({result}z : f32) outs({result}e : {SQUARE}) -> {SQUARE}
  {result} = linalg.matmul ins({left}, {right} : {SQUARE}, {SQUARE})
    outs({result}f : {SQUARE}) -> {SQUARE}"""

    return re.sub(r"(%\w+) = product (%\w+), (%\w+)", product, text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_stored_globals(name: str) -> None:
    check(with_products(PROGRAMS[name]), compiled=name in COMPILED)
