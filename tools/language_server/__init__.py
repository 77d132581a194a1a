"""`mesh-lsp`: a language server that shows editors diagnostics, types and shardings."""
