"""`mesh-run --measure-machine`: measure this machine with programs on its threads.

A device is one thread with one core. Each time is the minimum of several runs. Subtracting the
times of programs of two lengths removes the overhead of a call.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from ...api import compile
from ...sharding.collective_rows import ALL_REDUCE
from ...sharding.machine import Device, Machine, Network, Topology

ROUNDS = 10
SQUARE = 384
"""The extent of the measured matrix products."""
PRODUCTS = 8
"""The number of products by which the longer program exceeds the shorter one."""
KERNELS = 128
"""The same for small kernels and collectives."""
SMALL, LARGE = 16, 1 << 20
"""The numbers of elements of the measured reductions."""


def measured_machine(devices: int | None = None) -> Machine:
    """Measure this machine, which takes a few seconds, and return its description.

    All devices compute during each measurement, so that shared resources are divided: memory, and
    cores if there are more `devices` than cores. The default is one device per core.
    """
    devices = devices or max(2, os.cpu_count() or 1)
    small, large = (_collective_seconds(devices, count) for count in (SMALL, LARGE))
    algorithm = min(ALL_REDUCE.algorithms, key=lambda each: each.messages(devices))
    sent = 4 * LARGE * min(each.sent(devices) for each in ALL_REDUCE.algorithms)
    return Machine(
        "this-machine",
        Device(
            flops=tuple((element, _flops(element, devices)) for element in ("f32", "f64")),
            memory=_memory() / devices,
            memory_bandwidth=_memory_bandwidth() / devices,
            launch=_launch_seconds() * max(1, devices / (os.cpu_count() or 1)),
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


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _memory_bandwidth() -> float:
    source = np.ones(1 << 23)
    target = np.empty_like(source)
    return 2 * source.nbytes / _least(lambda: np.copyto(target, source))


PRODUCT = """
  %e{n} = tensor.empty() : {tensor}
  %f{n} = linalg.fill ins(%zero : {element}) outs(%e{n} : {tensor}) -> {tensor}
  {result} = linalg.matmul ins({source}, {source} : {tensor}, {tensor}) outs(%f{n} : {tensor})
    -> {tensor}"""
ALL_REDUCE_STEP = """
  {result} = shard.all_reduce {source} on @g grid_axes = [0] : {tensor} -> {tensor}"""


def _step_seconds(
    step: str, shape: tuple[int, ...], devices: int, steps: int, element: str = "f32"
) -> float:
    """Return the seconds per step while all devices run.

    The time of one step is subtracted from that of `steps` more steps. Both programs end with an
    all-reduce over all devices, so that all devices run the steps; its time cancels.
    """
    tensor = f"tensor<{'x'.join(map(str, shape))}x{element}>"

    def seconds(count: int) -> float:
        lines = [
            step.format(source=f"%v{n}", result=f"%v{n + 1}", n=n, tensor=tensor, element=element)
            for n in range(count)
        ]
        text = f"""
            shard.grid @g(shape = {devices})
            func.func @main(%v0: {tensor}) -> {tensor} {{
              %zero = arith.constant 0.0 : {element}
              {"".join(lines)}
              %sum = shard.all_reduce %v{count} on @g grid_axes = [0] : {tensor} -> {tensor}
              return %sum : {tensor}
            }}"""
        program = compile(text)
        program.workers = 1
        function = program["main"]
        x = function.put(np.zeros(shape, np.float64 if element == "f64" else np.float32), 0)
        return _least(lambda: function.run_on_devices(x))

    longer = seconds(steps + 1)
    difference = longer - seconds(1)
    # A difference below the noise is bounded by the time of the whole program.
    return difference / steps if difference > longer / 10 else longer / (steps + 1)


def _flops(element: str, devices: int) -> float:
    return 2 * SQUARE**3 / _step_seconds(PRODUCT, (SQUARE, SQUARE), devices, PRODUCTS, element)


def _collective_seconds(devices: int, count: int) -> float:
    return _step_seconds(ALL_REDUCE_STEP, (count,), devices, KERNELS)


def _launch_seconds() -> float:
    # Matrix products are never fused, so each is a separate kernel.
    return _step_seconds(PRODUCT, (4, 4), 1, KERNELS)
