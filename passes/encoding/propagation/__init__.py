"""Move encodings through operations, shared by the passes that do so."""
