"""What the pages of `docs/` name exists, and the commands that they show work."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
from copy import copy
from fnmatch import fnmatch
from pathlib import Path

import pytest
from breadth import NIGHTLY
from mesh_opt import extend
from mesh_opt.dialects.registry import OWN_DIALECTS
from mesh_opt.passes.registry import ALIASES, OWN_PASSES
from mesh_opt.passes.sharding.partition import registry as partition_handlers
from mesh_opt.tools.lit_run_lines import TOOLS
from mesh_opt.tools.remarks import REMARKS
from mpi_ranks import need_ranks
from tool_runs import result_of
from xdsl.ir import Dialect

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
OURS = (
    "api.py",
    "extend.py",
    "benchmarks",
    "codegen",
    "dialects",
    "docs",
    "examples",
    "frontends",
    "interpreter",
    "ir",
)
OURS += (
    "passes",
    "programs",
    "runtime",
    "saved_programs.py",
    "sharding",
    "tests",
    "tiling",
    "tools",
    ".ci",
    "Makefile",
)
FILES = [
    path.relative_to(ROOT).as_posix()
    for name in OURS
    for path in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else (ROOT / name,))
    if path.is_file() and path.suffix != ".pyc"
]
GENERATED = re.compile(
    r"(<!-- mesh-(?:opt|run) [^\n]*-->\n)```\w+\n.*?^```$", re.MULTILINE | re.DOTALL
)


def _prose(page: Path) -> str:
    """A page without the blocks of IR that are generated."""
    return GENERATED.sub(r"\1", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_exist(page: Path) -> None:
    assert _wrong_files(_prose(page), page.parent) == []


SOURCES = [ROOT / path for path in FILES if path.endswith(".py")]


_FILE = re.compile(r"`([\w/*.]+\.(?:py|mlir|md))`")


def test_files_named_in_docstrings_exist() -> None:
    wrong: dict[str, list[str]] = {}
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        if not _FILE.search(source):
            continue
        tree = ast.parse(source)
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
        if found := _wrong_files(" ".join(filter(None, texts)), path.parent):
            wrong[path.relative_to(ROOT).as_posix()] = found
    assert wrong == {}


def _wrong_files(text: str, folder: Path) -> list[str]:
    """Names of files that are neither below the root, nor below a folder, nor of one file alone."""
    names = sorted(set(_FILE.findall(text)))
    return [
        name
        for name in names
        if not any(ROOT.glob(name))
        and not any(folder.glob(name))
        and sum(fnmatch(path, f"*/{name}") for path in FILES) != 1
    ]


def _defined(path: Path) -> set[str]:
    """The functions and classes of a file; methods behind their class and a dot."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {node.name, *(f"{node.name}.{each.name}" for each in inner)}
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_functions_in_tables_exist(page: Path) -> None:
    """A row with a file and a function behind it names one that the file defines."""
    rows = re.findall(r"\| `([\w/]+\.py)` \| `([\w.]+)` \|", _prose(page))
    assert [row for row in rows if row[1] not in _defined(ROOT / row[0])] == []
    assert rows or page.stem != "architecture"


def test_walks_are_as_long_as_they_say() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for section in text.split("\n## "):
        for count in re.findall(r"in (\d+) steps", section):
            numbers = re.findall(r"^\| (\d+) \|", section, re.MULTILINE)
            assert numbers == [str(number) for number in range(1, int(count) + 1)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    broken: list[str] = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)", _prose(page)):
        path = (page.parent / target).resolve() if target else page
        if "://" in target:
            continue
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}
        if anchor and anchor not in anchors:
            broken.append(f"{target}#{anchor}")
    assert not broken


def test_every_page_is_listed() -> None:
    contents = (DOCS / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\]\((\w+\.md)\)", contents))
    assert listed == {page.name for page in PAGES} - {"README.md"}


def test_every_page_is_in_the_site() -> None:
    contents = runpy.run_path(str(DOCS / "conf.py"))["CONTENTS"]
    listed = [page for pages in contents.values() for page in pages.split()]
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.stem != "README")


def test_every_pass_has_its_reference() -> None:
    page = (DOCS / "passes.md").read_text(encoding="utf-8")
    described = re.findall(r"<!-- mesh-opt --help-pass=([\w-]+) -->", page)
    assert described == sorted(OWN_PASSES.keys() - ALIASES.keys())


def test_every_dialect_has_its_reference() -> None:
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    described = re.findall(r"<!-- mesh-opt --help-dialect=(\w+) -->", page)
    assert described == [name for name, load in sorted(OWN_DIALECTS.items()) if _is_own(load())]


def _is_own(dialect: Dialect) -> bool:
    """Whether a dialect has no operation of xDSL."""
    return not any(each.__module__.startswith("xdsl.") for each in dialect.operations)


def test_environment_variables_are_read() -> None:
    code = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in FILES if name[-3:] == ".py"
    )
    named = {name for page in PAGES for name in re.findall(r"MESH_OPT_[A-Z_]+", _prose(page))}
    assert {name for name in named if f'"{name}"' not in code} == set()


def test_categories_of_remarks_exist() -> None:
    text = "".join(_prose(page) for page in PAGES)
    listed = re.findall(r"--remarks=([a-z,]+)", text) + re.findall(r"category `([a-z]+)`", text)
    named = {category for each in listed for category in each.split(",")}
    assert named >= {"backend", "sharding"}
    assert named - {*REMARKS, "category"} == set()


def test_every_pass_is_named() -> None:
    named = {name for page in PAGES for name in re.findall(r"`([a-z-]+)`", _prose(page))}
    assert OWN_PASSES.keys() - named == set()


WRITES = re.compile(r"^--(?:report|profile-actions-to|mlir-\S*(?:tree-dir|reproducer))=")
"""Options that name what a tool writes."""


def _commands() -> list[str]:
    """The commands of all pages that name a program of the repository, and not in the README."""
    text = "".join(_prose(page) for page in PAGES).replace("\\\n", " ")
    lines = re.findall(r"^(?: {4})?(mesh-(?:opt|run) (?:docs/)?examples/.*)$", text, re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace(".venv/bin/", "")
    tested = {frozenset(line.split()) for line in readme.splitlines()}
    return sorted({line for line in lines if frozenset(line.split()) not in tested})


@pytest.mark.parametrize("command", _commands())
def test_command(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    program, *words = shlex.split(command, comments=True)
    if "--ranks" in command:
        if not NIGHTLY:
            pytest.skip("each rank takes seconds, and `test_start_ranks.py` starts some")
        need_ranks()
    arguments = [WRITES.sub(rf"\g<0>{tmp_path}/", word) for word in words]
    code, output, errors = result_of(TOOLS[program], arguments)
    assert code == 0, errors
    assert output or "-o" in arguments


def test_an_operation_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example ends in an assertion of its own. Its names are those of the package too."""
    partition_handlers._load()  # Else those that are loaded meanwhile would be forgotten.
    monkeypatch.setattr(partition_handlers, "_HANDLERS", copy(partition_handlers._HANDLERS))
    page = (DOCS / "extending.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {"__name__": "extending"}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if "lit_format" not in code:
            exec(code, scope)
    assert "acme.double %x : tensor<2x3xf32>" in str(scope["module"])


@pytest.mark.parametrize("page", ["python", "tutorial", "cookbook"])
def test_python_of_a_page(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page are one program, and its assertions hold."""
    monkeypatch.chdir(ROOT)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {"__name__": page}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for code in blocks:
        exec(code, scope)
    assert blocks


def test_packages_import_stable_names_alone() -> None:
    """What the pages and the examples import is `mesh_opt.api` or a name of `mesh_opt.extend`."""
    pages = [ROOT / "README.md", *PAGES, *(ROOT / "examples").rglob("*.py")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    modules = set(re.findall(r"^from (mesh_opt[\w.]*) import", text, re.MULTILINE))
    # The format of tests needs lit, which the package does not.
    assert modules <= {"mesh_opt.api", "mesh_opt.extend", "mesh_opt.tools.lit_format"}
    for name in extend.__all__:
        assert getattr(extend, name) is not None
