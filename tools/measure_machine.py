"""`mesh-run --measure-machine`: this machine, as measured by programs that run on its threads.

A device is a thread with one core. Times are the least of several runs, of programs of two lengths,
so that what a call costs is not part of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from ..api import Function, compile
from ..sharding.collectives import ALL_REDUCE
from ..sharding.machine import Device, Machine, Network, Topology

ROUNDS = 10
SQUARE = 384
"""The extent of the products that are measured."""
KERNELS = 128
"""How many kernels or collectives the longer program has more."""
SMALL, LARGE = 16, 1 << 20
"""Elements that are reduced."""


def measured_machine() -> Machine:
    """A description of this machine; takes a few seconds."""
    devices = max(2, os.cpu_count() or 1)
    small, large = (_collective_seconds(devices, count) for count in (SMALL, LARGE))
    algorithm = min(ALL_REDUCE.algorithms, key=lambda each: each.messages(devices))
    sent = 4 * LARGE * min(each.sent(devices) for each in ALL_REDUCE.algorithms)
    return Machine(
        "this-machine",
        Device(
            flops=tuple((element, _flops(element)) for element in ("f32", "f64")),
            memory=_memory() / devices,
            memory_bandwidth=_memory_bandwidth() / devices,
            launch=_launch_seconds(),
        ),
        (
            Network(
                bandwidth=devices * sent / max(large - small, 1e-9),
                latency=small / algorithm.messages(devices),
                topology=Topology.SHARED,
            ),
        ),
        source=f"measured by mesh-run --measure-machine: {devices} devices as threads of one"
        " process, while whatever else ran went on",
    )


def _least(run: Callable[[], object]) -> float:
    run()
    found: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return max(min(found), 1e-9)


def _compiled(text: str) -> Function:
    program = compile(text, stages=False)
    program.workers = 1
    return program["main"]


def _flops(element: str) -> float:
    square = f"tensor<{SQUARE}x{SQUARE}x{element}>"
    function = _compiled(f"""
        func.func @main(%x: {square}, %y: {square}) -> {square} {{
          %z = arith.constant 0.0 : {element}
          %e = tensor.empty() : {square}
          %f = linalg.fill ins(%z : {element}) outs(%e : {square}) -> {square}
          %m = linalg.matmul ins(%x, %y : {square}, {square}) outs(%f : {square}) -> {square}
          return %m : {square}
        }}""")
    ones = np.ones((SQUARE, SQUARE), np.float32 if element == "f32" else np.float64)
    x, y = (function.put(ones, index) for index in (0, 1))
    return 2 * SQUARE**3 / _least(lambda: function.run_on_devices(x, y))


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _memory_bandwidth() -> float:
    source = np.ones(1 << 23)
    target = np.empty_like(source)
    return 2 * source.nbytes / _least(lambda: np.copyto(target, source))


def _chain_seconds(step: str, shape: tuple[int, ...], devices: int) -> float:
    """The time of one of `KERNELS` steps from a tensor to the next."""
    tensor = f"tensor<{'x'.join(map(str, shape))}xf32>"

    def seconds(steps: int) -> float:
        lines = [
            f"  %v{n + 1} = {step.format(source=f'%v{n}', tensor=tensor)}" for n in range(steps)
        ]
        function = _compiled(
            f"shard.grid @g(shape = {devices})\n"
            f"func.func @main(%v0: {tensor}) -> {tensor} {{\n"
            + "\n".join(lines)
            + f"\n  return %v{steps} : {tensor}\n}}"
        )
        x = function.put(np.zeros(shape, np.float32), 0)
        return _least(lambda: function.run_on_devices(x))

    return max(seconds(KERNELS + 1) - seconds(1), 1e-9) / KERNELS


def _collective_seconds(devices: int, count: int) -> float:
    step = "shard.all_reduce {source} on @g grid_axes = [0] : {tensor} -> {tensor}"
    return _chain_seconds(step, (count,), devices)


def _launch_seconds() -> float:
    # Products are kernels of their own: no other kernel computes them on the way.
    step = (
        "linalg.matmul ins({source}, {source} : {tensor}, {tensor}) outs({source} : {tensor})"
        " -> {tensor}"
    )
    return _chain_seconds(step, (4, 4), 1)
