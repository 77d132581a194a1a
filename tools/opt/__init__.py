"""The parts of `mesh-opt`: its options, help texts, diagnostics and reproducers."""
