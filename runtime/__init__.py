"""Devices, buffers, command buffers and collectives."""
