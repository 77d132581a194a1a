"""Declarative assembly formats: formats and directives that parse and print operations."""
