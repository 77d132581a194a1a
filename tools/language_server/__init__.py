"""`mesh-lsp`: what an editor shows of a program while it is written."""
