"""The formats and directives that drive how operations are read and printed."""
