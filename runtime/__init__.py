"""The runtime: devices, the virtual machine for host code, memory and collectives."""
