"""What is built from the repository: every folder is in the wheel, and nothing else is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from breadth import NIGHTLY

ROOT = Path(__file__).parents[3]
NOT_PACKAGES = {"tests", "benchmarks", "docs", "examples", "build", "dist"}


def _modules() -> list[Path]:
    """The Python files of the package: what lies beside it, as an environment does, is not read."""
    inner = (
        path
        for folder in ROOT.iterdir()
        if folder.name not in NOT_PACKAGES and not folder.name.startswith(".")
        for path in folder.rglob("*.py")
    )
    return sorted([*ROOT.glob("*.py"), *inner])


def _packages_by_folder() -> list[str]:
    """The packages that the folders with an `__init__.py` stand for."""
    folders = (path.parent.relative_to(ROOT) for path in _modules() if path.name == "__init__.py")
    return [".".join(("mesh_opt", *folder.parts)) for folder in folders]


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_folder_is_listed() -> None:
    assert sorted(_project()["tool"]["setuptools"]["packages"]) == sorted(_packages_by_folder())


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in _modules()}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def test_init_files_hold_a_docstring_only() -> None:
    import ast

    wrong = []
    for name in _packages_by_folder():
        path = ROOT.joinpath(*name.split(".")[1:], "__init__.py")
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if len(body) != 1 or not isinstance(body[0], ast.Expr):
            wrong.append(name)
    # The package itself gives the front ends, see there.
    assert wrong == ["mesh_opt"]


@pytest.mark.skipif(not NIGHTLY, reason="a build in an environment of its own takes seconds")
def test_wheel_holds_every_package(tmp_path: Path) -> None:
    """Built from a copy, so that nothing of the build stays behind in the repository."""
    copy = tmp_path / "source"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if files.returncode != 0:
        pytest.skip("not a git checkout: cannot tell which files belong to it")
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0 and "No matching distribution" in built.stdout + built.stderr:
        pytest.skip("the build backend cannot be fetched: no package index is reachable")
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        str(Path("mesh_opt") / path.relative_to(copy))
        for name in _packages_by_folder()
        for path in copy.joinpath(*name.split(".")[1:]).glob("*.py")
    }
    assert expected <= names
    assert {"mesh_opt/py.typed", "mesh_opt/tools/html_report/report.js"} <= names
    foreign = {name for name in names if name.endswith(".py")} - expected
    assert not foreign
    entry_points = next(name for name in names if name.endswith("entry_points.txt"))
    text = zipfile.ZipFile(wheel).read(entry_points).decode()
    assert "mesh-opt = mesh_opt.tools.mesh_opt:main_console" in text
