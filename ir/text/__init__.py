"""Read IR from text and print IR as text."""
