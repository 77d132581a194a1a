"""What a saved program cannot do by itself."""


class NeedsCompiler(Exception):
    """A call that a saved program does not carry out by itself; the text says why."""
