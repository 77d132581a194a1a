"""Compile LLVM IR to object code, in this process or in a subprocess.

llvmlite holds a lock, so a process compiles one module at a time; subprocesses compile in parallel.
As a script, this file is such a subprocess: it reads IR texts from its standard input and writes
object code to its output, each preceded by its length. It imports only llvmlite.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import IO, Any

import llvmlite.binding

_LENGTH = struct.Struct("<Q")


def create_target_machine(cpu: str, features: str) -> Any:
    """Return LLVM's target machine for a CPU and its features."""
    llvm: Any = llvmlite.binding
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=cpu,
        features=features,
        opt=2,
        # Constants are placed next to the code, so that instructions can use them as operands.
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def compile_ir(machine: Any, text: str) -> bytes:
    """Optimise a module of LLVM IR for a machine and return its object code."""
    llvm: Any = llvmlite.binding
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # Loop unrolling stays on (the default): LLVM 22's vectoriser aborts on some short loops that
    # are not unrolled first.
    options.loop_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


class CompilerProcess:
    """A subprocess that compiles modules until it is closed."""

    def __init__(self, cpu: str, features: str) -> None:
        """Start the process. Raises OSError if that fails."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, cpu, features],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C must not reach the subprocess: closing its input ends it.
            start_new_session=True,
        )

    def compile(self, text: str) -> bytes:
        """Return the object code of a module. Raises OSError if the process has ended."""
        source, output = self._process.stdin, self._process.stdout
        assert source is not None and output is not None
        _write(source, text.encode())
        found = _read(output)
        if found is None:
            raise OSError("the process that compiles has ended")
        return found

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(_LENGTH.pack(len(data)) + data)
    file.flush()


def _read(file: IO[bytes]) -> bytes | None:
    """Read what `_write` wrote; `None` at the end of the file."""
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
