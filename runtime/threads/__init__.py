"""Devices as threads of this process: their groups, shared memory and message queues."""
