"""The operations of `arith` that xDSL lacks or has for scalars only."""
