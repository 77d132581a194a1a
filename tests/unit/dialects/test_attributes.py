"""Attributes of the project's dialects."""

from __future__ import annotations

import pytest
from mesh_opt.dialects.registry import OWN_DIALECTS
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import ParamAttrDef


@pytest.mark.parametrize("dialect", OWN_DIALECTS)
def test_every_parameter_distinguishes_attributes(dialect: str) -> None:
    """A parameter inherited from a base that is no dataclass would not be compared."""
    for attribute in OWN_DIALECTS[dialect]().attributes:
        if not issubclass(attribute, ParametrizedAttribute):
            continue
        definition: ParamAttrDef | None = attribute.get_irdl_definition()
        if definition is not None:  # an alias of another class has none
            parameters = {name for name, _ in definition.parameters}
            assert parameters <= attribute.__dataclass_fields__.keys(), attribute.name
