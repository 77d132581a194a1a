"""Which loops a kernel consists of."""
