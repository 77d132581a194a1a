"""Pipelines: their text, their options, and how they are run."""
