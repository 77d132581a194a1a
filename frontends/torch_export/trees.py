"""Arguments and results of modules: pytrees of tensors and constants.

    (ids, {"past_key_values": DynamicCache, "use_cache": True})
        ->  tensors ids, past_key_values.key_cache.0, ...; and the constant True

PyTorch's pytrees cover lists, tuples, dictionaries and registered types.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

_CONSTANTS = (type(None), bool, int, float, complex, str)


class Tree:
    """The structure of a value: where its tensors are, and its constants."""

    def __init__(self, torch: Any, value: Any, names: Sequence[str], what: str) -> None:
        """Record a value.

        `names` are the names of all its leaves in order, `what` is its role in messages.

        Raises TypeError for a leaf that is neither a dense tensor nor a constant.
        """
        self._torch, self._names, self._what = torch, names, what
        leaves, self._spec = torch.utils._pytree.tree_flatten(value)
        # Dynamic numbers are results of the program, as tensors are.
        variable = torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool
        for name, leaf in zip(names, leaves, strict=True):
            where = f"{what} {name}" if name else what
            # dtypes are allowed too: configurations of transformers contain them.
            if not isinstance(leaf, (*variable, torch.dtype, torch.device, *_CONSTANTS)):
                raise TypeError(
                    f"{where} is {type(leaf).__name__}, expected a tensor, a constant, or a"
                    " type registered with torch.utils._pytree"
                )
            if isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided:
                raise TypeError(f"{where} is {leaf.layout}, expected a dense tensor")
        self._leaves = [None if isinstance(each, variable) else each for each in leaves]
        self._places = [at for at, each in enumerate(leaves) if isinstance(each, variable)]
        self.names = [names[place] for place in self._places]
        """The names of the tensors."""
        plain = self._plain(value)
        self._plain_count = -1 if plain is None else len(plain)

    def _plain(self, value: Any) -> list[Any] | None:
        """Return positional inputs that are all tensors, and `None` for anything else.

        Most calls have no others. PyTorch takes 15 us to flatten two.
        """
        match value:
            case (tuple() as inputs, dict() as keywords) if not keywords:  # pyright: ignore[reportUnknownVariableType]
                tensor, listed = self._torch.Tensor, list[Any](inputs)  # pyright: ignore[reportUnknownArgumentType]
                return listed if all(type(each) is tensor for each in listed) else None
            case _:
                return None

    def tensors(self, value: Any) -> list[Any]:
        """Return the tensors of a value. Raises TypeError if its structure or constants differ."""
        plain = self._plain(value)
        if plain is not None and len(plain) == self._plain_count:
            return plain
        leaves, spec = self._torch.utils._pytree.tree_flatten(value)
        if spec != self._spec:
            raise TypeError(f"the {self._what}s are {spec}, compiled for {self._spec}")
        tensors = set(self._places)
        for at, (name, known, leaf) in enumerate(
            zip(self._names, self._leaves, leaves, strict=True)
        ):
            if at in tensors:
                if isinstance(leaf, _CONSTANTS):
                    raise TypeError(f"{self._what} {name} is {leaf!r}, compiled for a tensor")
            elif type(leaf) is not type(known) or leaf != known:
                is_constant = isinstance(leaf, _CONSTANTS)
                found = repr(leaf) if is_constant else type(leaf).__name__
                raise TypeError(
                    f"{self._what} {name} is {found}, compiled for the constant {known!r}"
                )
        return [leaves[place] for place in self._places]

    def value(self, tensors: Sequence[Any]) -> Any:
        """Return the value with these tensors."""
        leaves = list(self._leaves)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        return self._torch.utils._pytree.tree_unflatten(leaves, self._spec)


def leaf_names(torch: Any, value: Any) -> list[str]:
    """Return the names of all leaves of a value: keys, indices and fields, as `cache.keys.0`."""
    found, _ = torch.utils._pytree.tree_flatten_with_path(value)
    return [".".join(map(str, _keys(path))) for path, _ in found]


def _keys(path: Sequence[Any]) -> Iterator[Any]:
    for key in path:
        for field in ("key", "idx", "name"):
            if hasattr(key, field):
                yield getattr(key, field)
                break


def fits(name: str, pattern: str) -> bool:
    """Return whether a name fits a pattern with `*`."""
    # Compare first: as a pattern, the name `inputs[0]` does not match itself.
    return name == pattern or fnmatchcase(name, pattern)


def register_caches(module: Any) -> None:
    """Register the caches of `transformers`, which registers them only for its own exports."""
    if "transformers" not in sys.modules:
        return
    for name, function, arguments in (
        ("integrations.executorch", "register_dynamic_cache_export_support", ()),
        ("exporters.exporter_dynamo", "register_cache_pytrees_for_model", (module,)),
    ):
        try:
            getattr(import_module(f"transformers.{name}"), function)(*arguments)
        except (ImportError, AttributeError):
            # Each version has its own function. Unregistered types raise an error where they occur.
            continue
