"""The StableHLO dialect: ops, attributes and types, with the syntax of JAX and stablehlo-opt."""
