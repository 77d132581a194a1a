"""Recognise contractions that can be tiled, and rewrite them where that is needed."""
