"""Compare passes with the time to parse the same program, for more operations and more devices.

The targets: a share of the time to parse, time proportional to the number of operations, and no
more time for 4096 devices than for 4. Times are the least CPU times of several runs in one process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.passes import ModulePass

LINEAR_TARGET = 1.3
DEVICES_TARGET = 1.1

TextOf = Callable[[int, str], str]
"""Returns a program of a number of operations on a grid."""


def meets_targets(
    passes: Mapping[str, ModulePass], text_of: TextOf, ratio_target: float, quick: bool
) -> bool:
    """Measure and print passes that run one after the other; the targets are those of the first.

    Returns whether all targets are met.
    """
    small, large, runs = (1_000, 5_000, 2) if quick else (10_000, 50_000, 4)
    name = next(iter(passes))
    base = _times(passes, text_of(small, "2x2"), runs)
    figures = ", ".join(f"{each} {seconds:.2f} s" for each, seconds in base.items())
    print(f"{small} operations: {figures}")
    ratio = base[name] / base["parse"]
    print(f"  {name} / parse = {ratio:.2f} (target {ratio_target})")
    devices = _times(passes, text_of(small, "64x64"), runs)[name] / base[name]
    print(f"  4096 devices / 4 devices = {devices:.2f} (target {DEVICES_TARGET})")
    long = _times(passes, text_of(large, "2x2"), max(1, runs // 2))[name]
    linear = long / base[name] / (large / small)
    print(f"{large} operations: {name} {long:.2f} s")
    print(f"  time per operation, against {small} operations = {linear:.2f} ({LINEAR_TARGET})")
    return ratio <= ratio_target and devices <= DEVICES_TARGET and linear <= LINEAR_TARGET


def _times(passes: Mapping[str, ModulePass], text: str, runs: int) -> dict[str, float]:
    """Return the least seconds of `parse` and of each pass."""
    best = dict.fromkeys(("parse", *passes), float("inf"))
    for _ in range(runs):
        gc.collect()
        gc.disable()
        start = time.process_time()
        context = new_context()
        module = parse_module(context, Source(text, "chain"))
        for name, each in {"parse": None, **passes}.items():
            if each is not None:
                each.apply(context, module)
            end = time.process_time()
            best[name], start = min(best[name], end - start), end
        gc.enable()
    return best
