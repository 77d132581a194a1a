"""A package of somebody else, installed in a folder.

Its passes and dialects are found, the kinds of its sharding rules are used, and what it does wrong
is told with its names.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tool_runs
from mesh_opt.api import compile
from mesh_opt.extend import impl, impl_with_regions, partition, sharding_rule
from mesh_opt.tools import plugins
from tool_runs import Result

OPERATIONS = """
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

NAMES = ("row_sum row_max row_mean mixed bad_rule bad_ranks bad_extents bad_kinds bad_handler"
         " bad_type bad_string bad_result bad_silent bad_count bad_list bad_bare"
         " bad_run bad_drive bad_kernel bad_verifier").split()

def operation(short):
    class Op(IRDLOperation):
        name = f"zeta.{short}"
        source = operand_def(TensorType)
        result = result_def(TensorType)
        assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
        def verify_(self):
            if short == "bad_verifier":
                raise TypeError("no type")
    Op.__name__ = short
    return irdl_op_definition(Op)

from . import rules, meanings, solver
Zeta = Dialect("zeta", [operation(name) for name in NAMES], [solver.ZetaSolver])
"""

RULES = """
from mesh_opt.extend import ReductionKind, RuleBuilder, elementwise_rule, partition, sharding_rule

def rows(operation, *kinds):
    builder = RuleBuilder(operation)
    shape = operation.source.type.get_shape()
    builder.operand(0, 0, row := builder.factor(shape[0]))
    for dimension, kind in enumerate(kinds, 1):
        builder.operand(0, dimension, builder.reduction(shape[dimension], kind))
    builder.result(0, 0, row)
    return builder.build()

@sharding_rule("zeta.row_sum")
def row_sum(operation):
    return rows(operation, ReductionKind.SUM)

@sharding_rule("zeta.row_max")
def row_max(operation):
    return rows(operation, ReductionKind.MAX)

@sharding_rule("zeta.row_mean")
def row_mean(operation):
    return rows(operation, ReductionKind.AVERAGE)

@sharding_rule("zeta.mixed")
def mixed(operation):
    return rows(operation, ReductionKind.MAX, ReductionKind.SUM)

@sharding_rule("zeta.bad_rule")
def bad_rule(operation):
    return 1 // 0

@sharding_rule("zeta.bad_ranks")
def bad_ranks(operation):
    builder = RuleBuilder(operation)
    builder.operand_dimensions(0, [()])
    return builder.build()

@sharding_rule("zeta.bad_extents")
def bad_extents(operation):
    builder = RuleBuilder(operation)
    row, column = builder.factor(4), builder.factor(6)
    builder.operand_dimensions(0, [(row,), (column,)])
    builder.result_dimensions(0, [(column,), (row,)])
    return builder.build()

@sharding_rule("zeta.bad_kinds")
def bad_kinds(operation):
    builder = RuleBuilder(operation)
    builder.operand(0, 1, builder.reduction(6))
    return builder.build()

@sharding_rule("zeta.bad_type")
def bad_type(operation):
    return "rows"

@sharding_rule("zeta.bad_string")
def bad_string(operation):
    return rows(operation, "sum")

@sharding_rule("zeta.bad_result")
def bad_result(operation):
    builder = RuleBuilder(operation)
    builder.result(0, 1, builder.reduction(6, ReductionKind.SUM))
    return builder.build()

@partition("zeta.bad_silent")
def bad_silent(partitioner, operation):
    pass

@sharding_rule("zeta.bad_silent", "zeta.bad_count", "zeta.bad_list", "zeta.bad_bare")
@sharding_rule("zeta.bad_handler", "zeta.bad_run", "zeta.bad_drive", "zeta.bad_kernel")
def elementwise(operation):
    return elementwise_rule(operation)

@partition("zeta.bad_handler")
def bad_handler(partitioner, operation):
    raise KeyError("lost")
"""

MEANINGS = """
from mesh_opt.extend import impl, impl_with_regions

@impl("zeta.row_sum")
def row_sum(operation, operands, frame):
    return (operands[0].sum(1),)

@impl("zeta.row_max")
def row_max(operation, operands, frame):
    return (operands[0].max(1),)

@impl("zeta.row_mean")
def row_mean(operation, operands, frame):
    return (operands[0].mean(1),)

@impl("zeta.mixed")
def mixed(operation, operands, frame):
    return (operands[0].sum(2).max(1),)

@impl("zeta.bad_count")
def bad_count(operation, operands, frame):
    return ()

@impl("zeta.bad_list")
def bad_list(operation, operands, frame):
    return (operands[0].tolist(),)

@impl("zeta.bad_bare")
def bad_bare(operation, operands, frame):
    return operands[0]

@impl("zeta.bad_run")
def bad_run(operation, operands, frame):
    return {}["nothing"]

@impl_with_regions("zeta.bad_drive")
def bad_drive(operation, operands, frame):
    yield from ()
    raise AttributeError("gone")
"""

SOLVER = """
from mesh_opt.extend import EncodingSolverInterface
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

@irdl_attr_definition
class ZetaSolver(ParametrizedAttribute, EncodingSolverInterface):
    name = "zeta.solver"
    fails: StringAttr

    def configured(self, target):
        if self.fails.data == "nothing":
            return None
        return 1 // 0 if self.fails.data == "configured" else self

    def packed_layout(self, tensor):
        return {}["packed_layout"]

    def serialized(self, tensor):
        return "8x8" if self.fails.data == "type" else {}["serialized"]
"""

UNIVERSE = """
from dataclasses import dataclass
from xdsl.passes import ModulePass
from xdsl.universe import Universe

def dialect():
    from .operations import Zeta
    return Zeta

@dataclass(frozen=True)
class RenamePass(ModulePass):
    name = "zeta-rename"
    to: str = "renamed"

    def apply(self, ctx, op):
        from xdsl.dialects.builtin import StringAttr
        for function in op.walk():
            if function.name == "func.func":
                function.properties["sym_name"] = StringAttr(self.to)

@dataclass(frozen=True)
class CrashPass(ModulePass):
    name = "zeta-crash"

    def apply(self, ctx, op):
        raise ZeroDivisionError("no zeros")

UNIVERSE = Universe(
    all_dialects={"zeta": dialect},
    all_passes={"zeta-rename": lambda: RenamePass, "zeta-crash": lambda: CrashPass},
)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package, with what an installer writes next to it."""
    folder = tmp_path_factory.mktemp("site")
    files = {
        "zeta_package/__init__.py": "",
        "zeta_package/operations.py": OPERATIONS,
        "zeta_package/rules.py": RULES,
        "zeta_package/meanings.py": MEANINGS,
        "zeta_package/solver.py": SOLVER,
        "zeta_package/universe.py": UNIVERSE,
        "zeta_package-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: zeta-package\n",
        "zeta_package-1.0.dist-info/entry_points.txt": (
            "[xdsl.universe]\nzeta = zeta_package.universe:UNIVERSE\n"
        ),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def _forget() -> None:
    plugins.universes.cache_clear()
    plugins.without_plugin.clear()
    importlib.invalidate_caches()


@pytest.fixture
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [str(package), *sys.path])
    _forget()
    yield
    _forget()


def opt(text: str, *arguments: str) -> Result:
    return tool_runs.mesh_opt(*arguments, text=text)


def run(text: str, *arguments: str) -> Result:
    return tool_runs.mesh_run("-", *arguments, text=text)


PLAIN = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"


@pytest.mark.usefixtures("installed")
def test_passes_are_found() -> None:
    assert "  zeta-crash\n  zeta-rename\n" in opt("", "--list-passes")[1]
    assert "@renamed" in opt(PLAIN, "--zeta-rename")[1]
    assert "@g(" in opt(PLAIN, "--zeta-rename=to=g")[1]
    assert "@g(" in opt(PLAIN, "--pass-pipeline=builtin.module(cse,zeta-rename{to=g},spmd)")[1]
    assert "did you mean 'zeta-rename'" in opt(PLAIN, "-p", "zeta-renam")[2]
    assert "EXEC @g\n" in run(PLAIN, "-p", "zeta-rename{to=g}", "--random-inputs=0")[1]
    assert "g" in compile(PLAIN, "zeta-rename{to=g}").functions


def test_passes_of_packages_that_are_not_installed() -> None:
    _forget()
    assert "there is no option or pass '--zeta-rename'" in opt(PLAIN, "--zeta-rename")[2]


def test_a_package_that_cannot_be_loaded(monkeypatch, tmp_path: Path) -> None:
    info = tmp_path / "broken_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[xdsl.universe]\nbroken = broken_package.x:Y\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    _forget()
    code, _, errors = opt(PLAIN, "--zeta-rename")
    assert code == 1
    assert errors == (
        "mesh-opt: cannot load 'broken_package.x:Y', entry point 'broken' of xdsl.universe:"
        " ModuleNotFoundError: No module named 'broken_package'\n"
    )
    unknown = '"zeta.unknown"() : () -> ()'
    assert "'broken_package.x:Y'" in opt(unknown)[2]
    # Who does not need the package is not told of it.
    assert opt(PLAIN, "--spmd")[0] == 0
    assert opt(unknown, "--allow-unregistered-dialect")[0] == 0
    _forget()


def program(operation: str, source: str = "4x6", result: str = "4", axes: str = "[[], [0]]") -> str:
    return f"""shard.grid @g(shape = 2)
func.func @main(%x: tensor<{source}xf32>) -> tensor<{result}xf32> {{
  %s = shard.sharding @g split_axes = {axes} : !shard.sharding
  %a = shard.shard %x to %s : tensor<{source}xf32>
  %y = zeta.{operation} %a : tensor<{source}xf32> -> tensor<{result}xf32>
  return %y : tensor<{result}xf32>
}}
"""


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("text", "collective"),
    [
        (program("row_sum"), "shard.all_reduce %y on @g grid_axes = [0] : tensor<4xf32>"),
        (program("row_max"), "shard.all_reduce %y on @g grid_axes = [0] reduction =  max"),
        (program("row_mean"), "shard.all_reduce %y on @g grid_axes = [0] reduction =  average"),
        # Of unequal shards averages do not count alike.
        (program("row_mean", "4x5"), "shard.all_to_all"),
        # A maximum of sums: only the maximum is split.
        (program("mixed", "4x6x2"), "reduction =  max"),
        (program("mixed", "4x2x6", axes="[[], [], [0]]"), "shard.all_to_all"),
    ],
    ids=["sum", "max", "average", "uneven-average", "mixed", "mixed-second"],
)
def test_kinds_of_reductions_are_used(text: str, collective: str) -> None:
    compiled = compile(text, "spmd")
    assert collective in compiled.stages[-1].text
    assert compiled.stages[-1].text.count(" = shard.") == 1
    (difference,) = compiled["main"].check(
        np.random.default_rng(0).standard_normal(_shape(text)).astype("f4")
    )
    assert difference.agrees


def _shape(text: str) -> tuple[int, ...]:
    source = text.partition("tensor<")[2].partition("xf32")[0]
    return tuple(map(int, source.split("x")))


FAULTS = {
    "bad_rule": "in rule zeta_package.rules.bad_rule: ZeroDivisionError: integer division",
    "bad_ranks": "in rule zeta_package.rules.bad_ranks: ValueError: the rule gives operand #0 1",
    "bad_extents": "in rule zeta_package.rules.bad_extents: ValueError: the rule gives dimension 0"
    " of result #0 of extent 4 the factors f1 (6)",
    "bad_kinds": "in rule zeta_package.rules.bad_kinds: ValueError: factor f0 is a reduction with",
    "bad_type": "in rule zeta_package.rules.bad_type: TypeError: returns a str, not a FactorRule",
    "bad_string": "in rule zeta_package.rules.bad_string: ValueError: factor f1 is reduced by",
    "bad_result": "in rule zeta_package.rules.bad_result: ValueError: the rule gives dimension 1 of"
    " result #0 a reduction",
    "bad_silent": "in partition handler zeta_package.rules.bad_silent: ValueError: result #0 has no"
    " local value",
    "bad_handler": "in partition handler zeta_package.rules.bad_handler: KeyError: 'lost'",
}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("operation", FAULTS)
def test_faults_of_rules_and_handlers(operation: str) -> None:
    text = program(operation, result="4x6", axes="[[0]]")
    code, _, errors = opt(text, "--spmd")
    assert code == 1
    assert errors.startswith(f"<stdin>:5:8: error: 'zeta.{operation}' op {FAULTS[operation]}")
    assert "mesh-opt" not in errors


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("bad_run", "in interpreter function zeta_package.meanings.bad_run: KeyError: 'nothing'"),
        (
            "bad_count",
            "in interpreter function zeta_package.meanings.bad_count: TypeError: returns 0 values"
            " for 1 results",
        ),
        (
            "bad_list",
            "in interpreter function zeta_package.meanings.bad_list: TypeError: returns a list",
        ),
        (
            "bad_bare",
            "in interpreter function zeta_package.meanings.bad_bare: TypeError: returns a ndarray,",
        ),
        (
            "bad_drive",
            "in interpreter function zeta_package.meanings.bad_drive: AttributeError: gone",
        ),
    ],
)
def test_faults_of_interpreter_functions(operation: str, message: str, backend: str) -> None:
    text = program(operation, result="4x6", axes="[[0]]")
    for arguments in ((), ("-p", "spmd")):
        code, _, errors = run(text, *arguments, "--random-inputs=0", f"--backend={backend}")
        assert code == 1
        assert errors.startswith(f"<stdin>:5:8: error: 'zeta.{operation}' op {message}")


@pytest.mark.parametrize("decorator", [sharding_rule, partition, impl, impl_with_regions])
def test_decorators_without_names(decorator: Callable[..., object]) -> None:
    def function() -> None: ...

    with pytest.raises(TypeError, match=r'takes names, as in @\w+\("acme.double"\): <function'):
        decorator(function)


@pytest.mark.usefixtures("installed")
def test_faults_of_verifiers() -> None:
    code, _, errors = opt(program("bad_verifier"))
    assert code == 1
    assert errors.startswith(
        "<stdin>:5:8: error: 'zeta.bad_verifier' op in verifier"
        " zeta_package.operations.operation.<locals>.Op.verify_: TypeError: no type\n"
    )


@pytest.mark.usefixtures("installed")
def test_faults_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    from mesh_opt.codegen.kernels.elements import expressions

    text = program("bad_kernel", result="4x6")
    assert opt(text)[0] == 0
    # Whoever writes kernels of their own puts them here.
    space: dict[str, object] = {"__name__": "zeta_package.kernels"}
    exec("def bad_kernel(*given):\n    return given[99]\n", space)
    monkeypatch.setitem(expressions.RULES, "zeta.bad_kernel", space["bad_kernel"])
    code, _, errors = run(text, "--random-inputs=0", "--backend=native")
    assert code == 1
    message = "in kernel zeta_package.kernels.bad_kernel: IndexError: tuple index out of range"
    assert errors.startswith(f"<stdin>:5:8: error: 'zeta.bad_kernel' op {message}\n")


@pytest.mark.usefixtures("installed")
def test_faults_of_passes() -> None:
    message = "error: in pass zeta_package.universe.CrashPass: ZeroDivisionError: no zeros"
    code, _, errors = opt(PLAIN, "--zeta-crash", "--mlir-pass-pipeline-crash-reproducer=/dev/null")
    assert code == 1 and errors.startswith(f"<stdin>:1:1: {message}")
    assert "bug in mesh-opt" not in errors
    code, _, errors = run(PLAIN, "-p", "zeta-crash", "--random-inputs=0")
    assert code == 1 and errors.startswith(f"<stdin>:1:1: {message}")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("fails", "message"),
    [
        ("configured", "in solver zeta_package.solver.ZetaSolver.configured: ZeroDivisionError"),
        ("layout", "in solver zeta_package.solver.ZetaSolver.serialized: KeyError: 'serialized'"),
        (
            "nothing",
            "in solver zeta_package.solver.ZetaSolver.configured: TypeError: returns a NoneType,"
            " not a EncodingSolverInterface",
        ),
        (
            "type",
            "in solver zeta_package.solver.ZetaSolver.serialized: TypeError: returns a str, not a"
            " LayoutInterface",
        ),
    ],
)
def test_faults_of_solvers(fails: str, message: str) -> None:
    text = f"""
    #m = affine_map<(m, n, k) -> (m, k)>
    #n = affine_map<(m, n, k) -> (k, n)>
    #o = affine_map<(m, n, k) -> (m, n)>
    #e = #iree_encoding.encoding<operand_index = 0, op_type = matmul,
      element_types = [f32, f32, f32], user_indexing_maps = [#m, #n, #o]>
    #t = #hal.executable.target<"x", "y", {{iree.encoding.resolver = #zeta.solver<"{fails}">}}>
    util.global private @d = #hal.device.target<"local", [#t]> : !hal.device
    util.func public @f() -> index {{
      %0 = stream.tensor.sizeof on(#hal.device.affinity<@d>) tensor<16x16xf32, #e> : index
      util.return %0 : index
    }}
    """
    code, _, errors = opt(text, "--specialize-encodings")
    assert code == 1
    assert message in errors and "<stdin>:" in errors and "bug in mesh-opt" not in errors
