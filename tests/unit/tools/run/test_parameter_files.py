"""`mesh-run --parameters`: constants whose contents are in files of three kinds."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.interpreter.parameters import Parameter
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.tools.run.parameter_files import SAFETENSORS, read_parameters
from stored_parameters import archive, tensors
from tool_runs import mesh_run

CASE = Path(__file__).parents[3] / "cases" / "encoding" / "c18b_param_two_uses.mlir"
WEIGHT = (np.arange(40 * 33, dtype=np.float32) % 7 - 3).reshape(40, 33)

PROGRAM = """
util.global private @w = #flow.parameter.named<"{scope}"::"{key}"> : {type}
func.func @f() -> {type} {{
  %w = util.global.load @w : {type}
  return %w : {type}
}}
"""


@pytest.fixture(params=["irpa", "npz", "safetensors"])
def weight_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"w.{request.param}"
    if request.param == "npz":
        np.savez(path, w=WEIGHT)
    elif request.param == "irpa":
        path.write_bytes(archive({"v": b"123", "w": WEIGHT.tobytes()}, {}))
    else:
        path.write_bytes(
            tensors(
                {"w": {"dtype": "F32", "shape": [40, 33], "data_offsets": [0, WEIGHT.nbytes]}},
                WEIGHT.tobytes(),
            )
        )
    return path


@pytest.mark.parametrize("backend", ["interpreter", "native"])
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
    module = api.compile(CASE, "data-tile").module
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
    return api.compile(text, parameters={(scope, key): parameter})["f"]()


def test_missing_parameters() -> None:
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
    contents = {key: parameter.read() for key, parameter in found.items()}
    one = {"a": b"abcd", "s": b"\x01\x02" * 3, "b": b"xy"}
    assert contents == {(scope, key): data for scope in ("m", "") for key, data in one.items()}


def test_safetensors_as_its_library_writes_them(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    arrays = {
        name: np.arange(6).reshape(2, 3).astype(dtype)
        for name, dtype in SAFETENSORS.items()
        if name in ("BOOL", "I8", "U16", "F16", "F64", "BF16")
    }
    library.save_file(arrays, tmp_path / "w.safetensors", metadata={"by": "a test"})
    found = read_parameters([str(tmp_path / "w.safetensors")])
    assert {key for _, key in found} == set(arrays)
    for (_, key), parameter in found.items():
        assert (parameter.shape, parameter.dtype) == ((2, 3), arrays[key].dtype)
        assert parameter.read() == arrays[key].tobytes()


def test_numpy_files_know_no_bf16(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", k=np.array([1.5, -2], ml_dtypes.bfloat16))
    found = read_parameters([str(tmp_path / "w.npz")])
    assert list(provided("s", "k", "tensor<2xbf16>", found["", "k"])) == [1.5, -2]


def tensor(**changes: object) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    return tensors({"__metadata__": {}, "w": entry}, bytes(8))


def changed(data: bytes, at: int, value: int) -> bytes:
    """Data with another 64-bit number somewhere."""
    return data[:at] + struct.pack("<Q", value) + data[at + 8 :]


ONE = archive({"a": b"abcd"}, {})
"""The header's fields from byte 16 on: distance to the next, flags, count, three segments."""


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("w.irpa", b"junk", "ends at byte 4, before byte"),
        ("w.irpa", b"J" * 200, "has no archive of version 0 at byte 0"),
        ("w.irpa", ONE[:-2], "it ends at byte"),
        ("w.irpa", changed(ONE, 16, 1 << 62), "it ends at byte"),
        ("w.irpa", changed(ONE, 32, 1 << 62), "has an entry at byte"),
        ("w.irpa", changed(ONE, 40, 1 << 62), "it ends at byte"),
        ("w.irpa", changed(ONE, 48, 1 << 62), "is longer than the file"),
        ("w.irpa", changed(ONE, 64, 1 << 62), "is longer than the file"),
        ("w.irpa", changed(ONE, 72, 1 << 62), "it ends at byte"),
        ("w.irpa", changed(ONE, 96, 1), "has an entry of 1 bytes"),
        ("w.irpa", changed(ONE, 116, 1 << 62), "has an entry whose name is at byte"),
        ("w.irpa", changed(ONE, 124, 1 << 62), "has an entry whose name is at byte"),
        ("w.irpa", changed(ONE, 156, 1 << 62), "it ends at byte"),
        ("w.irpa", changed(ONE, 164, 1 << 62), "it ends at byte"),
        ("w.irpa", ONE.replace(b"aabcd", b"\xffabcd"), "a name that is not UTF-8"),
        ("w.irpa", archive({"a": b"1"}, {"a": (b"1", 1)}), "names 'a' twice"),
        ("w.irpa", archive({}, {"a": (b"", 1)}), "of a pattern of 0"),
        ("w.npz", b"junk", "is not an archive of named arrays"),
        ("w.npz", b"PK junk", "is a damaged archive"),
        ("w.safetensors", b"junk", "ends at byte 4, before byte 8"),
        ("w.safetensors", struct.pack("<Q", 1 << 62), "has a description of"),
        ("w.safetensors", struct.pack("<Q", 1 << 20), "ends at byte 8, before byte"),
        ("w.safetensors", tensors(b"[" * 100000), "has a description that is not JSON"),
        ("w.safetensors", tensors(b'{"a": 1, "a": 1}'), "a name occurs twice"),
        ("w.safetensors", tensors([1]), "has a description that names no tensors"),
        ("w.safetensors", tensors({"w": 1}), "describes 'w' without"),
        ("w.safetensors", tensor(dtype=1), "describes 'w' without"),
        ("w.safetensors", tensor(shape=[-2]), "describes 'w' without"),
        ("w.safetensors", tensor(shape=[True, 2]), "describes 'w' without"),
        ("w.safetensors", tensor(data_offsets=[0]), "describes 'w' without"),
        ("w.safetensors", tensor(data_offsets=[8, 0]), "at bytes 8 to 0"),
        ("w.safetensors", tensor(shape=[1] * 64 + [2]), "has 'w' of 65 dimensions, expected"),
        ("w.safetensors", tensor(shape=[3]), "has 'w' of F32 and shape"),
        ("w.safetensors", tensor(shape=[1 << 60], data_offsets=[0, 1 << 62]), "it ends at byte"),
        ("w.gguf", b"", r"expected one of .irpa, .npz, .safetensors"),
        ("w.npz", None, "cannot read"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message):
        read_parameters([str(tmp_path / name)])


@pytest.mark.parametrize("suffix", ["irpa", "npz", "safetensors"])
def test_files_that_may_never_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"w.{suffix}"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="it is a pipe, expected a regular file"):
        read_parameters([str(path)])


def test_archives_that_share_their_names_are_not_read_again_and_again(tmp_path: Path) -> None:
    """Many headers, each with the same long table of names."""
    header, names = ONE[:96], bytes(1 << 16)
    path = tmp_path / "w.irpa"
    chain = b"".join(
        struct.pack(
            *("<IHHQQQQQQQQQQ", 0x41505249, 0, 0, 88, 96 if left else 0, 0, 0),
            *(0, 0, 96 * left, len(names), 0, 0),
        ).ljust(len(header), b"\0")
        for left in reversed(range(4))
    )
    path.write_bytes(chain + names)
    with pytest.raises(UsageError, match="is longer than the file"):
        read_parameters([str(path)])


def test_nothing_is_filled_that_no_type_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "w.irpa"
    path.write_bytes(changed(archive({}, {"k": (b"1234", 1)}), 156, 1 << 62))
    found = read_parameters([f"s={path}"])
    with pytest.raises(api.CompilationError, match="expected 8 bytes for tensor<2xf32>, found 46"):
        provided("s", "k", "tensor<2xf32>", found["s", "k"])
    with pytest.raises(api.CompilationError, match="fills 4611686018427387904 bytes, more than"):
        provided("s", "k", "tensor<1152921504606846976xf32>", found["s", "k"])


def test_contents_are_those_of_the_file_when_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(tensor())
    found = read_parameters([f"s={path}"])
    path.write_bytes(b"")
    with pytest.raises(UsageError, match="it ends before byte"):
        provided("s", "k", "tensor<2xf32>", found["s", "w"])


def test_arrays_of_other_orders(tmp_path: Path) -> None:
    wanted = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez(tmp_path / "w.npz", k=np.asfortranarray(wanted).astype(">f4"))
    found = read_parameters([f"s={tmp_path / 'w.npz'}"])
    np.testing.assert_array_equal(provided("s", "k", "tensor<2x3xf32>", found["s", "k"]), wanted)


INPUT = """
shard.grid @g(shape = 2)
func.func @f(%w: tensor<40x33xf32>) -> tensor<40x33xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %w to %s annotate_for_users : tensor<40x33xf32>
  %r = arith.addf %a, %a : tensor<40x33xf32>
  return %r : tensor<40x33xf32>
}"""


def test_inputs_come_from_files_of_weights(weight_file: Path) -> None:
    program, out = weight_file.with_name("p.mlir"), weight_file.with_name("out.npy")
    program.write_text(INPUT)
    code, _, stderr = mesh_run(
        str(program), "-p=spmd", f"--input=@{weight_file}:w", f"--output=@{out}"
    )
    assert (code, stderr) == (0, "")
    np.testing.assert_array_equal(np.load(out), 2 * WEIGHT)
    code, _, stderr = mesh_run(str(program), f"--input=@{weight_file}:x")
    known = "v, w" if weight_file.suffix == ".irpa" else "w"
    assert (code, stderr) == (1, f"mesh-run: '{weight_file}' has no array 'x', but {known}\n")
    if weight_file.suffix == ".irpa":
        code, _, stderr = mesh_run(str(program), f"--input=@{weight_file}:v")
        assert "input 0 has 3 bytes, expected the bytes of tensor<40x33xf32>" in stderr


def test_weights_are_mapped_and_cut_by_devices(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    described = {"w": {"dtype": "F32", "shape": [40, 33], "data_offsets": [0, WEIGHT.nbytes]}}
    header = json.dumps(described).encode()
    path.write_bytes(tensors(header.ljust(-(-len(header) // 8) * 8), WEIGHT.tobytes()))
    (weights,) = api.mapped_arrays(path).values()
    assert not weights.flags.owndata and not weights.flags.writeable
    function = api.compile(INPUT, "spmd").f
    read: list[tuple[slice, ...]] = []

    class Seen:
        shape = weights.shape

        def __getitem__(self, part: tuple[slice, ...]) -> np.ndarray:
            read.append(part)
            return weights[part]

    placed = function.place(0, Seen())
    assert [(part[0].start, part[0].stop) for part in read] == [(0, 20), (20, 40)]
    np.testing.assert_array_equal(function(placed), 2 * WEIGHT)
    np.testing.assert_array_equal(function(function.put(weights, 0)), 2 * WEIGHT)
    with pytest.raises(UsageError, match=r"expected one of \.irpa, \.npz, \.safetensors"):
        api.mapped_arrays(tmp_path / "w.bin")
