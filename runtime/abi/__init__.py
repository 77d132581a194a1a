"""What interpreter and native code share: values, element types, and the calling convention."""
