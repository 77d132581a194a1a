"""Host code, devices, memory and collectives."""
