// builtin.module(util.func(iree-dispatch-creation-set-encoding),iree-dispatch-creation-hoist-encoding-ops)
util.func public @dyn(%a:tensor<?x?xf32>,%b:tensor<?x?xf32>,%m:index,%n:index)->tensor<?x?xf32>{
%z=arith.constant 0.0:f32
%0=flow.dispatch.region->(tensor<?x?xf32>{%m,%n}){
%e=tensor.empty(%m,%n):tensor<?x?xf32>
%f=linalg.fill ins(%z:f32) outs(%e:tensor<?x?xf32>)->tensor<?x?xf32>
%r=linalg.matmul {iree.opt.data_tiling} ins(%a,%b:tensor<?x?xf32>,tensor<?x?xf32>) outs(%f:tensor<?x?xf32>)->tensor<?x?xf32>
flow.return %r:tensor<?x?xf32>}
util.return %0:tensor<?x?xf32>}
// -----
util.func public @accdyn(%a:tensor<?x?xf32>,%b:tensor<?x?xf32>,%c:tensor<?x?xf32>,%m:index,%n:index)->tensor<?x?xf32>{
%0=flow.dispatch.region->(tensor<?x?xf32>{%m,%n}){
%r=linalg.matmul {iree.opt.data_tiling} ins(%a,%b:tensor<?x?xf32>,tensor<?x?xf32>) outs(%c:tensor<?x?xf32>)->tensor<?x?xf32>
flow.return %r:tensor<?x?xf32>}
util.return %0:tensor<?x?xf32>}
// -----
util.func public @mdyn(%a:tensor<?x64xf32>,%b:tensor<64x256xf32>,%m:index)->tensor<?x256xf32>{
%z=arith.constant 0.0:f32
%0=flow.dispatch.region->(tensor<?x256xf32>{%m}){
%e=tensor.empty(%m):tensor<?x256xf32>
%f=linalg.fill ins(%z:f32) outs(%e:tensor<?x256xf32>)->tensor<?x256xf32>
%r=linalg.matmul {iree.opt.data_tiling} ins(%a,%b:tensor<?x64xf32>,tensor<64x256xf32>) outs(%f:tensor<?x256xf32>)->tensor<?x256xf32>
flow.return %r:tensor<?x256xf32>}
util.return %0:tensor<?x256xf32>}
