"""Compiled programs: from text through the passes, and functions that run."""
