"""Commands are carried out in order on the memory that buffers are given."""

from __future__ import annotations

import numpy as np
from mesh_opt.runtime.commands import Buffer, HostCommand, run_commands
from mesh_opt.runtime.communicator import copy_command


def test_commands_run_in_order() -> None:
    first, middle, last = Buffer(16), Buffer(16), Buffer(16)

    def double(data: np.ndarray) -> None:
        data *= 2

    commands = [
        copy_command(first, middle, 16, "first"),
        HostCommand(double, (middle,)),
        copy_command(middle, last, 16, "third"),
    ]
    given, found = np.arange(16, dtype=np.uint8), np.zeros(16, np.uint8)
    run_commands(commands, {first: given, last: found})
    assert np.array_equal(found, np.arange(16) * 2)
    assert np.array_equal(given, np.arange(16))
