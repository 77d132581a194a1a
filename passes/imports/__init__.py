"""From other dialects' annotations and operations to this compiler's own."""
