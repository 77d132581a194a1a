"""Executables as the host program sees them: exports, bindings and dispatch sites."""
