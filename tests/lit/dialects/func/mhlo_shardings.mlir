// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// A sharding of GSPMD lists as many devices as it has tiles. Other strings are read where they are used.

// expected-error @+1 {{mhlo.sharding of argument #0: sharding "{devices=[3]0,1}": it must name each of 3 devices once}}
func.func @argument(%x: tensor<6xf32> {mhlo.sharding = "{devices=[3]0,1}"}) {
  return
}

// -----

// expected-error @+1 {{mhlo.sharding of result #0: sharding "{devices=[2,2]<=[8]}": its order of devices is not a transposition of 4 numbers}}
func.func @result(%x: tensor<6x2xf32>) -> (tensor<6x2xf32> {mhlo.sharding = "{devices=[2,2]<=[8]}"}) {
  return %x : tensor<6x2xf32>
}

// -----

func.func @operation(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{sharding "{devices=[2]1,1}": it must name each of 2 devices once}}
  %y = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2]1,1}"} : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @others(%x: tensor<6xf32> {mhlo.sharding = "{maximal device=3}"}, %y: tensor<6xf32> {mhlo.sharding = "something new"}, %z: tensor<6xf32> {mhlo.sharding = "{devices=[3]2,0,1}"}) {
  return
}
