"""Run JAX and IREE for `benchmarks.kernels`, in a Python that has them, on `--workers N` threads.

Reads lines `prepare PEER CASE`, `run PEER REPEATS` and `versions - -`. Answers each with a line:
`ok`, the least seconds of a run, names and versions, or `failed`.
"""

# pyright: basic
# ruff: noqa: E402
from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version

from benchmarks.thread_count import keep_to_cpus, workers

# JAX starts one thread per CPU that the process may use.
keep_to_cpus(workers())
if workers() == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import iree.compiler
import iree.runtime
import iree.runtime.flags
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.kernel_cases import CASES, random_arrays


def prepare(peer, case):
    """Return a function that runs a case once with a peer."""
    if peer == "jax":
        if case.reference is None:
            raise ValueError("JAX does not read MLIR")
        given = [jnp.asarray(each) for each in random_arrays(case)]
        compiled = jax.jit(lambda *args: case.reference(jnp, jax, *args)).lower(*given).compile()
        return lambda: compiled(*given).block_until_ready()
    code = iree.compiler.compile_str(
        case.text,
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling"],
    )
    iree.runtime.flags.parse_flags(f"--task_topology_group_count={workers()}")
    config = iree.runtime.Config("local-sync" if workers() == 1 else "local-task")
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, code)
    main = iree.runtime.load_vm_module(module, config)["main"]
    device = config.device
    given = [
        iree.runtime.asdevicearray(device, each)
        if each.dtype != np.dtype("bfloat16")
        else iree.runtime.DeviceArray(
            device,
            device.allocator.allocate_buffer_copy(
                memory_type=iree.runtime.MemoryType.DEVICE_LOCAL,
                allowed_usage=iree.runtime.BufferUsage.DEFAULT,
                device=device,
                buffer=each.view(np.uint16),
                element_type=iree.runtime.HalElementType.BFLOAT_16,
            ),
        )
        for each in random_arrays(case)
    ]
    return lambda: main(*given)


def main():
    """Answer requests until the input ends."""
    ready = {}
    for line in sys.stdin:
        command, peer, rest = line.rstrip("\n").split(" ", 2)
        try:
            if command == "prepare":
                ready[peer] = prepare(peer, CASES[rest])
                ready[peer]()
                answer = "ok"
            elif command == "versions":
                answer = ", ".join(
                    f"{name} {version(name)}" for name in ("jax", "iree-base-compiler")
                )
            else:
                best = float("inf")
                for _ in range(int(rest)):
                    start = time.perf_counter()
                    ready[peer]()
                    best = min(best, time.perf_counter() - start)
                answer = str(best)
        except Exception as error:  # A peer that cannot run a case leaves its column empty.
            print(f"{peer}: {error}", file=sys.stderr)
            answer = "failed"
        print(answer, flush=True)


if __name__ == "__main__":
    main()
