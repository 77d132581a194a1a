// builtin.module(func.func(iree-codegen-materialize-device-encoding))
#A = affine_map<(d0, d1) -> (d1)>
#B = affine_map<(d0, d1) -> (d1, d0)>
#C = affine_map<(d0, d1) -> (d0)>
#l = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [ui8, i8, i32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [40, 52]>
#r = #iree_encoding.encoding<operand_index = 1, op_type = matmul, element_types = [ui8, i8, i32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [40, 52]>
#o = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [ui8, i8, i32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [40, 52]>
func.func @unsigned_row(%A: tensor<52xi8>, %B: tensor<52x40xi8>, %C: tensor<40xi32>) -> tensor<40xi32> attributes {hal.executable.target = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "none", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>} {
  %0 = iree_encoding.set_encoding %A : tensor<52xi8> -> tensor<52xi8, #l>
  %1 = iree_encoding.set_encoding %B : tensor<52x40xi8> -> tensor<52x40xi8, #r>
  %2 = iree_encoding.set_encoding %C : tensor<40xi32> -> tensor<40xi32, #o>
  %3 = linalg.generic {indexing_maps = [#A, #B, #C], iterator_types = ["parallel", "reduction"]} ins(%0, %1 : tensor<52xi8, #l>, tensor<52x40xi8, #r>) outs(%2 : tensor<40xi32, #o>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %xe = arith.extui %x : i8 to i32
    %ye = arith.extsi %y : i8 to i32
    %p = arith.muli %xe, %ye : i32
    %s = arith.addi %z, %p : i32
    linalg.yield %s : i32
  } -> tensor<40xi32, #o>
  %4 = iree_encoding.unset_encoding %3 : tensor<40xi32, #o> -> tensor<40xi32>
  return %4 : tensor<40xi32>
}
