"""Errors of a virtual machine, with the operation of the failing instruction."""

from __future__ import annotations


class VirtualMachineError(Exception):
    """A run failed at the operation `source`; `message` says why."""

    def __init__(self, source: object, message: str) -> None:
        super().__init__(message)
        self.source = source
        self.message = message


class OutOfMemory(VirtualMachineError, MemoryError):
    """A tensor cannot be allocated at the operation `source`."""
