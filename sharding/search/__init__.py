"""The search for shardings, as arithmetic on tensors and factor rules."""
