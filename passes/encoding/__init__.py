"""Passes that give tensors encodings and move these encodings through the program."""
