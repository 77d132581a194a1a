"""Programs as host code: built by hand, or compared with the interpreter."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
from mesh_opt import api
from mesh_opt.codegen.host_code.lowering import HostEntry
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import find_function, run
from mesh_opt.runtime.host.builder import Builder
from mesh_opt.runtime.host.pool import USED, Pool
from mesh_opt.runtime.host.program import HostFunction, HostProgram, LinkedProgram
from mesh_opt.runtime.host.virtual_machine import VirtualMachine

Write = Callable[[Builder], None]


def build(*writes: Write, **tables) -> HostProgram:
    functions = []
    for write in writes:
        builder = Builder(HostFunction(write.__name__))
        write(builder)
        functions.append(builder.finish())
    return HostProgram(functions, **tables)


def machine_of(*writes: Write, **tables) -> VirtualMachine:
    return VirtualMachine(LinkedProgram(build(*writes, **tables)))


def used_bytes(pool: Pool) -> int:
    """The bytes of blocks in use, after releasing those given back."""
    pool.collect()
    pool._native(2, pool._address, 0)
    return int(pool.words[USED])


class Compiled:
    """A program as host code, and nothing else."""

    def __init__(self, text: str) -> None:
        self.module = api.compile(text).module
        symbols = Program(self.module)
        self.entry = HostEntry(symbols, find_function(symbols, "main"))
        self.machine = VirtualMachine(self.entry.program)

    def run(self, inputs: list) -> list[np.ndarray]:
        return self.entry.call(self.machine, [np.asarray(each) for each in inputs])

    def leaked_bytes(self) -> int:
        gc.collect()
        return used_bytes(self.machine.pool)


def check(text: str, inputs: list) -> None:
    compiled = Compiled(text)
    before = [np.array(each) for each in inputs]
    expected = run(compiled.module, "main", inputs)
    for _ in range(2):
        for got, want in zip(compiled.run(inputs), expected, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=text)
    for now, then in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(now, then)
    del got
    assert compiled.leaked_bytes() == 0
