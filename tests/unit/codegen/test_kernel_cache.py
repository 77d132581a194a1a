"""The cache of native code: found again by another process, and never trusted blindly."""

from __future__ import annotations

import ctypes
import errno
import gc
import hashlib
import os
import resource
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
from mesh_opt.codegen import cache as kernel_cache
from mesh_opt.runtime.abi import private_cache
from mesh_opt.runtime.abi.private_cache import CACHE_VARIABLE, read_private


def make(name: str) -> str:
    return f"define i64 @{name}(i64 %x) {{\n  %sum = add i64 %x, 41\n  ret i64 %sum\n}}"


def call(text: str = "plus 41") -> int:
    forget()
    native = kernel_cache.compile_llvm(text, make)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(native.address)(1)


def forget() -> None:
    """Drop what is kept in memory."""
    kernel_cache._loaded.clear()
    kernel_cache._recent.clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path / kernel_cache.KERNELS


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
        "from mesh_opt.codegen import cache as kernel_cache\n"
        "import test_kernel_cache as t\n"
        "kernel_cache.compile_in_parallel = None\n"
        "print(t.call())"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "42\n", done.stderr
    assert file.stat().st_mtime_ns == before


def test_least_recently_used_is_evicted_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process looks at the folder once, when it adds to it; reading counts by the day."""
    assert call("first") == 42
    (first,) = folder.iterdir()
    assert call("second") == 42
    (second,) = set(folder.iterdir()) - {first}
    for age, file in ((3, first), (2, second)):
        then = time.time() - age * 86400
        os.utime(file, (then, then))
    assert call("first") == 42 and first.stat().st_mtime > second.stat().st_mtime
    monkeypatch.setattr(kernel_cache, "MAX_FOLDER_BYTES", 2 * first.stat().st_size)
    assert call("third") == 42 and len(list(folder.iterdir())) == 3
    kernel_cache._drop_oldest.cache_clear()
    assert call("fourth") == 42
    assert len(list(folder.iterdir())) == 2 and second not in folder.iterdir()


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "no code"])
def test_a_damaged_file_is_made_anew(folder: Path, damage: str) -> None:
    assert call("another") == 42
    (file,) = folder.iterdir()
    good = file.read_bytes()
    damaged = {
        "empty": b"",
        "cut": good[:-5],
        "changed": good[:-5] + b"wrong",
        "no code": hashlib.sha256(b"").digest(),
    }
    file.write_bytes(damaged[damage])
    assert call("another") == 42
    assert file.read_bytes() == good
    assert list(folder.iterdir()) == [file]


@pytest.mark.parametrize("failing", ["write", "rename"])
def test_a_full_disk_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if failing == "rename":
        monkeypatch.setattr(os, "replace", fail)
        assert call("rename") == 42
    else:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            assert call("write") == 42
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(folder.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount a file system")
def test_a_full_file_system_leaves_nothing_behind(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system")
    try:
        (folder / "ballast").write_bytes(bytes(3000))
        assert call("full") == 42
        assert [each.name for each in folder.iterdir()] == ["ballast"]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a folder away")
def test_a_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    assert call("foreign") == 42
    assert not list(folder.iterdir())


def test_code_is_unloaded_and_loaded_again(folder: Path) -> None:
    natives = [kernel_cache.compile_llvm(f"plus 41, {number}", make) for number in range(2)]
    code = weakref.ref(natives[0]._code)
    other = weakref.ref(natives[1]._code)
    forget()
    assert natives.pop(0).name != natives[0].name
    gc.collect()
    assert code() is None and other() is not None
    natives.clear()
    gc.collect()
    assert other() is None
    assert call("plus 41, 0") == 42


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
        read_private(file)


def test_no_cache_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "")
    assert call("uncached") == 42
    assert os.environ[CACHE_VARIABLE] == ""


def test_relative_folders_of_the_environment_are_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would appear wherever a tool is started."""
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    for text, expected in ((str(home), home / ".cache" / "mesh-opt" / "some"), ("home", None)):
        monkeypatch.setenv("HOME", text)
        private_cache._folder_at.cache_clear()
        assert private_cache.cache_folder("some") == expected
    private_cache._folder_at.cache_clear()
    assert not list(here.iterdir())
