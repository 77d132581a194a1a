"""What goes wrong on a virtual machine, at the source of an instruction."""

from __future__ import annotations


class VirtualMachineError(Exception):
    """What went wrong at a source, in words."""

    def __init__(self, source: object, message: str) -> None:
        super().__init__(message)
        self.source = source
        self.message = message


class OutOfMemory(VirtualMachineError, MemoryError):
    """A tensor that does not fit, at its source."""
