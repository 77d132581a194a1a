"""What the interpreter and native code share: values, element types, calling convention."""
