"""Blocks of the tiles of `linalg.mmt4d`."""

from __future__ import annotations

import pytest
from mesh_opt.codegen.microkernels import mmt4d
from mesh_opt.codegen.microkernels.mmt4d import MAX_UNROLLED_BLOCKS, Mmt4dTile, blocks
from mesh_opt.runtime.abi.elements import F32


def test_blocks_of_a_loop_begin_at_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two vectors hold the terms of one element: a block of three would begin between them."""
    monkeypatch.setattr(mmt4d, "vector_bits", lambda: 256)
    tile = Mmt4dTile(F32, F32, F32, rows=12, columns=3, depth=16)
    found = blocks(tile)
    assert len(found) > MAX_UNROLLED_BLOCKS
    assert {part.start * tile.lanes % tile.depth for _, part in found} == {0}
