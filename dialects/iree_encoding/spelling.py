"""The two spellings of the encoding dialects. `spelling.py` turns one into the other."""

from __future__ import annotations

from typing import Literal

Spelling = Literal["today", "2024"]
"""Which names the encoding dialects have: those of IREE 3.13, or those of October 2024."""
