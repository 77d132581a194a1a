"""Well-known machines, by the names that `--machine` accepts.

Speeds are the vendors' peak figures, of which programs reach a part; latencies are those of small
messages as users of such machines report them.
"""

from __future__ import annotations

from .machine import Device, Machine, Network, Topology

GPU_HOST = Machine(
    "gpu-host",
    Device(
        flops=(("f64", 34e12), ("f32", 67e12), ("f16", 989e12), ("bf16", 989e12), ("i8", 1979e12)),
        memory=80e9,
        memory_bandwidth=3.35e12,
        launch=4e-6,
    ),
    (Network(bandwidth=450e9, latency=3e-6, topology=Topology.ALL_TO_ALL, size=8),),
    source="NVIDIA H100 Tensor Core GPU data sheet (SXM, without sparsity): eight H100 behind"
    " NVSwitch, NVLink 900 GB/s in both directions together; launch and latency are assumed",
)
"""Eight GPUs on one host."""

TPU_TORUS = Machine(
    "tpu-torus",
    Device(
        # Other element types take several bf16 passes.
        flops=(("bf16", 197e12), ("f32", 49e12), ("i8", 393e12)),
        memory=16e9,
        memory_bandwidth=819e9,
        launch=1e-6,
    ),
    (
        Network(bandwidth=100e9, latency=1e-6, topology=Topology.RING, size=16),
        Network(bandwidth=100e9, latency=1e-6, topology=Topology.RING, size=16),
    ),
    source="Google Cloud documentation, TPU v5e: 197 TFLOP/s, 16 GB at 819 GB/s, 400 GB/s of links"
    " in both directions on a 2-d torus of 256 chips; f32, launch and latency are assumed",
)
"""A pod of 16 x 16 TPUs on a torus; each has two links along each of its dimensions."""

CPU_CLUSTER = Machine(
    "cpu-cluster",
    Device(
        # 40 cores at 2.3 GHz, each with two FMA units of 16 lanes (f32).
        flops=(("f32", 5.9e12), ("f64", 2.9e12)),
        memory=256e9,
        memory_bandwidth=205e9,
        launch=2e-6,
    ),
    (Network(bandwidth=3.125e9, latency=30e-6, topology=Topology.ALL_TO_ALL),),
    source="Intel Xeon Platinum 8380 product specifications (40 cores, 2.3 GHz, 8 x DDR4-3200);"
    " IEEE 802.3by, 25 Gbit/s Ethernet; launch, latency of TCP and memory size are assumed",
)
"""Hosts with one CPU each, on Ethernet of 25 Gbit/s."""

PRESETS = {machine.name: machine for machine in (GPU_HOST, TPU_TORUS, CPU_CLUSTER)}
"""Machines by name."""
