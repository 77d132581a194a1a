"""Data-tiling algebra: targets, tile tables, packed layouts, storage sizes. No IR."""
