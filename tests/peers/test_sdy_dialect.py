"""The sdy dialect against Shardy itself, as JAX carries it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mesh_opt.dialects.sdy.attributes import ShardingAttr
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.verification import verify
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp

PROGRAM = """
sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @empty = <[]>
sdy.mesh @permuted = <["a"=2], device_ids=[1, 0]>
sdy.mesh @one = <[], device_ids=[0]>
%0 = "builtin.unrealized_conversion_cast"() : () -> tensor<8x8xf32>
%1 = sdy.sharding_constraint %0 <@m, [{"a", ?}p1, {"b":(2)2}]> {note = 3 : i32} : tensor<8x8xf32>
%2 = sdy.sharding_constraint %1 <@m, [{?}, {}], replicated={"a"}, unreduced={"b"}> : tensor<8x8xf32>
%3 = sdy.reshard %2 <mesh<["x"=2]>, [{}, {"x"}]> : tensor<8x8xf32>
%4 = sdy.propagation_barrier %3 allowed_direction=BACKWARD : tensor<8x8xf32>
sdy.sharding_group %4 group_id=7 : tensor<8x8xf32>
%5 = sdy.manual_computation(%4) in_shardings=[<@m, [{"a"}, {}]>] \
out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%arg0: tensor<4x8xf32>) {
  sdy.return %arg0 : tensor<4x8xf32>
} : (tensor<8x8xf32>) -> tensor<8x8xf32>
%6 = sdy.named_computation<"part">(%5) in_shardings=[<@m, [{"a"}, {}]>] \
out_shardings=[<@m, [{"a"}, {}]>] (%arg0: tensor<8x8xf32>) {
  sdy.return %arg0 : tensor<8x8xf32>
} : (tensor<8x8xf32>) -> tensor<8x8xf32>
%value = sdy.constant {note = 3 : i32} dense<1.0> : tensor<8x8xf32>
%bare = sdy.named_computation<"bare">(%value) (%arg0: tensor<8x8xf32>) {
  sdy.return %arg0 : tensor<8x8xf32>
} : (tensor<8x8xf32>) -> tensor<8x8xf32>
%split = sdy.sharding_constraint %6 <@m, [{"a"}, {"b"}]> : tensor<8x8xf32>
%sum = sdy.sharded_to_unreduced [{}, {"b"}] %split out_sharding=<@m, [{"a"}, {}], unreduced={"b"}> \
: tensor<8x8xf32>
%kept = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[\
<@m, [{"a"}, {}]>]>} %split : tensor<8x8xf32>
%ruled = stablehlo.custom_call @f(%kept) {sdy.sharding_rule = #sdy.op_sharding_rule<\
([ij, k])->([i, k]) {i=4, j=2, k=8} reduction={j} need_replication={k}, custom>} \
: (tensor<8x8xf32>) -> tensor<4x8xf32>
%part = sdy.replicated_to_unreduced {"b"} %5 out_sharding=<@m, [{"a"}, {}], unreduced={"b"}> \
: tensor<8x8xf32>
"""

SHARDY = """
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo
with ir.Context() as context:
    sdy.register_dialect(context)
    stablehlo.register_dialect(context)
    print(ir.Module.parse({text!r}).operation.get_asm(print_generic_op_form={generic}))
"""

REFUSED = [
    '<@m, [{"a"}, {"a"}]>',
    '<@m, [{"z"}, {}]>',
    "<@m, [{}]>",
    '<@m, [{"a"}, {}], replicated={"a"}>',
    '<@other, [{"a"}, {}]>',
    '<@m, [{"b":(1)3}, {}]>',
    '<@m, [{"b":(1)4}, {}]>',
    '<@m, [{"b":(1)2, "b":(2)2}, {}]>',
    '<@m, [{"b"}, {"b":(1)2}]>',
    "<@m, [{}, {}p0]>",
    '<@m, [{}, {}], replicated={"b", "a"}>',
    "<@one, [{}, {}]>",
]

JAX = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(numpy.array(jax.devices()).reshape(2, 4), ("a", "b"))
def on(*parts):
    return NamedSharding(mesh, P(*parts))
def f(x, y):
    h = jax.lax.with_sharding_constraint(x @ y, on(("a", "b"), P.UNCONSTRAINED))
    g = jax.shard_map(
        lambda t: jax.lax.psum(t, "a"), mesh=mesh, in_specs=P("a", "b"), out_specs=P(None, "b")
    )
    return h, g(x)
x = jax.ShapeDtypeStruct((8, 16), "float32")
y = jax.ShapeDtypeStruct((16, 8), "float32")
lowered = jax.jit(f, in_shardings=(on("a", None), on(None, "b"))).lower(x, y)
print(lowered.compiler_ir().operation.get_asm(print_generic_op_form=True))
"""


def read(text: str, allow_unregistered: bool = False) -> ModuleOp:
    module = parse_module(new_context(allow_unregistered), Source(text, "test"))
    verify(module)
    return module


@pytest.mark.parametrize("ours_generic", [False, True])
@pytest.mark.parametrize("theirs_generic", [False, True])
def test_text_goes_both_ways(
    ours_generic: bool, theirs_generic: bool, peers_python: Callable[[str], str]
) -> None:
    module = read(PROGRAM)
    text = print_operation(module, generic=ours_generic)
    answer = peers_python(SHARDY.format(text=text, generic=theirs_generic))
    assert module.is_structurally_equivalent(read(answer))


@pytest.mark.parametrize("sharding", REFUSED)
def test_both_refuse(sharding: str, peers_python: Callable[[str], str]) -> None:
    text = PROGRAM + f"%7 = sdy.sharding_constraint %6 {sharding} : tensor<8x8xf32>\n"
    with pytest.raises(AssertionError, match="MLIRError"):
        peers_python(SHARDY.format(text=text, generic=False))
    with pytest.raises(Exception, match=r"axis|axes|rank|mesh|priority"):
        read(text)


def test_jax_program(peers_python: Callable[[str], str]) -> None:
    module = read(peers_python(JAX), allow_unregistered=True)
    names = {op.name for op in module.walk()}
    assert {"sdy.mesh", "sdy.sharding_constraint", "sdy.manual_computation"} <= names
    function = next(op for op in module.walk() if op.name == "func.func")
    first = function.properties["arg_attrs"].data[0].data["sdy.sharding"]
    assert isinstance(first, ShardingAttr)
    assert str(first.data) == '<@mesh, [{"a"}, {}]>'
