"""Machines are checked, written and read again, and their networks are found for any grid."""

from __future__ import annotations

from math import inf, nan

import pytest
from mesh_opt.ir.machine_files import parse_machine, read_machine
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.sharding.machine import Device, Machine, MachineError, Network, Topology, machine_text
from mesh_opt.sharding.machine_presets import PRESETS

DEVICE = Device((("f32", 1e12), ("bf16", 4e12)), memory=1e9, memory_bandwidth=1e11)
HOSTS = Machine("hosts", DEVICE, (Network(1e9, 1e-5), Network(1e11, 1e-6, Topology.SHARED, size=8)))
TEXT = machine_text(HOSTS)


@pytest.mark.parametrize("machine", [*PRESETS.values(), HOSTS], ids=lambda each: each.name)
def test_text_is_read_again(machine: Machine) -> None:
    assert parse_machine(Source(machine_text(machine), "m.toml")) == machine


def test_odd_names_are_read_again() -> None:
    odd = Machine('a "b"\\\n\x7f', DEVICE, HOSTS.networks, source="ä")
    assert parse_machine(Source(machine_text(odd), "m.toml")) == odd


def test_presets_are_known_by_name_and_others_are_not() -> None:
    assert read_machine("gpu-host") is PRESETS["gpu-host"]
    with pytest.raises(UsageError, match="no machine 'gpu', expected gpu-host, tpu-torus"):
        read_machine("gpu")


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ('"f32" = 1000000000000.0', '"f32" = 0', "9:1", "'device.flops.f32' is 0.0, expected a"),
        ('"f32"', '"f16"', "8:1", r"'device.flops' has no f32, the speed of element"),
        ("memory = 1000000000.0", "memory = true", "4:1", "'device.memory' is True, expected a n"),
        ("memory = 1000000000.0", "memory = nan", "4:1", "'device.memory' is nan, expected a"),
        ("memory = ", "Memory = ", "4:1", "'device.Memory' is an unknown key, expected one"),
        ("latency = 1e-06", "latency = -1", "20:1", "'network.1.latency' is -1.0, expected a"),
        ("size = 8", "size = 1", "18:1", "'network.1.size' is 1, expected 2 devices or more"),
        ("size = 8", "", "17:1", "'network.1' has no size, which only the first network may"),
        ('"shared"', '"star"', "21:1", "'network.1.topology' is 'star', expected one of "),
        ("[device.flops]", "[device.flop]", "8:1", "'device.flop' is an unknown key"),
        ("bandwidth = 1000000000.0", "bandwidth = ", "13:15", "Invalid value"),
        ("launch = 0.0", "launch = " + "9" * 5000, "1:1", "Exceeds the limit"),
        ("launch = 0.0", "launch = " + "[" * 5000, "1:1", "nested too deeply"),
        ("launch = 0.0", "launch = 1" + "0" * 400, "6:1", "'device.launch' is inf"),
    ],
)
def test_faults_are_named_at_their_place(before: str, after: str, place: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(UsageError, match=message) as caught:
        parse_machine(Source(TEXT.replace(before, after, 1), "m.toml"))
    assert str(caught.value).startswith(f"m.toml:{place}: ")


@pytest.mark.parametrize("number", [0.0, -1.0, nan, inf])
def test_values_are_checked_at_construction(number: float) -> None:
    with pytest.raises(MachineError):
        Device((("f32", 1e9),), memory=number, memory_bandwidth=1.0)
    with pytest.raises(MachineError):
        Machine("m", DEVICE, (Network(number, 0.0),))


def counts(machine: Machine, extents: tuple[int, ...], *axes: int) -> list[tuple[float, int, int]]:
    found = machine.hops(extents, axes)
    return [(hop.network.bandwidth, hop.count, hop.sharers) for hop in found]


def test_axes_run_over_the_networks_between_their_strides() -> None:
    assert counts(HOSTS, (2, 8), 1) == [(1e11, 8, 8)]
    assert counts(HOSTS, (2, 8), 0) == [(1e9, 2, 16)]
    assert counts(HOSTS, (4, 4), 0) == [(1e11, 2, 8), (1e9, 2, 16)]
    assert counts(HOSTS, (16,), 0) == [(1e11, 8, 8), (1e9, 2, 16)]
    assert counts(HOSTS, (2, 2, 4), 0, 2) == [(1e11, 4, 8), (1e9, 2, 16)]
    assert counts(HOSTS, (4,), 0) == [(1e11, 4, 4)]
    assert counts(HOSTS, (1, 4), 0) == []
    # Six processes in a row fit no hosts of eight: the slower network counts for all of them.
    assert counts(HOSTS, (2, 6), 0) == [(1e9, 2, 12)]


def test_grids_may_not_have_more_devices_than_the_machine() -> None:
    PRESETS["gpu-host"].check_grid((2, 4))
    HOSTS.check_grid((1024, 1024))
    with pytest.raises(MachineError, match="has 8 devices, but a grid of shape 4x4 needs 16"):
        PRESETS["gpu-host"].check_grid((4, 4))


def test_types_that_are_not_listed_count_as_f32() -> None:
    assert DEVICE.flops_of("bf16") == 4e12
    assert DEVICE.flops_of("f64") == 1e12
