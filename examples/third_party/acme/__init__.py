"""Operations, a target and a pass for mesh-opt that live in a package of their own."""
