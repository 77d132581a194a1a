"""Types of the `hal` dialect: what a program holds of the machine that it runs on."""

from __future__ import annotations

from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


def _handle(name: str, doc: str) -> type[ParametrizedAttribute]:
    """A type without parameters, which only operations on it know more about."""
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Type"
    members = {"__doc__": doc, "__module__": __name__, "name": f"hal.{name}"}
    bases = (ParametrizedAttribute, TypeAttribute)
    return irdl_attr_definition(type(class_name, bases, members))


AllocatorType = _handle("allocator", "Where buffers come from.")
BufferType = _handle("buffer", "Bytes that a device can reach.")
BufferViewType = _handle("buffer_view", "A buffer with a shape and an element type.")
ChannelType = _handle("channel", "A group of devices that talk to each other.")
CommandBufferType = _handle("command_buffer", "Commands that a device runs together.")
EventType = _handle("event", "What commands of one command buffer wait for.")
ExecutableType = _handle("executable", "Kernels that are loaded on a device.")
FenceType = _handle("fence", "A point of time that can be waited for.")
FileType = _handle("file", "Bytes that are read and written in the order of queues.")
SemaphoreType = _handle("semaphore", "A number that grows, which queues wait for and signal.")
