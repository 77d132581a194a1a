"""The cache of native code: found again by another process, and never trusted blindly."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest
from mesh_opt.backend import kernel_cache
from numba import types


def make(name: str) -> FunctionType:
    namespace: dict = {}
    exec(f"def {name}(x):\n    return x + 41", namespace)
    return namespace[name]


def call(text: str = "plus 41") -> int:
    kernel_cache._loaded.clear()
    native = kernel_cache.compile_native(text, make, [types.int64], types.int64)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(native.address)(1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "kernels"
    monkeypatch.setenv(kernel_cache.CACHE_VARIABLE, str(found))
    return found


def test_the_folder_is_private_and_holds_the_code(folder: Path) -> None:
    assert call() == 42
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) == 1


def test_another_process_finds_the_code(folder: Path) -> None:
    assert call() == 42
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from mesh_opt.backend import kernel_cache\n"
        "import test_kernel_cache as t\n"
        "kernel_cache._compile = None\n"
        "print(t.call())"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "42\n", done.stderr
    assert file.stat().st_mtime_ns == before


def test_a_damaged_file_is_made_anew(folder: Path) -> None:
    call("another")
    (file,) = folder.iterdir()
    good = file.read_bytes()
    file.write_bytes(good[:-5] + b"wrong")
    with pytest.raises(ValueError, match="damaged"):
        kernel_cache._unpack(file.read_bytes())
    file.write_bytes(b"")
    with pytest.raises(ValueError, match="damaged"):
        kernel_cache._unpack(file.read_bytes())


def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert call("writable") == 42
    assert not list(folder.iterdir())


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir(mode=0o700)
    folder.symlink_to(real)
    assert call("linked") == 42
    assert not list(real.iterdir())


def test_a_file_of_another_mode_is_not_read(folder: Path) -> None:
    call("private")
    (file,) = folder.iterdir()
    file.chmod(0o666)
    with pytest.raises(OSError, match="own file"):
        kernel_cache._read(file)


def test_no_cache_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel_cache.CACHE_VARIABLE, "")
    assert call("uncached") == 42
    assert os.environ[kernel_cache.CACHE_VARIABLE] == ""
