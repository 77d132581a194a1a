"""Export PyTorch modules, and import the exported programs as MLIR text."""
