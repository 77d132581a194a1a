// builtin.module(util.func(iree-dispatch-creation-set-encoding{encoding-option=padding}))
util.func public @f(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %0 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%0, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2 : tensor<128x512xf32>
}
// -----
util.func public @collapse(%a: tensor<2x64x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %0 = flow.dispatch.region -> (tensor<2x64x256xf16>) {
    %e = tensor.empty() : tensor<2x64x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %a : tensor<2x64x256xf16>, tensor<2x64x256xf16>) outs(%e : tensor<2x64x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<2x64x256xf16>
    flow.return %1 : tensor<2x64x256xf16>
  }
  %col = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x64x256xf16> into tensor<128x256xf16>
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%col, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2 : tensor<128x512xf32>
}
// -----
util.func public @collapseK(%a: tensor<128x4x64xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %0 = flow.dispatch.region -> (tensor<128x4x64xf16>) {
    %e = tensor.empty() : tensor<128x4x64xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %a : tensor<128x4x64xf16>, tensor<128x4x64xf16>) outs(%e : tensor<128x4x64xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x4x64xf16>
    flow.return %1 : tensor<128x4x64xf16>
  }
  %col = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<128x4x64xf16> into tensor<128x256xf16>
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%col, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2 : tensor<128x512xf32>
}
// -----
util.func public @expand(%a: tensor<128x256xf16>, %b: tensor<2x256x512xf16>, %c: tensor<2x64x512xf32>) -> tensor<2x64x512xf32> {
  %0 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  %col = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 64, 256] : tensor<128x256xf16> into tensor<2x64x256xf16>
  %2 = flow.dispatch.region -> (tensor<2x64x512xf32>) {
    %r = linalg.batch_matmul ins(%col, %b : tensor<2x64x256xf16>, tensor<2x256x512xf16>) outs(%c : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
    flow.return %r : tensor<2x64x512xf32>
  }
  util.return %2 : tensor<2x64x512xf32>
}
// -----
util.func public @regionexpand(%a: tensor<128x256xf16>, %b: tensor<2x256x512xf16>, %c: tensor<2x64x512xf32>) -> tensor<2x64x512xf32> {
  %0 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  %2 = flow.dispatch.region -> (tensor<2x64x512xf32>) {
    %col = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 64, 256] : tensor<128x256xf16> into tensor<2x64x256xf16>
    %r = linalg.batch_matmul ins(%col, %b : tensor<2x64x256xf16>, tensor<2x256x512xf16>) outs(%c : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
    flow.return %r : tensor<2x64x512xf32>
  }
  util.return %2 : tensor<2x64x512xf32>
}
// -----
util.func public @twousers(%a: tensor<2x64x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> (tensor<128x512xf32>, tensor<2x64x256xf16>) {
  %0 = flow.dispatch.region -> (tensor<2x64x256xf16>) {
    %e = tensor.empty() : tensor<2x64x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %a : tensor<2x64x256xf16>, tensor<2x64x256xf16>) outs(%e : tensor<2x64x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<2x64x256xf16>
    flow.return %1 : tensor<2x64x256xf16>
  }
  %3 = flow.dispatch.region -> (tensor<2x64x256xf16>) {
    %e = tensor.empty() : tensor<2x64x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0, %0 : tensor<2x64x256xf16>, tensor<2x64x256xf16>) outs(%e : tensor<2x64x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<2x64x256xf16>
    flow.return %1 : tensor<2x64x256xf16>
  }
  %col = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x64x256xf16> into tensor<128x256xf16>
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%col, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2, %3 : tensor<128x512xf32>, tensor<2x64x256xf16>
}
// -----
util.func public @twodirect(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> (tensor<128x512xf32>, tensor<128x256xf16>) {
  %0 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%0, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  %3 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %0 : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  util.return %2, %3 : tensor<128x512xf32>, tensor<128x256xf16>
}
// -----
util.func public @returned(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> (tensor<128x512xf32>, tensor<128x256xf16>) {
  %0 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%0, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2, %0 : tensor<128x512xf32>, tensor<128x256xf16>
}
// -----
util.func public @collapsetwo(%a: tensor<2x64x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> (tensor<128x512xf32>, tensor<128x512xf32>) {
  %0 = flow.dispatch.region -> (tensor<2x64x256xf16>) {
    %e = tensor.empty() : tensor<2x64x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %a : tensor<2x64x256xf16>, tensor<2x64x256xf16>) outs(%e : tensor<2x64x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<2x64x256xf16>
    flow.return %1 : tensor<2x64x256xf16>
  }
  %col = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x64x256xf16> into tensor<128x256xf16>
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%col, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  %3 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %r = linalg.matmul ins(%col, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%2 : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2, %3 : tensor<128x512xf32>, tensor<128x512xf32>
}
// -----
util.func public @chain(%a: tensor<2x64x256xf16>, %b: tensor<4x256x512xf16>, %c: tensor<4x32x512xf32>) -> tensor<4x32x512xf32> {
  %0 = flow.dispatch.region -> (tensor<2x64x256xf16>) {
    %e = tensor.empty() : tensor<2x64x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %a : tensor<2x64x256xf16>, tensor<2x64x256xf16>) outs(%e : tensor<2x64x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<2x64x256xf16>
    flow.return %1 : tensor<2x64x256xf16>
  }
  %col = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x64x256xf16> into tensor<128x256xf16>
  %2 = flow.dispatch.region -> (tensor<4x32x512xf32>) {
    %ex = tensor.expand_shape %col [[0, 1], [2]] output_shape [4, 32, 256] : tensor<128x256xf16> into tensor<4x32x256xf16>
    %r = linalg.batch_matmul ins(%ex, %b : tensor<4x32x256xf16>, tensor<4x256x512xf16>) outs(%c : tensor<4x32x512xf32>) -> tensor<4x32x512xf32>
    flow.return %r : tensor<4x32x512xf32>
  }
  util.return %2 : tensor<4x32x512xf32>
}
// -----
util.func public @bothsides(%a: tensor<2x64x256xf16>, %c: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %0 = flow.dispatch.region -> (tensor<2x64x256xf16>) {
    %e = tensor.empty() : tensor<2x64x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>, affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %a : tensor<2x64x256xf16>, tensor<2x64x256xf16>) outs(%e : tensor<2x64x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<2x64x256xf16>
    flow.return %1 : tensor<2x64x256xf16>
  }
  %col = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x64x256xf16> into tensor<128x256xf16>
  %2 = flow.dispatch.region -> (tensor<128x128xf32>) {
    %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>] ins(%col, %col : tensor<128x256xf16>, tensor<128x256xf16>) outs(%c : tensor<128x128xf32>) -> tensor<128x128xf32>
    flow.return %r : tensor<128x128xf32>
  }
  util.return %2 : tensor<128x128xf32>
}
// -----
util.func public @inregionop(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %0 = flow.dispatch.region -> (tensor<128x256xf16>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    flow.return %1 : tensor<128x256xf16>
  }
  %2 = flow.dispatch.region -> (tensor<128x512xf32>) {
    %e = tensor.empty() : tensor<128x256xf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>, affine_map<(d0,d1) -> (d0,d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %a : tensor<128x256xf16>, tensor<128x256xf16>) outs(%e : tensor<128x256xf16>) {
    ^bb0(%in: f16, %in2: f16, %out: f16):
      %sum = arith.addf %in, %in2 : f16
      linalg.yield %sum : f16
    } -> tensor<128x256xf16>
    %r = linalg.matmul ins(%1, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %r : tensor<128x512xf32>
  }
  util.return %2 : tensor<128x512xf32>
}
// -----
util.func public @ofmatmul(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf16>, %d: tensor<512x512xf16>) -> tensor<128x512xf16> {
  %0 = flow.dispatch.region -> (tensor<128x512xf16>) {
    %r = linalg.matmul ins(%a, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf16>) -> tensor<128x512xf16>
    flow.return %r : tensor<128x512xf16>
  }
  %2 = flow.dispatch.region -> (tensor<128x512xf16>) {
    %r = linalg.matmul ins(%0, %d : tensor<128x512xf16>, tensor<512x512xf16>) outs(%0 : tensor<128x512xf16>) -> tensor<128x512xf16>
    flow.return %r : tensor<128x512xf16>
  }
  util.return %2 : tensor<128x512xf16>
}
