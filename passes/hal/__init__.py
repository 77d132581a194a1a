"""Passes that assign devices and convert host programs to calls of the HAL runtime."""
