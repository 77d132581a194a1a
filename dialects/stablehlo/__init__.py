"""The StableHLO dialect: operations, attributes and types, as JAX and stablehlo-opt print them."""
