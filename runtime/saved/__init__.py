"""Programs in files: read and run what `codegen/saving.py` writes, without a compiler."""
