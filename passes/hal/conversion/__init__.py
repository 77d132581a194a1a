"""Convert `stream` to `hal`: buffers, fences, command buffers and queues."""
