"""Operations on one element as LLVM IR."""
