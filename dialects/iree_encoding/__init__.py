"""The `iree_encoding` dialect: encodings, layouts and the interfaces of solvers."""
