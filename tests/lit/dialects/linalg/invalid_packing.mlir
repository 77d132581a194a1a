// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Tiles that do not fit their tensors.

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op invalid inner_dims_pos vector: expected distinct numbers below 2, found [0, 0]}}
  %r = linalg.pack %s inner_dims_pos = [0, 0] inner_tiles = [8, 32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op invalid inner_dims_pos vector: expected distinct numbers below 2, found [0, 2]}}
  %r = linalg.pack %s inner_dims_pos = [0, 2] inner_tiles = [8, 32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op tiling factors must equal the number of dimensions to tile: there are 2 and 1}}
  %r = linalg.pack %s inner_dims_pos = [0] inner_tiles = [8, 32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op mismatch in inner tile sizes specified and shaped of tiled dimension in the packed type: tile 1 is 16, dimension 3 is 32}}
  %r = linalg.pack %s inner_dims_pos = [0,1] inner_tiles = [8, 16] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op invalid zero tile factor}}
  %r = linalg.pack %s inner_dims_pos = [0,1] inner_tiles = [0, 16] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op invalid outer_dims_perm vector: [0, 0] is not a permutation of 2 dimensions}}
  %r = linalg.pack %s outer_dims_perm = [0,0] inner_dims_pos = [0,1] inner_tiles = [8, 32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op expected 'tensor<8x16x8x32xf32>' for the packed domain value, got 'tensor<16x8x8x32xf32>'}}
  %r = linalg.pack %s outer_dims_perm = [1,0] inner_dims_pos = [0,1] inner_tiles = [8, 32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%d: tensor<16x8x8x32xf32>, %u: tensor<127x256xf32>) {
  // expected-error @+1 {{'linalg.pack' op invalid tile factor or output size provided. Only full tiles are supported when padding_value is not set: dimension 0 is 127, its tile 8}}
  %r = linalg.pack %u inner_dims_pos = [0,1] inner_tiles = [8, 32] into %d : tensor<127x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%d: tensor<16x8x8x32xf32>, %u: tensor<127x256xf32>, %z: i32) {
  // expected-error @+1 {{'linalg.pack' op expected padding_value has 'f32' but got: 'i32'}}
  %r = linalg.pack %u padding_value(%z : i32) inner_dims_pos = [0,1] inner_tiles = [8, 32] into %d : tensor<127x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op packed rank != (unpacked rank + num tiling factors), got 4 != 3}}
  %r = linalg.pack %s inner_dims_pos = [0] inner_tiles = [8] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.unpack' op packed rank != (unpacked rank + num tiling factors), got 2 != 6}}
  %r = linalg.unpack %s inner_dims_pos = [0,1] inner_tiles = [8,32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  return
}

// -----

func.func @f(%d: tensor<16x8x8x32xf32>, %q: tensor<1x1xf32>) {
  // expected-error @+1 {{'linalg.unpack' op expected 'tensor<1x1x8x32xf32>' for the packed domain value, got 'tensor<16x8x8x32xf32>'}}
  %r = linalg.unpack %d inner_dims_pos = [0,1] inner_tiles = [8,32] into %q : tensor<16x8x8x32xf32> -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%m: memref<128x256xf32>, %n: memref<16x8x8x32xf32>) {
  // expected-error @+1 {{'linalg.pack' op operand #0 must be ranked tensor, but got 'memref<128x256xf32>'}}
  linalg.pack %m inner_dims_pos = [0,1] inner_tiles = [8,32] into %n : memref<128x256xf32> -> memref<16x8x8x32xf32>
  return
}
