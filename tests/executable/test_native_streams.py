"""Stream programs on several devices: what the native backend computes is the interpreter's."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tool_runs
from breadth import sampled
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import argument_types, find_function, public_functions, run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, ShapedType

TESTS = Path(__file__).parents[1]
CASES = TESTS / "cases" / "encoding"
TWO_DEVICES = TESTS.parent / "examples" / "two_devices.mlir"

NOT_RUN = {
    # They mean nothing, or want parameters, or compute a size only.
    "c17_unrecognized",
    "c18b_param_two_uses",
    "c19b_no_exe_targets",
    "c19c_no_affinity",
    "c19d_default",
}
PROGRAMS = sorted(case.stem for case in CASES.glob("*.mlir") if case.stem not in NOT_RUN)
SOME = [
    "c03b_chain_relu",
    "c06_batch_matmul",
    "c07_f16_f32",
    "c07_i4_i32",
    "c08b_shared_const_homog_def",
    "c13_enc_transfer",
    "seed_demo_2024_spelling",
]
"""One program of each kind."""


def inputs_of(module: ModuleOp, name: str) -> list[np.ndarray]:
    """Numbers of which every sum and product is exact in any element type."""
    generator = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for index, kind in enumerate(argument_types(find_function(Program(module), name))):
        shape: list[int] = []
        if isinstance(kind, ShapedType):
            # Dynamic sizes of two matrices that can be multiplied.
            dynamic = iter([(20, 35), (35, 19)][index % 2])
            shape = [next(dynamic) if n == DYNAMIC_INDEX else n for n in kind.get_shape()]
        arrays.append(generator.integers(-1, 2, shape).astype(dtype_of(kind)))
    return arrays


def check(program: CompiledProgram, name: str, inputs: list[np.ndarray], module: ModuleOp) -> None:
    expected = run(module, name, inputs)
    for _ in range(2):
        for array, wanted in zip(program.run(name, inputs), expected, strict=True):
            np.testing.assert_array_equal(array, wanted)


def check_case(case: str, passes: DataTilePass, last: str | None = None) -> None:
    """The program after the passes up to `last` runs in kernels as the original means it."""
    context, module = parse((CASES / f"{case}.mlir").read_text())
    original = module.clone()
    (name,) = public_functions(module)
    for one in passes.passes():
        one.apply(context, module)
        if one.name == last:
            break
    else:
        assert last is None
    check(CompiledProgram(module), name, inputs_of(original, name), original)


@pytest.mark.parametrize("case", sampled(PROGRAMS, 4))
def test_tiled(case: str) -> None:
    check_case(case, DataTilePass())


@pytest.mark.parametrize("case", sampled(SOME, 2))
def test_plain(case: str) -> None:
    check_case(case, DataTilePass(data_tiling=False))


@pytest.mark.parametrize("case", sampled(SOME, 2, 1))
def test_before_layouts_are_made_explicit(case: str) -> None:
    check_case(case, DataTilePass(), "iree-stream-encode-device-tensors")


def test_the_two_devices() -> None:
    """Every device owns its buffers, and a repeated call runs no Python for an operation."""
    program = api.compile(TWO_DEVICES, "data-tile", backend="native")
    program.devices = ("local-task", "local-task")
    left = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    right = np.ones((3, 5), np.float32)
    foo = program["foo"]
    np.testing.assert_array_equal(foo(left, right), [[12] * 5, [30] * 5])
    first, second = program.statistics()
    assert [first.name, second.name] == ["local-task#0", "local-task#1"]
    # One product and two operands packed on each; lhs, rhs and the product go there, the sum back.
    assert (first.dispatches, second.dispatches) == (3, 3)
    assert (first.received_bytes, second.received_bytes) == (40, 24 + 60 + 40)
    assert min(first.peak_bytes, second.peak_bytes) > 0
    times: list[float] = []
    for _ in range(20):
        start = time.perf_counter()
        foo(left, right)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3


def test_a_missing_device_is_an_error_at_its_definition() -> None:
    context, module = parse(TWO_DEVICES.read_text())
    for one in DataTilePass().passes():
        one.apply(context, module)
    program = CompiledProgram(module, devices=["local-task"])
    with pytest.raises(OperationError, match="needs device #1") as failure:
        program.run("foo", [np.ones((2, 3), np.float32), np.ones((3, 5), np.float32)])
    assert failure.value.operation.name == "util.global"


# Programs written by hand ---------------------------------------------------------------------

DEVICES = """
#cpu = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-none-elf"}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#cpu]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#cpu]> : !hal.device
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
"""


def host(body: str, results: tuple[str, ...] = ("y",)) -> str:
    """A function that imports 8 floats as `%x` and exports resources of 32 bytes."""
    exports = "\n".join(
        f"%{each}_view = stream.tensor.export on(#on_a) %{each} : tensor<8xf32>"
        " in !stream.resource<*>{%c32} -> !hal.buffer_view"
        for each in results
    )
    names = ", ".join(f"%{each}_view" for each in results)
    kinds = ", ".join(["!hal.buffer_view"] * len(results))
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 4, 8, 16, 24, 32))
    return f"""{DEVICES}
util.func public @f(%arg: !hal.buffer_view) -> ({kinds}) {{
  {constants}
  %one = arith.constant 1.0 : f32
  %bits_of_one = arith.constant 0x3F800000 : i32
  %bits_of_two = arith.constant 0x40000000 : i32
  %x = stream.tensor.import on(#on_a) %arg : !hal.buffer_view -> tensor<8xf32>
    in !stream.resource<*>{{%c32}}
  {body}
  {exports}
  util.return {names} : {kinds}
}}"""


X = np.arange(8, dtype=np.float32)
BYTES = "!stream.resource<*>"

BODIES = {
    "slices and updates": (
        f"""
  %half = stream.async.slice on(#on_a) %x[%c8 to %c24] : {BYTES}{{%c32}} -> {BYTES}{{%c16}}
  %z = stream.async.splat on(#on_a) %bits_of_one : i32 -> {BYTES}{{%c32}}
  %y = stream.async.update on(#on_a) %half, %z[%c8 to %c24]
    : {BYTES}{{%c16}} -> %z as {BYTES}{{%c32}}
""",
        ("y", "x"),
    ),
    "what is written to has other readers": (
        f"""
  %y = stream.async.fill on(#on_a) %bits_of_two, %x[%c8 to %c16 for %c8]
    : i32 -> %x as {BYTES}{{%c32}}
  %w = stream.async.copy on(#on_a) %x[%c0 to %c16], %y[%c16 to %c32], %c16
    : {BYTES}{{%c32}} -> %y as {BYTES}{{%c32}}
""",
        ("y", "w", "x"),
    ),
    "a transfer and back": (
        f"""
  %there = stream.async.transfer %x : {BYTES}{{%c32}} from(#on_a) -> to(#on_b) {BYTES}{{%c32}}
  %z = stream.async.fill on(#on_b) %bits_of_two, %there[%c0 to %c4 for %c4]
    : i32 -> %there as {BYTES}{{%c32}}
  %y = stream.async.transfer %z : {BYTES}{{%c32}} from(#on_b) -> to(#on_a) {BYTES}{{%c32}}
""",
        ("y", "x"),
    ),
    "control flow that depends on data": (
        f"""
  %staged = stream.async.transfer %x : {BYTES}{{%c32}} from(#on_a)
    -> !stream.resource<staging>{{%c32}}
  %number = stream.async.load %staged[%c4] : !stream.resource<staging>{{%c32}} -> f32
  %is_one = arith.cmpf oeq, %number, %one : f32
  %y = scf.if %is_one -> ({BYTES}) {{
    %z = stream.async.splat on(#on_a) %bits_of_two : i32 -> {BYTES}{{%c32}}
    scf.yield %z : {BYTES}
  }} else {{
    scf.yield %x : {BYTES}
  }}
""",
        ("y",),
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_bytes(name: str) -> None:
    body, results = BODIES[name]
    module = api.compile(host(body, results)).module
    program = CompiledProgram(module)
    for inputs in (X, X + 3, X):
        check(program, "f", [inputs], module)


def test_another_devices_bytes_need_a_transfer() -> None:
    body = f"%y = stream.async.clone on(#on_b) %x : {BYTES}{{%c32}} -> {BYTES}{{%c32}}"
    program = CompiledProgram(api.compile(host(body)).module)
    with pytest.raises(OperationError, match="transfer it first"):
        program.run("f", [X])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            f"%y = stream.async.slice on(#on_a) %x[%c16 to %c32]"
            f" : {BYTES}{{%c32}} -> {BYTES}{{%c32}}",
            "slices 16 bytes into a resource of 32 bytes",
        ),
        (
            f"%y = stream.async.slice on(#on_a) %x[%c32 to %c16]"
            f" : {BYTES}{{%c32}} -> {BYTES}{{%c32}}",
            "accesses bytes 32 to 16 of 32",
        ),
        (
            f"%y = stream.async.fill on(#on_a) %bits_of_two, %x[%c8 to %c16 for %c4]"
            f" : i32 -> %x as {BYTES}{{%c32}}",
            "fills 8 bytes, expected 4",
        ),
        (
            f"%y = stream.async.copy on(#on_a) %x[%c0 to %c16], %x[%c16 to %c32], %c8"
            f" : {BYTES}{{%c32}} -> %x as {BYTES}{{%c32}}",
            "copies 16 bytes to 16 bytes, expected 8",
        ),
        (
            f"%y = stream.async.clone on(#on_a) %x : {BYTES}{{%c16}} -> {BYTES}{{%c16}}",
            "takes a resource of 32 bytes, expected 16",
        ),
        (
            f"%y = stream.async.transfer %x : {BYTES}{{%c16}} from(#on_a)"
            f" -> to(#on_b) {BYTES}{{%c16}}",
            "takes a resource of 32 bytes, expected 16",
        ),
    ],
)
def test_sizes_that_do_not_fit(body: str, message: str) -> None:
    module = api.compile(host(body)).module
    for runs in (CompiledProgram(module).run, partial(run, module)):
        with pytest.raises(OperationError, match=message):
            runs("f", [X])


def test_tensors_without_a_layout_are_interpreted() -> None:
    kind = f"tensor<8xf32> in {BYTES}{{%c32}}"
    body = f"%y = stream.tensor.clone on(#on_a) %x : {kind} -> {kind}"
    program = CompiledProgram(api.compile(host(body)).module)
    assert np.array_equal(program.run("f", [X])[0], X)
    native = CompiledProgram(program.module, require_native=True)
    with pytest.raises(OperationError, match="native code is required"):
        native.run("f", [X])


def mesh_run(*arguments: str) -> tuple[int, str, str]:
    inputs = ("--function=foo", "--input=2x3xf32=1,2,3,4,5,6", "--input=3x5xf32=1")
    return tool_runs.mesh_run(str(TWO_DEVICES), *inputs, *arguments)


def test_mesh_run_prints_statistics() -> None:
    devices = ("--device=local-task", "--device=local-task")
    code, stdout, _ = mesh_run(*devices, "--backend=native", "--statistics")
    lines = stdout.splitlines()
    assert (code, lines[2]) == (0, "2x5xf32=[12 12 12 12 12][30 30 30 30 30]")
    assert [line.partition(":")[0] for line in lines[3:]] == [
        "STATISTICS local-task#0",
        "STATISTICS local-task#1",
    ]
    # Operands and product in tiles of 16: 192, 192 and 1024 bytes; 40 come from the other device.
    assert " (inputs and results 124, constants 0, transient 1368 for 1448), " in lines[3]
    assert lines[4].endswith("3 dispatches, 124 bytes received")


def test_statistics_need_native_code() -> None:
    code, stdout, stderr = mesh_run("--backend=interpreter", "--statistics")
    assert (code, stdout, stderr) == (
        1,
        "",
        "mesh-run: --statistics needs --backend=native or --backend=mpi\n",
    )


def test_bits_that_an_element_does_not_need_mean_nothing() -> None:
    text = """
util.func public @f() -> (!hal.buffer_view, !hal.buffer_view, i12) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = stream.async.constant : !stream.resource<*>{%c4} = dense<[4095, 0x7001]> : tensor<2xi16>
  %1 = stream.async.constant : !stream.resource<*>{%c4} = dense<[255, 2, 1, 0]> : tensor<4xi8>
  %2 = stream.tensor.export %0 : tensor<2xi12> in !stream.resource<*>{%c4} -> !hal.buffer_view
  %3 = stream.tensor.export %1 : tensor<4xi1> in !stream.resource<*>{%c4} -> !hal.buffer_view
  %staged = stream.async.transfer %0 : !stream.resource<*>{%c4} -> !stream.resource<staging>{%c4}
  %4 = stream.async.load %staged[%c0] : !stream.resource<staging>{%c4} -> i12
  util.return %2, %3, %4 : !hal.buffer_view, !hal.buffer_view, i12
}"""
    module = api.compile(text).module
    for found in (run(module, "f", []), CompiledProgram(module).run("f", [])):
        assert [array.tolist() for array in found] == [[-1, 1], [True, False, True, False], -1]
