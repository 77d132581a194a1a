"""Name the parameters and buffers of a PyTorch module."""

from __future__ import annotations

from typing import Any


def weights_of(module: Any) -> dict[str, Any]:
    """Return parameters and buffers by their first names, including non-persistent buffers."""
    return {name: value.detach() for name, value in attached_weights(module).items()}


def attached_weights(module: Any) -> dict[str, Any]:
    """Return the same tensors as the module holds them.

    Each call needs them; `named_parameters` and `named_buffers` take three times as long.
    """
    modules: dict[Any, str] = {}

    def visit(prefix: str, each: Any) -> None:
        if each is None or each in modules:
            return
        modules[each] = prefix
        for name, child in each._modules.items():
            visit(f"{prefix}{name}.", child)

    visit("", module)
    found: dict[str, Any] = {}
    for members in ("_parameters", "_buffers"):
        known = set[int]()
        for each, prefix in modules.items():
            for name, value in getattr(each, members).items():
                if value is not None and id(value) not in known:
                    known.add(id(value))
                    found[prefix + name] = value
    return found


def tied_names(module: Any) -> list[list[str]]:
    """Return all names of each weight: several modules may share one tensor."""
    found: dict[int, list[str]] = {}
    for listed in (module.named_parameters, module.named_buffers):
        for name, value in listed(remove_duplicate=False):
            found.setdefault(id(value), []).append(name)
    return list(found.values())
