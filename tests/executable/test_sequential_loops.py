"""Loops whose length only the run knows, and loops in loops: one kernel, as the interpreter runs
them, with the interpreter's errors.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.kernels.sequential import loop_forms

N = 7
TABLE = f"tensor<{N}xi32>"


@pytest.fixture(params=[8, 1 << 16])
def section(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that pause after a few turns, or after many."""
    monkeypatch.setattr(loop_forms, "SECTION_STEPS", request.param)


def bounded(body: str, carried: str = "%t = %a3", kind: str = TABLE, step: int = 1) -> str:
    """A loop over the table `%a3` whose bounds are arguments; `%a2` is a number."""
    return function(
        ["tensor<i64>", "tensor<i64>", "tensor<i32>", TABLE],
        kind,
        f"""  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant {step} : index
  %l = tensor.extract %a0[] : tensor<i64>
  %h = tensor.extract %a1[] : tensor<i64>
  %low = arith.index_cast %l : i64 to index
  %high = arith.index_cast %h : i64 to index
  %s = tensor.extract %a2[] : tensor<i32>
  %k = arith.index_cast %s : i32 to index
  %r = scf.for %i = %low to %high step %step iter_args({carried}) -> ({kind}) {{
    {body}
  }}
  return %r : {kind}""",
    )


def given(low: int, high: int, number: int = 3) -> list[np.ndarray]:
    table = np.arange(N, dtype=np.int32) * 11 - 20
    return [
        np.asarray(np.int64(low)),
        np.asarray(np.int64(high)),
        np.asarray(np.int32(number)),
        table,
    ]


SET = f"""%old = tensor.extract %t[%i] : {TABLE}
    %new = arith.muli %old, %s : i32
    %n = tensor.insert %new into %t[%i] : {TABLE}
    scf.yield %n : {TABLE}"""


def same_error(text: str, *several: list[np.ndarray]) -> None:
    """For each of several inputs, the native program fails at the same operation with the same
    words."""
    main = api.compile(text)["main"]
    for inputs in several:
        messages: list[str] = []
        for run in (main.reference, main.run):
            with pytest.raises(api.ExecutionError) as found:
                run(inputs)
            messages.append(str(found.value))
        assert messages[0] == messages[1]


@pytest.mark.usefixtures("section")
@pytest.mark.parametrize("step", [1, 3])
def test_bounds_of_the_run(step: int, written: list[str]) -> None:
    several = ((0, N), (2, 2), (5, 1), (N - 1, N), (0, 0))
    check(bounded(SET, step=step), *(given(*bounds) for bounds in several))
    assert written


@pytest.mark.usefixtures("section")
def test_bounds_outside(written: list[str]) -> None:
    several = ((0, N + 1), (-1, 3), (3, 1 << 62), (-(1 << 63), 0))
    same_error(bounded(SET), *(given(*bounds) for bounds in several))
    assert written


@pytest.mark.parametrize("step", [4, 1 << 62, (1 << 63) - 1])
def test_index_overflows(step: int, written: list[str]) -> None:
    """The index after the last one is no number of 64 bits."""
    last = (1 << 63) - 1
    body = """%j = arith.index_cast %i : index to i32
    %n = arith.addi %x, %j : i32
    scf.yield %n : i32"""
    text = bounded(body, "%x = %s", "i32", step)
    other = given(-last - 1, last) if step > 4 else given(last - 1, last)
    check(text, given(last - 9, last), other)
    assert written


@pytest.mark.usefixtures("section")
@pytest.mark.parametrize(
    "body",
    [
        # The index of a read, then that of a write is wrong.
        SET.replace("%t[%i] : tensor", "%t[%k] : tensor", 1),
        SET.replace("into %t[%i]", "into %t[%k]"),
        # Only some turns read.
        f"""%c = arith.cmpi sgt, %i, %c1 : index
    %old = scf.if %c -> (i32) {{
      %e = tensor.extract %t[%k] : {TABLE}
      scf.yield %e : i32
    }} else {{
      scf.yield %s : i32
    }}
    %n = tensor.insert %old into %t[%c0] : {TABLE}
    scf.yield %n : {TABLE}""",
    ],
)
def test_wrong_index(body: str, written: list[str]) -> None:
    check(bounded(body), given(0, 3, 3))
    same_error(bounded(body), *(given(0, 3, number) for number in (-1, N, 1 << 30)))
    assert written


@pytest.mark.parametrize("name", ["divsi", "remsi", "divui", "floordivsi", "ceildivsi"])
def test_division(name: str, written: list[str]) -> None:
    body = SET.replace("arith.muli", f"arith.{name}")
    negative, zero, positive = several = [given(0, N, number) for number in (-1, 0, 5)]
    for inputs in several:
        inputs[3][4] = -(2**31)
    overflows = name in ("divsi", "floordivsi", "ceildivsi")
    check(bounded(body), positive, *([] if overflows else [negative]))
    same_error(bounded(body), zero, *([negative] if overflows else []))
    assert written


def test_first_error(written: list[str]) -> None:
    """Of two operations that fail, the one that runs first is reported."""
    body = SET.replace("arith.muli", "arith.divsi").replace(
        "%t[%i] : tensor", "%t[%at] : tensor", 1
    )
    body = f"%at = arith.addi %i, %k : index\n    {body}"
    same_error(bounded(body), given(0, N, 4), given(0, N, 0))
    assert written


NESTED = f"""%m = scf.for %j = %c0 to %i step %c1 iter_args(%u = %t) -> ({TABLE}) {{
      %old = tensor.extract %u[%j] : {TABLE}
      %next = tensor.extract %u[%i] : {TABLE}
      %c = arith.cmpi slt, %next, %old : i32
      %v = scf.if %c -> ({TABLE}) {{
        %p = tensor.insert %next into %u[%j] : {TABLE}
        %q = tensor.insert %old into %p[%i] : {TABLE}
        scf.yield %q : {TABLE}
      }} else {{
        scf.yield %u : {TABLE}
      }}
      scf.yield %v : {TABLE}
    }}
    scf.yield %m : {TABLE}"""


def test_loop_in_a_loop(written: list[str]) -> None:
    """A sort that exchanges elements, whose inner loop ends at the index of the outer one."""
    low, high = (
        "%low = arith.index_cast %l : i64 to index",
        "%high = arith.index_cast %h : i64 to index",
    )
    text = bounded(NESTED).replace(low, "%low = arith.constant 0 : index")
    text = text.replace(high, f"%high = arith.constant {N} : index")
    inputs = given(0, 0)
    inputs[3] = np.int32([5, -1, 5, 9, 0, -7, 2])
    check(text, inputs)
    assert written == ["scf.for"] * len(written)
    # Its length is not known: the outer loop is left to the host.
    check(bounded(NESTED), [np.asarray(np.int64(0)), np.asarray(np.int64(N)), *inputs[2:]])


@pytest.mark.parametrize(
    "body",
    [
        # An old version is read, written or carried on.
        f"""%n = tensor.insert %s into %t[%c0] : {TABLE}
    %o = tensor.extract %t[%c0] : {TABLE}
    %m = tensor.insert %o into %n[%c1] : {TABLE}
    scf.yield %m : {TABLE}""",
        f"""%n = tensor.insert %s into %t[%c0] : {TABLE}
    %m = tensor.insert %s into %t[%c1] : {TABLE}
    scf.yield %m : {TABLE}""",
        f"""%n = tensor.insert %s into %t[%c0] : {TABLE}
    %o = tensor.extract %n[%c0] : {TABLE}
    scf.yield %t : {TABLE}""",
        f"""%c = arith.cmpi sgt, %i, %c1 : index
    %n = tensor.insert %s into %t[%c0] : {TABLE}
    %o = scf.if %c -> ({TABLE}) {{
      scf.yield %t : {TABLE}
    }} else {{
      scf.yield %n : {TABLE}
    }}
    scf.yield %o : {TABLE}""",
    ],
)
@pytest.mark.parametrize("size", [N, 17])
def test_old_version(body: str, size: int, written: list[str]) -> None:
    """The table is not updated in place; if it is small, its elements are variables."""
    *numbers, _ = given(0, 5)
    text = bounded(body).replace(TABLE, f"tensor<{size}xi32>")
    check(text, [*numbers, np.arange(size, dtype=np.int32)])
    assert bool(written) == (size == N)


WHILE = f"""func.func @main(%a0: tensor<i32>, %a1: tensor<i32>, %a2: {TABLE})
    -> (tensor<i32>, {TABLE}) {{
  %c0 = arith.constant 0 : i32
  %x = tensor.extract %a0[] : tensor<i32>
  %y = tensor.extract %a1[] : tensor<i32>
  %r:2 = scf.while (%n = %x, %t = %a2) : (i32, {TABLE}) -> (i32, {TABLE}) {{
    %c = arith.cmpi sgt, %n, %c0 : i32
    %m = arith.subi %n, %y : i32
    scf.condition(%c) %m, %t : i32, {TABLE}
  }} do {{
  ^bb0(%n: i32, %t: {TABLE}):
    %i = arith.index_cast %n : i32 to index
    %old = tensor.extract %t[%i] : {TABLE}
    %new = arith.addi %old, %n : i32
    %u = tensor.insert %new into %t[%i] : {TABLE}
    scf.yield %n, %u : i32, {TABLE}
  }}
  %z = tensor.from_elements %r#0 : tensor<i32>
  return %z, %r#1 : tensor<i32>, {TABLE}
}}"""


@pytest.mark.usefixtures("section")
def test_while(written: list[str]) -> None:
    def inputs(first: int, down: int) -> list[np.ndarray]:
        numbers = [np.asarray(np.int32(each)) for each in (first, down)]
        return [*numbers, np.arange(N, dtype=np.int32)]

    check(WHILE, inputs(N, 1), inputs(0, 1), inputs(6, 2))
    same_error(WHILE, inputs(6, 4), inputs(N + 1, 1), inputs(N, -1))
    assert written == ["scf.while"] * len(written)


def test_while_of_floats(written: list[str]) -> None:
    """What ends the loop may be no number; numbers of all widths are kept over pauses."""
    kinds = ["f32", "f64", "bf16", "i1", "i8", "index"]
    names = [f"%v{i}" for i in range(len(kinds))]
    types = ", ".join(kinds)
    starts = ", ".join(f"{name} = %s{i}" for i, name in enumerate(names))
    constants = "\n".join(
        f"  %s{i} = arith.constant {value} : {kind}"
        for i, (kind, value) in enumerate(
            zip(kinds, ["-0.0", "1.5", "3.0", "1", "-7", "5"], strict=True)
        )
    ).replace("1 : i1", "true")
    ends = "\n".join(
        f"  %t{i} = tensor.from_elements %r#{i} : tensor<{kind}>" for i, kind in enumerate(kinds)
    )
    tensors = ", ".join(f"tensor<{kind}>" for kind in kinds)
    text = f"""func.func @main(%a0: tensor<f32>) -> ({tensors}) {{
{constants}
  %e = tensor.extract %a0[] : tensor<f32>
  %r:6 = scf.while ({starts}) : ({types}) -> ({types}) {{
    %c = arith.cmpf olt, %v0, %e : f32
    scf.condition(%c) {", ".join(names)} : {types}
  }} do {{
  ^bb0({", ".join(f"%w{i}: {kind}" for i, kind in enumerate(kinds))}):
    %one = arith.constant 1.0 : f32
    %f = arith.addf %w0, %one : f32
    %d = arith.divf %w1, %s1 : f64
    %b = arith.mulf %w2, %w2 : bf16
    %n = arith.xori %w3, %s3 : i1
    %g = arith.muli %w4, %s4 : i8
    %k = arith.muli %w5, %w5 : index
    scf.yield %f, %d, %b, %n, %g, %k : {types}
  }}
{ends}
  return {", ".join(f"%t{i}" for i in range(len(kinds)))} : {tensors}
}}"""
    for section in (1, 1 << 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop_forms, "SECTION_STEPS", section)
            several = (3.0, 31.5, -1.0, 0.0, float("nan"), -float("inf"))
            check(text, *([np.asarray(np.float32(end))] for end in several))
    assert written


def test_endless_loop(written: list[str]) -> None:
    """A loop without an end can be interrupted, even if nothing reads it."""
    import _thread
    import threading

    text = WHILE.replace("%m = arith.subi %n, %y", "%m = arith.addi %n, %c0")
    text = text.replace("index_cast %n :", "index_cast %c0 :")
    inputs = [np.asarray(np.int32(1)), np.asarray(np.int32(0)), np.arange(N, dtype=np.int32)]
    compiled = CompiledProgram(api.compile(text).module)
    ended = [inputs[0] * 0, *inputs[1:]]
    compiled.run("main", ended)
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        compiled.run("main", inputs)
    assert time.process_time() - start < 2
    assert written
