"""An example of a separate package that adds operations, a target and a pass to mesh-opt."""
