// RUN: not mesh-opt %s --spelling=2024 2>&1 | filecheck %s

// CHECK: spelling_fails.mlir:5:1: error: 'func.func' op has a resolved layout; the syntax of 2024 can express one only together with the encoding that it comes from: #iree_encoding.layout<[#iree_encoding.identity]>

func.func private @f(tensor<4xf32, #iree_encoding.layout<[#iree_encoding.identity]>>)
