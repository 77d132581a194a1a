"""Data-tiling algebra without IR: targets, tile tables, packed layouts, storage sizes."""
