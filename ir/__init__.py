"""IR utilities shared by all dialects and passes: text, diagnostics, symbols, verification."""
