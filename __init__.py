"""mesh-opt: a multi-device tensor compiler on xDSL."""
