"""Compiled programs: the compilation driver, functions and their calls."""
