"""Programs in files: what `codegen/saving.py` writes, read and run without a compiler."""
