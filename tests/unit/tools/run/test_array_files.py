"""NumPy's files as inputs: read right, or refused in words before anything large is read."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.runtime.abi.values import plain_type
from mesh_opt.tools.run import array_files, value_text
from mesh_opt.tools.run.inputs import EXPECTED, read_inputs, read_values
from xdsl.dialects.builtin import IntegerType, TensorType, bf16, f32, f64, i32

FOUR = TensorType(f32, [4])
VALUES = np.arange(4, dtype=np.float32)


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def described(
    descr: str = "'<f4'", shape: str = "(4,)", order: str = "False", data: bytes = VALUES.tobytes()
) -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", data)


def read(path: Path, *types: TensorType) -> list[np.ndarray]:
    return read_inputs([f"@{path}"], [plain_type(each) for each in types or [FOUR]])


@pytest.mark.parametrize(
    "data",
    [
        described(),
        described("'>f4'", data=VALUES.astype(">f4").tobytes()),
        described(shape="(4L,)"),
        npy('{"shape":(4,),"descr":"<f4","fortran_order":False}', VALUES.tobytes()),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", VALUES.tobytes(), 2),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", VALUES.tobytes(), 3),
    ],
    ids=["plain", "byte order", "long", "other writer", "version 2", "version 3"],
)
def test_forms_of_the_header(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    (found,) = read(path)
    np.testing.assert_array_equal(found, VALUES)


def test_fortran_order(tmp_path: Path) -> None:
    wanted = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    np.save(tmp_path / "a.npy", np.asfortranarray(wanted))
    np.savez(tmp_path / "a.npz", in0=np.asfortranarray(wanted))
    for name in ("a.npy", "a.npz"):
        (found,) = read(tmp_path / name, TensorType(f64, [2, 3, 4]))
        np.testing.assert_array_equal(found, wanted)


def test_types_that_numpy_does_not_know(tmp_path: Path) -> None:
    array = np.array([1, 2, 3, 4], ml_dtypes.bfloat16)
    np.save(tmp_path / "a.npy", array)
    (found,) = read(tmp_path / "a.npy", TensorType(bf16, [4]))
    np.testing.assert_array_equal(found, array)
    with pytest.raises(UsageError, match=r"input 0 is of raw bytes \('<V2'\), expected"):
        read(tmp_path / "a.npy", TensorType(IntegerType(16), [4]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (described("[('a', '<f4')]"), "holds elements with fields"),
        (described("[('a', '<f2'), ('b', '<f2')]"), "holds elements with fields"),
        (described("('<f4', (2,))", "(2,)"), "holds elements with fields"),
        (described("'|V4'"), "is of raw bytes"),
        (described("'|O'", data=pickle.dumps(1)), "holds Python objects"),
        (described("'<U1'"), "holds elements of '<U1'"),
        (described("'<f3'"), "holds elements of '<f3'"),
        (described("'<f8'", data=bytes(32)), "input 0 is of float64, expected tensor<4xf32>"),
        (described(shape="(2, 2)"), "input 0 has shape 2x2, expected tensor<4xf32>"),
        (described(shape="(-4,)"), "does not describe an array of numbers"),
        (described(shape="(True, 4)"), "does not describe an array of numbers"),
        (described(shape="(4)"), "does not describe an array of numbers"),
        (described(order="0"), "does not describe an array of numbers"),
        (described(shape="(1152921504606846976,)"), "declares 4611686018427387904 bytes"),
        (described(shape=f"({'9' * 5000},)"), "does not describe an array of numbers"),
        (described(shape="(0, 4294967296, 4294967296, 4294967296)", data=b""), "has shape 0x42"),
        (described(data=VALUES.tobytes()[:9]), "declares 16 bytes of elements, but only 9 follow"),
        (described() + b"x", "has data behind an array"),
        (npy("(" * 2000), "does not describe an array of numbers"),
        (npy("__import__('os').abort()"), "does not describe an array of numbers"),
        (npy("{'descr': '<f4', 'descr': '<f4', 'shape': (4,)}"), "does not describe an array"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "has a header of 4294967295 bytes"),
        (b"\x93NUMPY\x09\x00", "is of version 9"),
        (pickle.dumps(VALUES), "does not begin with a NumPy array"),
        (b"", "is empty"),
    ],
)
def test_rejected_files(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message):
        read(path)


def test_an_empty_array_that_numpy_cannot_have(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(described(shape=f"(0, {1 << 62}, {1 << 62})", data=b""))
    with pytest.raises(UsageError, match="holds an array that NumPy cannot have"):
        read(path, TensorType(f32, [-1, -1, -1]))


# Archives -----------------------------------------------------------------------------------------


def peak_of(work: Callable[[], None]) -> int:
    """The bytes that Python and NumPy hold at most while something is done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def inflating(path: Path, header: bytes, megabytes: int) -> None:
    """An archive of a few kilobytes whose member holds a header and then zeros."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("in0.npy", "w", force_zip64=True) as member,
    ):
        member.write(header)
        for _ in range(megabytes):
            member.write(bytes(1 << 20))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (described(shape="(8388608,)", data=b""), "input 0 has shape 8388608"),
        (described(), "has data behind an array"),
        (described("'<f8'", shape="(4194304,)", data=b""), "input 0 is of float64"),
    ],
    ids=["shape", "behind", "type"],
)
def test_archives_that_inflate(tmp_path: Path, header: bytes, message: str) -> None:
    path = tmp_path / "a.npz"
    inflating(path, header, 32)
    assert path.stat().st_size < 1 << 16

    def refused() -> None:
        with pytest.raises(UsageError, match=message):
            read(path)

    assert peak_of(refused) < 4 << 20


def test_a_member_that_inflates_to_more_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    inflating(path, described(), 32)
    data = bytearray(path.read_bytes())
    said, wanted = struct.pack("<Q", len(described()) + (32 << 20)), len(described())
    # The size in the directory at the end is the one that is believed.
    at = data.rfind(said[:4])
    data[at : at + 4] = struct.pack("<I", wanted)
    path.write_bytes(data)

    def refused() -> None:
        with pytest.raises(UsageError, match="is not a NumPy file"):
            read(path)

    assert peak_of(refused) < 4 << 20


def test_a_wrong_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, in0=VALUES)
    data = path.read_bytes()
    path.write_bytes(data.replace(VALUES.tobytes(), VALUES[::-1].tobytes()))
    with pytest.raises(UsageError, match="damaged archive: Bad CRC-32"):
        read(path)


def test_members_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("in0.npy", described())
    with pytest.raises(UsageError, match="in an unknown compression format"):
        read(path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in0.npy", described())
        archive.writestr("in0.npy", described())
    with pytest.raises(UsageError, match="names 'in0' twice"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no array")
    with pytest.raises(
        UsageError, match=r"holds 'readme.txt', which does not begin with a NumPy array"
    ):
        read(path)


# Special files ----------------------------------------------------------------------------------


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(os.path.relpath(path))


@pytest.mark.parametrize(
    ("make", "kind"), [(Path.mkdir, "a directory"), (_pipe, "a pipe"), (_socket, "a socket")]
)
@pytest.mark.parametrize("option", ["@{}", "4xf32=@{}"])
def test_files_that_may_never_end(
    tmp_path: Path, make: Callable[[Path], object], kind: str, option: str
) -> None:
    path = tmp_path / "a.npy"
    make(path)
    with pytest.raises(UsageError, match=f"it is {kind}, expected a regular file"):
        read_inputs([option.format(path)], [plain_type(FOUR)])


@pytest.mark.parametrize("option", ["@{}", "4xf32=@{}"])
def test_devices_and_files_of_the_system(option: str) -> None:
    with pytest.raises(UsageError, match="it is a device"):
        read_inputs([option.format("/dev/zero")], [plain_type(FOUR)])
    with pytest.raises(UsageError, match=r"is empty|has 0 bytes"):
        read_inputs([option.format("/proc/kmsg")], [plain_type(FOUR)])
    with pytest.raises(UsageError, match="cannot read"):
        read_inputs([option.format("a\0b")], [plain_type(FOUR)])


def test_raw_bytes_are_counted_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with path.open("wb") as file:
        file.truncate(1 << 35)
    with pytest.raises(UsageError, match="has 34359738368 bytes, expected 16"):
        read_inputs([f"4xf32=@{path}"], [plain_type(FOUR)])


def test_more_than_the_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    for module in (array_files, value_text):
        monkeypatch.setattr(module, "exceeds_memory", lambda size: size > 15)
    with pytest.raises(UsageError, match="holds 16 bytes, more than this machine has"):
        read(tmp_path / "a.npy", TensorType(f32, [-1]))
    for text in ("4xf32=1", "4xf32"):
        with pytest.raises(UsageError, match="has 4 elements, more than this machine can hold"):
            read_inputs([text], [plain_type(FOUR)])


# Elements -----------------------------------------------------------------------------------------


def test_expected_results_are_told_apart_by_their_type(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(UsageError, match="result 0 is of float32, expected tensor<4xi32>"):
        read_values([f"@{tmp_path / 'a.npy'}"], [plain_type(TensorType(i32, [4]))], EXPECTED)
