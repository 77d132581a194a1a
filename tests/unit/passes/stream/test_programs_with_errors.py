"""A program that a pass refuses is left as it was: every program of the lit files of errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from mesh_opt.dialects.stream.affinity import AffinityAnalysisDialectInterface, TargetResolver
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.stream.encode_host_tensors import encode_host_tensors
from mesh_opt.passes.stream.specialize_encodings import SpecializeEncodingsPass
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.passes import ModulePass

LIT = Path(__file__).parents[3] / "lit" / "passes" / "stream"

PASSES: dict[str, ModulePass] = {
    "specialize_encodings": SpecializeEncodingsPass(),
    "encode_host_tensors": encode_host_tensors(),
}

PROGRAMS = [
    pytest.param(name, text, id=f"{name}-{number}")
    for name in PASSES
    for number, text in enumerate((LIT / f"{name}_errors.mlir").read_text().split("// -----"))
]


PARSED = [program for program in PROGRAMS if "select<[]>" not in str(program.values[1])]
"""All but the one that cannot be read."""


@pytest.mark.parametrize(("name", "text"), PARSED)
def test_nothing_has_changed(name: str, text: str) -> None:
    context = new_context()
    module = parse_module(context, Source(text, "test.mlir"))
    before = str(module)
    with pytest.raises(OperationError) as raised:
        PASSES[name].apply(context, module)
    assert str(module) == before
    assert raised.value.operation.get_toplevel_object() is module
    module.verify()


class OtherAnalysis(AffinityAnalysisDialectInterface):
    """A second dialect that knows of affinities."""

    def make_target_resolver(self, module: ModuleOp) -> TargetResolver:
        return lambda affinity, operation: ()


@irdl_attr_definition
class OtherAffinity(ParametrizedAttribute):
    name = "other.device"


def test_two_dialects_of_affinities() -> None:
    context = new_context()
    context.load_dialect(Dialect("other", [], [OtherAffinity], [OtherAnalysis()]))
    solver = "iree.encoding.resolver = #iree_encoding.specialization_resolver<1>"
    text = f"""
    util.global private @a = #hal.device.target<"local", [#hal.executable.target<"x", "abc",
      {{{solver}}}>]> : !hal.device
    util.func public @main() {{
      %0 = stream.tensor.sizeof on(#hal.device.affinity<@a>)
        tensor<16xf32, #iree_encoding.testing<>> : index
      %1 = stream.tensor.sizeof on(#other.device) tensor<16xf32, #iree_encoding.testing<>> : index
      util.return
    }}
    """
    module = parse_module(context, Source(text, "test.mlir"))
    before = str(module)
    with pytest.raises(OperationError, match=r"affinity of dialect 'other', but .* of 'hal'"):
        SpecializeEncodingsPass().apply(context, module)
    assert str(module) == before
