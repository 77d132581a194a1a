"""`mesh-run --parameters`: constants whose contents are in files of three kinds."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.interpreter.parameters import Parameter
from mesh_opt.tools.mesh_run import main
from mesh_opt.tools.parameter_files import read_parameters
from mesh_opt.tools.usage_error import UsageError

CASE = Path(__file__).parents[2] / "cases" / "encoding" / "c18b_param_two_uses.mlir"
WEIGHT = (np.arange(40 * 33, dtype=np.float32) % 7 - 3).reshape(40, 33)

PROGRAM = """
util.global private @w = #flow.parameter.named<"{scope}"::"{key}"> : {type}
func.func @f() -> {type} {{
  %w = util.global.load @w : {type}
  return %w : {type}
}}
"""


def archive(entries: dict[str, bytes], splats: dict[str, tuple[bytes, int]]) -> bytes:
    """An archive as IREE writes it: a header, its entries, names, contents."""
    names, table, contents = b"", b"", b""
    for key, data in [*entries.items(), *splats.items()]:
        if isinstance(data, bytes):
            kind, body = 2, struct.pack("<QQ", len(contents), len(data))
            contents += data
        else:
            pattern, count = data
            kind = 1
            body = struct.pack("<Q16sB", len(pattern) * count, pattern, len(pattern))
        size = 60 + len(body)
        table += struct.pack("<QIQQQQQQ", size, kind, 0, len(names), len(key), 0, 0, 16) + body
        table += bytes(-len(table) % 16)
        names += key.encode()
    header = 96
    segments = (
        *(header, len(table)),
        *(header + len(table), len(names)),
        *(header + len(table) + len(names), len(contents)),
    )
    count = len(entries) + len(splats)
    start = struct.pack("<IHHQQQQQQQQQQ", 0x41505249, 0, 0, 88, 0, 0, count, *segments)
    return start + bytes(header - len(start)) + table + names + contents


@pytest.fixture(params=["irpa", "npz", "safetensors"])
def weight_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"w.{request.param}"
    if request.param == "npz":
        np.savez(path, w=WEIGHT)
    elif request.param == "irpa":
        path.write_bytes(archive({"v": b"123", "w": WEIGHT.tobytes()}, {}))
    else:
        library = pytest.importorskip("safetensors.numpy")
        library.save_file({"w": WEIGHT}, path)
    return path


def mesh_run(*arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main(arguments, io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
def test_a_weight_of_two_products(weight_file: Path, backend: str) -> None:
    text = "--device=local-task --random-inputs=0 --check --output=@{}.npy --output=".format(
        weight_file.with_name("out")
    )
    code, stdout, stderr = mesh_run(
        str(CASE), *text.split(), f"--parameters=model={weight_file}", f"--backend={backend}"
    )
    assert (code, stderr) == (0, "")
    assert stdout.endswith("CHECK @main agrees with the reference\n")
    inputs = np.random.default_rng([0, 0]).standard_normal((64, 40)).astype(np.float32)
    found = np.load(weight_file.with_name("out.npy"))
    np.testing.assert_allclose(found, inputs @ WEIGHT, rtol=1e-4, atol=1e-4)


def test_parameters_are_packed_once_and_when_they_are_loaded() -> None:
    module = api.compile(CASE, "data-tile", stages=False).module
    stored = [op for op in module.walk() if "parameter.named" in str(op.properties.get("value"))]
    assert len(stored) == 1
    assert stored[0].parent_op().name == "util.initializer"  # type: ignore[union-attr]


def test_without_files_a_parameter_is_an_error() -> None:
    code, _, stderr = mesh_run(str(CASE), "--device=local-task", "--random-inputs=0")
    assert code == 1
    line = next(n for n, line in enumerate(CASE.read_text().splitlines(), 1) if "parameter" in line)
    assert f"c18b_param_two_uses.mlir:{line}:1: error" in stderr
    assert "whose contents are not given" in stderr


def provided(scope: str, key: str, type_: str, parameter: Parameter) -> np.ndarray:
    text = PROGRAM.format(scope="s", key="k", type=type_)
    return api.compile(text, stages=False, parameters={(scope, key): parameter})["f"]()


def test_what_is_missing_is_told() -> None:
    given = Parameter.of_array(np.ones(2, np.float32))
    with pytest.raises(api.CompilationError, match=r'of that scope are given \(scopes: "t"'):
        provided("t", "k", "tensor<2xf32>", given)
    with pytest.raises(api.CompilationError, match=r'no such key \(keys: "other"\)'):
        provided("s", "other", "tensor<2xf32>", given)
    with pytest.raises(api.CompilationError, match="scopes: no file"):
        api.compile(PROGRAM.format(scope="s", key="k", type="tensor<2xf32>"), parameters={})


@pytest.mark.parametrize(
    ("type_", "parameter", "message"),
    [
        ("tensor<3xf32>", Parameter.of_array(np.ones(2, np.float32)), "found a shape of 2"),
        ("tensor<2xf32>", Parameter.of_array(np.ones(2, np.int32)), "found elements of int32"),
        ("tensor<2xi8>", Parameter.of_array(np.ones(2, np.int16)), "found elements of int16"),
        ("tensor<2xf32>", Parameter(bytes(7)), "expected 8 bytes for tensor<2xf32>, found 7"),
        ("tensor<5xi4>", Parameter(bytes(5)), "expected 3 bytes for tensor<5xi4>, found 5"),
    ],
)
def test_contents_that_do_not_fit(type_: str, parameter: Parameter, message: str) -> None:
    with pytest.raises(api.CompilationError, match=message):
        provided("s", "k", type_, parameter)


@pytest.mark.parametrize(
    ("type_", "parameter", "expected"),
    [
        ("tensor<3xi4>", Parameter(b"\x2f\x07"), [-1, 2, 7]),
        ("tensor<3xi4>", Parameter.of_array(np.array([-1, 2, 7], np.int8)), [-1, 2, 7]),
        ("tensor<2xi8>", Parameter.of_array(np.array([255, 1], np.uint8)), [-1, 1]),
        ("tensor<2xi1>", Parameter.of_array(np.array([True, False])), [True, False]),
        ("tensor<2xi12>", Parameter(b"\x01\x00\xff\x0f"), [1, -1]),
        ("tensor<2xbf16>", Parameter(b"\x80\x3f\x00\x40"), [1, 2]),
        ("tensor<f64>", Parameter.of_array(np.array(2.5)), 2.5),
        ("tensor<0x3xf32>", Parameter(b""), np.zeros((0, 3))),
    ],
)
def test_element_types(type_: str, parameter: Parameter, expected: object) -> None:
    found = provided("s", "k", type_, parameter)
    np.testing.assert_array_equal(found.astype(float), np.array(expected, float))


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "all.irpa"
    first = archive({"a": b"abcd"}, {"s": (b"\x01\x02", 3)})
    # A second archive, linked from the first one, at a multiple of 16 bytes.
    first += bytes(-len(first) % 16)
    first = first[:16] + struct.pack("<Q", len(first)) + first[24:]
    path.write_bytes(first + archive({"b": b"xy"}, {}))
    found = read_parameters([f"m={path}", str(path)])
    contents = {key: parameter.contents for key, parameter in found.items()}
    one = {"a": b"abcd", "s": b"\x01\x02" * 3, "b": b"xy"}
    assert contents == {(scope, key): data for scope in ("m", "") for key, data in one.items()}


def test_numpy_files_know_no_bf16(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", k=np.array([1.5, -2], ml_dtypes.bfloat16))
    found = read_parameters([str(tmp_path / "w.npz")])
    assert list(provided("s", "k", "tensor<2xbf16>", found["", "k"])) == [1.5, -2]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("w.irpa", b"junk", "is no file of parameters"),
        ("w.irpa", b"J" * 200, "has no archive of version 0 at byte 0"),
        ("w.irpa", archive({"a": b"abcd"}, {})[:-2], "it ends at byte"),
        ("w.npz", b"junk", "is no file of parameters"),
        ("w.safetensors", b"junk", "is no file of parameters"),
        ("w.gguf", b"", r"files of parameters are .irpa, .npz, .safetensors"),
        ("w.npz", None, "cannot read"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    if name.endswith("safetensors"):
        pytest.importorskip("safetensors")
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message):
        read_parameters([str(tmp_path / name)])
