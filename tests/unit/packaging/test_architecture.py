"""The layout of the repository: what imports what, and what `mesh-opt` loads when it starts."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

ALLOWED: dict[str, set[str]] = {
    "sharding": set(),
    "tiling": set(),
    "ir": {"sharding", "tiling"},
    "dialects": {"ir", "sharding", "tiling"},
    "passes": {"dialects", "ir", "sharding", "tiling"},
    "runtime": {"codegen", "ir", "sharding", "tiling"},
    "interpreter": {"dialects", "ir", "runtime", "sharding", "tiling"},
    "codegen": {"dialects", "interpreter", "ir", "runtime", "sharding", "tiling"},
}
"""What a folder may import of the others; those `ON_TOP` may import everything.
`docs/architecture.md` gives the reasons. `codegen` is two layers with the runtime between them:
kernels below it, which is what the next test holds apart, and host code above."""

ON_TOP = ("tools", "programs", "frontends")
"""What may import everything."""

TOP_FILES = ("api.py", "extend.py", "saved_programs.py")
"""The same, as files of the root."""

NO_IR = ("sharding", "tiling")


def _files() -> list[Path]:
    """The files of the package."""
    folders = (ROOT / folder for folder in (*ALLOWED, *ON_TOP))
    inner = (path for folder in folders for path in sorted(folder.rglob("*.py")))
    return [*(ROOT / name for name in TOP_FILES), *inner]


@cache
def _import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """All of a file, lazy ones, too."""
    nodes = _statements(_parsed(path).body)
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _statements(body: Iterable[ast.AST]) -> list[ast.AST]:
    """All statements; expressions, which are most of a tree, have no imports in them."""
    found = list(body)
    for node in found:
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            inner = getattr(node, part, None)
            found += inner if isinstance(inner, list) else ()
    return found


def _imports(path: Path) -> set[str]:
    """The modules that a file imports, lazily or not; ours as `mesh_opt.folder.file`."""
    return _imports_of(path, _import_statements(path))


def _imports_of(path: Path, nodes: Iterable[ast.AST]) -> set[str]:
    package = ("mesh_opt", *path.relative_to(ROOT).parent.parts)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            if node.module:
                base = (*base, node.module)
                found.add(".".join(base))
            found |= {".".join((*base, name.name)) for name in node.names}
    return found


def _folder_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "mesh_opt" and len(parts) > 1 else None


@pytest.mark.parametrize("folder", ALLOWED)
def test_imports_point_downward(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for module in sorted(_imports(path))
        if (target := _folder_of(module)) is not None
        and target != folder
        and target not in ALLOWED[folder]
    ]
    assert not wrong


def test_interpreter_imports_two_parts_of_the_runtime() -> None:
    """How elements are stored, also for LAPACK, and which processes meet in a collective."""
    allowed = ("mesh_opt.runtime.abi", "mesh_opt.runtime.collectives")
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / "interpreter").rglob("*.py"))
        for module in sorted(_imports(path))
        if _folder_of(module) == "runtime" and not module.startswith(allowed)
    ]
    assert not wrong


PACKAGES = {
    "codegen/kernels": (
        "code",
        "elements",
        "loops",
        "linear_algebra",
        "moves",
        "sequential",
        "reductions",
        "products",
        ".",
    ),
    "interpreter": (".", "nests", "dialects"),
}
"""The packages of folders, and `.` for the folder's own files: each imports those before it."""


@pytest.mark.parametrize("folder", PACKAGES)
def test_packages_of_a_folder_import_those_before(folder: str) -> None:
    order = PACKAGES[folder]
    wrong = [
        f"{path.relative_to(ROOT)} imports {found.relative_to(ROOT)}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for found in sorted(_files_of(path))
        if (ROOT / folder) in found.parents
        and order.index(_package(folder, found)) > order.index(_package(folder, path))
    ]
    assert not wrong


def _package(folder: str, path: Path) -> str:
    """Return the package of a folder that a file is in."""
    first, *rest = path.relative_to(ROOT / folder).parts
    return first if rest else "."


def _files_of(path: Path) -> set[Path]:
    """The files of ours that a file imports."""
    return _paths(_imports(path))


def _paths(modules: Iterable[str]) -> set[Path]:
    parts = (module.split(".")[1:] for module in modules if _folder_of(module))
    return {found for each in parts if (found := ROOT.joinpath(*each).with_suffix(".py")).exists()}


def test_kernels_know_nothing_of_devices() -> None:
    """What the runtime takes from the backend, and all that this needs, stays below the runtime."""
    reached: set[Path] = set()
    waiting = list((ROOT / "runtime").glob("*.py"))
    for path in waiting:
        for found in _files_of(path) - reached:
            if found.parent.name != "runtime":
                reached.add(found)
                waiting.append(found)
    kernels = {path for path in reached if (ROOT / "codegen") in path.parents}
    assert ROOT / "codegen" / "cache.py" in kernels
    wrong = [
        f"{path.name} imports {found.relative_to(ROOT)}"
        for path in kernels
        for found in _files_of(path)
        if found.parent.name in ("interpreter", "host_code", "runtime")
    ]
    assert not wrong


def test_saved_programs_run_without_the_compiler() -> None:
    """What `runtime/saved/` reaches when it is imported is neither IR nor compiler."""
    reached = list((ROOT / "runtime" / "saved").glob("*.py"))
    for path in reached:
        reached += sorted(_files_at_import(path) - set(reached))
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in reached
        for module in sorted(_modules_at_import(path))
        if module.split(".")[0] == "xdsl" or _folder_of(module) not in (None, *RUNNING)
    ]
    assert not wrong


RUNNING = ("runtime", "sharding")
"""What a saved program runs with."""


def _modules_at_import(path: Path) -> set[str]:
    """The modules that importing a file imports."""
    return _imports_of(path, _parsed(path).body)


def _files_at_import(path: Path) -> set[Path]:
    return _paths(_modules_at_import(path))


@pytest.mark.parametrize("folder", NO_IR)
def test_algebra_knows_no_ir(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for module in sorted(_imports(path))
        if module.split(".")[0] == "xdsl"
    ]
    assert not wrong


def test_packages_import_each_other_relatively() -> None:
    """Type checkers and readers find a relative import without an installed package."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _files()
        for node in _import_statements(path)
        if isinstance(node, ast.ImportFrom)
        and node.level == 0
        and (node.module or "").split(".")[0] == "mesh_opt"
    ]
    assert not wrong


def test_files_import_each_other_in_one_order() -> None:
    """No cycles, lazy imports and those for types counted.

    So every file can be read and tested before those that use it.
    """
    sorter = TopologicalSorter({path: _files_of(path) - {path} for path in _files()})
    sorter.prepare()


PROGRAM = """
import io, json, sys
from mesh_opt.tools.mesh_opt import main
for arguments in json.loads(sys.argv[1]):
    code = main(arguments, io.StringIO(), io.StringIO(), sys.stderr)
    heavy = sorted(name for name in ("numpy", "llvmlite", "scipy") if name in sys.modules)
    print(*arguments, code, *heavy)
"""


def test_mesh_opt_loads_no_numerics() -> None:
    """One process for all: what one run loads stays loaded."""
    example = str(ROOT / "examples" / "mlp_dp_tp.mlir")
    runs = [
        ["--help"],
        ["--list-passes"],
        [example, "--verify-roundtrip"],
        [example, "--canonicalize", "--cse"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(runs)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [" ".join([*each, "0"]) for each in runs], done.stderr


def test_no_file_grows_out_of_hand() -> None:
    """A file is one concept; tables of operations may be a little longer."""
    wrong = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for path in _files()
        if (count := path.read_text(encoding="utf-8").count("\n")) > 500
    ]
    assert not wrong
