"""Faults that are put into programs and processes, and what must be said of each.

A program fails on the device whose number is its argument `%bad`, and on none if that is -1; in a
loop at the turn `%when`.
"""

from __future__ import annotations

from dataclasses import dataclass

PROGRAM = """shard.grid @g(shape = 2)
func.func @main(%a: tensor<8xf32>, %bad: index, %when: index) -> tensor<8xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %good = arith.constant {good} : index
  %wrong = arith.constant {wrong} : index
  %p = shard.process_linear_index on @g : index
  %is_bad = arith.cmpi eq, %p, %bad : index
  {body}
}}
"""

SUM = "shard.all_reduce {} on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>"

POSITIONS = {
    "before a collective": """%x = arith.select %is_bad, %wrong, %good : index
  {fault}
  %r = {sum}
  return %r : tensor<8xf32>""",
    "after a collective": """%r = {sum}
  %x = arith.select %is_bad, %wrong, %good : index
  {fault}
  return %r : tensor<8xf32>""",
    "between collectives": """%r = scf.for %i = %c0 to %c3 step %c1
      iter_args(%t = %a) -> (tensor<8xf32>) {{
    %is_late = arith.cmpi eq, %i, %when : index
    %is_now = arith.andi %is_bad, %is_late : i1
    %x = arith.select %is_now, %wrong, %good : index
    {fault}
    %s = {loop_sum}
    scf.yield %s : tensor<8xf32>
  }}
  return %r : tensor<8xf32>""",
}


@dataclass(frozen=True)
class ProgramFault:
    """An operation that fails where `%x` is `wrong` and not where it is `good`."""

    text: str
    good: int
    wrong: int
    message: str


_CUT = "%d = tensor.extract_slice %a[0] [%x] [1] : tensor<8xf32> to tensor<?xf32>\n  "

OPERATIONS = {
    "an element outside": ProgramFault(
        "%e = tensor.extract %a[%x] : tensor<8xf32>",
        0,
        9,
        "'tensor.extract' op has index 9 in dimension 0",
    ),
    "an insertion outside": ProgramFault(
        "%e = arith.constant 1.0 : f32\n  %w = tensor.insert %e into %a[%x] : tensor<8xf32>",
        0,
        -1,
        "'tensor.insert' op has index -1 in dimension 0",
    ),
    "a slice outside": ProgramFault(
        "%w = tensor.extract_slice %a[%x] [4] [1] : tensor<8xf32> to tensor<4xf32>",
        2,
        7,
        "'tensor.extract_slice' op",
    ),
    "a cast that lies": ProgramFault(
        _CUT + "%w = tensor.cast %d : tensor<?xf32> to tensor<8xf32>", 8, 7, "'tensor.cast' op"
    ),
    "sizes that differ": ProgramFault(
        _CUT + "%w0 = tensor.cast %a : tensor<8xf32> to tensor<?xf32>\n  "
        "%w = arith.addf %w0, %d : tensor<?xf32>",
        8,
        7,
        "'arith.addf' op",
    ),
    "a negative size": ProgramFault(
        "%w = tensor.empty(%x) : tensor<?xf32>", 4, -4, "'tensor.empty' op"
    ),
    "an assertion": ProgramFault(
        '%ok = arith.cmpi eq, %x, %good : index\n  cf.assert %ok, "told so"',
        1,
        2,
        "told so",
    ),
    "a concatenation that lies": ProgramFault(
        _CUT + "%w = tensor.concat dim(0) %d, %a : (tensor<?xf32>, tensor<8xf32>) "
        "-> tensor<16xf32>",
        8,
        5,
        "'tensor.concat' op",
    ),
}


@dataclass(frozen=True)
class FaultyProgram:
    """A program, and what must be said of it: at which line."""

    text: str
    message: str
    line: int


def program_faults() -> dict[str, FaultyProgram]:
    """Programs by name."""
    found: dict[str, FaultyProgram] = {}
    for what, fault in OPERATIONS.items():
        last = fault.text.splitlines()[-1].strip()
        for where, body in POSITIONS.items():
            text = body.format(fault=fault.text, sum=SUM.format("%a"), loop_sum=SUM.format("%t"))
            program = PROGRAM.format(body=text, good=fault.good, wrong=fault.wrong)
            line = [each.strip() for each in program.splitlines()].index(last) + 1
            found[f"{what} {where}"] = FaultyProgram(program, fault.message, line)
    return found
