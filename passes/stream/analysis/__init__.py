"""Analyses of host programs: devices, layouts, storage and integer ranges of values."""
