"""Compare the front end with plain xDSL, and with itself on larger programs.

    python -m benchmarks.front_end [--quick]

Every ratio is of two measurements that alternate in one run: the least CPU time of several tries.
The figures are meaningful only on an otherwise idle machine.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.verification import verify
from mesh_opt.tools.driver import new_context
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.parser import Parser

from .arguments import is_quick
from .programs import arithmetic, structured

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

PARSE_TARGET = 1.8
LINEAR_TARGET = 1.3


def main() -> int:
    """Measure and print; return 0 if every target was met, otherwise 1."""
    quick = is_quick(__doc__)
    met = [start_up(3 if quick else 9)]
    met += [parsing(name, 2_000 if quick else 10_000) for name in GENERATORS]
    sizes = (1_000, 5_000) if quick else (1_000, 5_000, 50_000)
    met += [linearity(name, sizes) for name in GENERATORS]
    return 0 if all(met) else 1


GENERATORS: dict[str, Callable[[int], str]] = {"arith": arithmetic, "linalg": structured}


def start_up(runs: int) -> bool:
    """Compare processes that read and print a small file: mesh-opt against xdsl-opt."""
    folder = Path(sys.executable).parent
    best = {"mesh-opt": float("inf"), "xdsl-opt": float("inf")}
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "small.mlir"
        path.write_text(structured(10), encoding="utf-8")
        for _ in range(runs):
            for tool, seconds in best.items():
                before = _children_seconds()
                subprocess.run([folder / tool, path], check=True, stdout=subprocess.DEVNULL)
                best[tool] = min(seconds, _children_seconds() - before)
    ratio = best["mesh-opt"] / best["xdsl-opt"]
    print(
        f"start-up: mesh-opt {best['mesh-opt'] * 1e3:.0f} ms,"
        f" xdsl-opt {best['xdsl-opt'] * 1e3:.0f} ms, ratio {ratio:.2f} (target: at most 1.00)"
    )
    return ratio <= 1.0


def parsing(name: str, operations: int, runs: int = 4) -> bool:
    """Compare our parser with xDSL's on one program, with the dialects already loaded."""
    text = GENERATORS[name](operations)
    ours_context, theirs_context = new_context(), _xdsl_context()
    ours = theirs = float("inf")
    count = 0
    for _ in range(runs):
        seconds, module = _timed(parse_module, ours_context, Source(text, "x"))
        ours = min(ours, seconds)
        count = sum(1 for _ in module.walk())
        seconds, module = _timed(Parser(theirs_context, text, "x").parse_module)
        theirs = min(theirs, seconds)
    ratio = theirs / ours
    print(
        f"parse {count} operations of {name}: {ours / count * 1e6:.0f} us each,"
        f" xDSL {theirs / count * 1e6:.0f} us, {ratio:.2f}x (target: at least {PARSE_TARGET:.2f}x)"
    )
    return ratio >= PARSE_TARGET


def linearity(name: str, sizes: tuple[int, ...], runs: int = 2) -> bool:
    """Compare the time per operation of each stage on the largest two of several programs."""
    context = new_context()
    met = True
    table: dict[str, list[float]] = {"parse": [], "verify": [], "print": []}
    for operations in sizes:
        text = GENERATORS[name](operations)
        best = dict.fromkeys(table, float("inf"))
        for _ in range(runs):
            seconds, module = _timed(parse_module, context, Source(text, "x"))
            count = sum(1 for _ in module.walk())
            best["parse"] = min(best["parse"], seconds / count)
            best["verify"] = min(best["verify"], _timed(verify, module)[0] / count)
            best["print"] = min(best["print"], _timed(print_operation, module)[0] / count)
        for stage, seconds in best.items():
            table[stage].append(seconds)
    for stage, column in table.items():
        growth = column[-1] / column[-2]
        met = met and growth <= LINEAR_TARGET
        figures = ", ".join(
            f"{size}: {seconds * 1e6:.1f}" for size, seconds in zip(sizes, column, strict=True)
        )
        print(
            f"{stage} {name}, us per operation: {figures};"
            f" growth {growth:.2f} (target: at most {LINEAR_TARGET:.2f})"
        )
    return met


def _timed(
    work: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
) -> tuple[float, Result]:
    gc.collect()
    begin = time.process_time()
    result = work(*arguments, **options)
    return time.process_time() - begin, result


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _xdsl_context() -> Context:
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    return context


if __name__ == "__main__":
    sys.exit(main())
