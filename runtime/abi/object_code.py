"""From LLVM IR to object code, in this process or in one of its own.

In one process, LLVM compiles one module at a time, since llvmlite holds a lock; so other processes
compile as well. As a script, this file is such a process: it reads texts from its input, and writes
their object code to its output, each behind its length. It imports nothing but llvmlite.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import IO, Any

import llvmlite.binding

_LENGTH = struct.Struct("<Q")


def create_target_machine(cpu: str, features: str) -> Any:
    """LLVM's description of a machine of this kind."""
    llvm: Any = llvmlite.binding
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=cpu,
        features=features,
        opt=2,
        # Constants lie next to the code, and are operands of instructions.
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def compile_ir(machine: Any, text: str) -> bytes:
    """The object code of a module in LLVM IR, optimised for a machine."""
    llvm: Any = llvmlite.binding
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # Short loops are unrolled first: LLVM 22's vectoriser stops the process at some of them.
    options.loop_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


class CompilerProcess:
    """A process that compiles what it is given, until it is closed."""

    def __init__(self, cpu: str, features: str) -> None:
        """Raises OSError where no process can be started."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, cpu, features],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Whoever interrupts this process ends that one with its input.
            start_new_session=True,
        )

    def compile(self, text: str) -> bytes:
        """The object code of a module. Raises OSError if the process has ended."""
        source, output = self._process.stdin, self._process.stdout
        assert source is not None and output is not None
        _write(source, text.encode())
        found = _read(output)
        if found is None:
            raise OSError("the process that compiles has ended")
        return found

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.communicate()


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(_LENGTH.pack(len(data)) + data)
    file.flush()


def _read(file: IO[bytes]) -> bytes | None:
    """What `_write` has written, `None` at the end."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    data = file.read(size)
    return data if len(data) == size else None


def _serve(cpu: str, features: str) -> None:
    machine = create_target_machine(cpu, features)
    while (text := _read(sys.stdin.buffer)) is not None:
        _write(sys.stdout.buffer, compile_ir(machine, text.decode()))


if __name__ == "__main__":
    _serve(*sys.argv[1:])
