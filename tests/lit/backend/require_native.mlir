// RUN: mesh-run %s --backend=native --function=native --input=2xf32=1,2 --require-native --workers=2 --deterministic | filecheck %s
// RUN: not mesh-run %s --backend=native --function=unsigned --input=1x3xui8=1,3,2 --require-native 2>&1 | filecheck %s --check-prefix=KERNEL
// RUN: not mesh-run %s --backend=native --function=buffer --input=1 --require-native 2>&1 | filecheck %s --check-prefix=HOST
// RUN: not mesh-run %s --backend=interpreter --function=native --input=2xf32 --require-native 2>&1 | filecheck %s --check-prefix=BACKEND
// RUN: not mesh-run %s --function=native --input=2xf32 --workers=0 2>&1 | filecheck %s --check-prefix=WORKERS
// RUN: mesh-run %s --backend=native --function=buffer --input=1 --remarks=backend 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK: 2xf32=2 4
// KERNEL: require_native.mlir:[[#]]:8: error: 'tosa.reverse' op has no kernel and runs in the interpreter (native code is required)
// HOST: require_native.mlir:[[#]]:8: error: 'memref.alloc' op {{.*}} (native code is required)
// BACKEND: --require-native needs --backend=native or --backend=mpi
// WORKERS: --workers must be at least 1, found 0
// REMARK: remark: 'memref.alloc' op [backend] has no host code, so that the interpreter runs its function:
// REMARK: EXEC @buffer

func.func @native(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

func.func @unsigned(%x: tensor<1x3xui8>) -> tensor<1x3xui8> {
  %0 = tosa.reverse %x {axis = 1 : i32} : (tensor<1x3xui8>) -> tensor<1x3xui8>
  return %0 : tensor<1x3xui8>
}

func.func @buffer(%x: f32) -> f32 {
  %m = memref.alloc() : memref<f32>
  memref.store %x, %m[] : memref<f32>
  %0 = memref.load %m[] : memref<f32>
  return %0 : f32
}
