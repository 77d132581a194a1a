"""Lower functions of a module to host code."""
