"""Encodings made real inside executables."""
