"""The meaning of the `stream` dialect: tensors in resources, asynchronous operations, commands."""
