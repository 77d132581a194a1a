"""Files of arrays and parameters with some bytes changed: they are read, or refused in words."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from breadth import cases
from fuzzing import limits
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.runtime.abi.values import plain_type
from mesh_opt.tools.run.array_files import FileProblem
from mesh_opt.tools.run.inputs import read_inputs
from mesh_opt.tools.run.parameter_files import read_parameters
from stored_parameters import archive, tensors
from xdsl.dialects.builtin import TensorType, f32

INPUTS = cases(400, 100_000)
TYPES = [plain_type(TensorType(f32, shape)) for shape in ([4], [-1, 2])]


def _valid() -> dict[str, bytes]:
    first, second = np.arange(4, dtype=np.float32), np.ones((3, 2), np.float32)
    npy, npz, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, first)
    np.save(npy, second)
    np.savez(npz, arg0=first, arg1=second)
    np.savez_compressed(packed, arg0=first, arg1=second)
    described = {
        "a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
        "b": {"dtype": "BF16", "shape": [3, 2], "data_offsets": [16, 28]},
    }
    first_archive = archive({"a": first.tobytes()}, {"s": (b"\x01\x02", 3)})
    first_archive += bytes(-len(first_archive) % 16)
    linked = first_archive[:16] + struct.pack("<Q", len(first_archive)) + first_archive[24:]
    return {
        "a.npy": npy.getvalue(),
        "a.npz": npz.getvalue(),
        "b.npz": packed.getvalue(),
        "a.irpa": linked + archive({"b": b"xy"}, {}),
        "a.safetensors": tensors(described, bytes(28)),
    }


def _mutated(data: bytes, chooser: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chooser.choice((1, 1, 2, 5))):
        # The headers are at the start, and those of archives at the end.
        at = min(
            chooser.choice((chooser.randrange(130), chooser.randrange(len(changed)))),
            len(changed) - 1,
        )
        match chooser.randrange(4):
            case 0:
                changed[at] = chooser.randrange(256)
            case 1:
                del changed[at : at + chooser.randint(1, 9)]
            case 2:
                changed[at:at] = chooser.choice((b"(", b"-", b"9" * 12, b"\0", b"{", b"'|O'"))
            case _:
                changed[at] ^= 1 << chooser.randrange(8)
        if not changed:
            break
    return bytes(changed)


@pytest.mark.filterwarnings("ignore")
def test_damaged_files(tmp_path: Path) -> None:
    valid = _valid()
    for number in INPUTS:
        chooser = random.Random(number)
        name = chooser.choice(sorted(valid))
        path = tmp_path / name
        path.write_bytes(_mutated(valid[name], chooser))
        with limits(f"input {number}"):
            try:
                if path.suffix in (".npy", ".npz"):
                    read_inputs([f"@{path}"], TYPES)
                if path.suffix != ".npy":
                    found = read_parameters([str(path)]).values()
                    for parameter in (each for each in found if each.size < 1 << 24):
                        parameter.read()
            except (UsageError, FileProblem):
                pass
            except Exception as fault:
                pytest.fail(f"{number}: {type(fault).__name__}: {fault}")


@pytest.mark.parametrize("header", ["(" * 2000, "__import__('os').abort()", "{'shape': (1,", ""])
def test_headers_that_are_no_dictionary(tmp_path: Path, header: str) -> None:
    data = header.encode()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(data).to_bytes(2, "little") + data)
    with pytest.raises(UsageError, match="is not a NumPy file"):
        read_inputs([f"@{path}"], TYPES)
