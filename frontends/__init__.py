"""Programs of other frameworks, compiled and called in their own terms."""
