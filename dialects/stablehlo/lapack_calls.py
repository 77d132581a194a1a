"""Calls of LAPACK as JAX writes them: the name of the function, and its options."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

_COMPLEX_NAMES = {"ungqr": "orgqr", "unmqr": "ormqr", "heevd": "syevd", "hetrd": "sytrd"}


def lapack_name(target: str) -> str | None:
    """Return the LAPACK function of a call target, `potrf` for `lapack_spotrf_ffi`, or `None`."""
    if not target.startswith("lapack_") or not target.endswith("_ffi"):
        return None
    name = target.removeprefix("lapack_").removesuffix("_ffi")[1:]
    return _COMPLEX_NAMES.get(name, name)


class CallOptions:
    """The options of a custom call (`mhlo.backend_config`).

    Letters are stored as character codes.
    """

    def __init__(self, op: Operation) -> None:
        found = op.attributes.get("mhlo.backend_config")
        options: dict[str, Attribute] = (
            dict(found.data) if isinstance(found, DictionaryAttr) else {}
        )
        self._values: dict[str, int] = {
            name: each.value.data for name, each in options.items() if isinstance(each, IntegerAttr)
        }

    def letter(self, name: str, default: str) -> str:
        """Return an option that is a letter, such as `L`."""
        found = self._values.get(name)
        return default if found is None else chr(found & 0xFF)

    def truth(self, name: str) -> bool:
        """Return an option that is a boolean."""
        return bool(self._values.get(name, 0))
