"""Error messages for unknown operations, types and attributes, with suggestions."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context


def unknown_operation(context: Context, name: str) -> str:
    """Return the error message for an unknown operation."""
    dialect = name.partition(".")[0]
    if "." in name and context.get_optional_dialect(dialect) is None:
        return (
            f"unknown operation '{name}': {_no_dialect(context, dialect)} "
            "(operations of unknown dialects are read in the generic form alone, "
            "and with --allow-unregistered-dialect)"
        )
    names = (operation.name for operation in context.loaded_ops)
    return f"unknown operation '{name}'{_meant(name, names)}"


def unknown_attribute(context: Context, name: str, is_type: bool) -> str:
    """Return the error message for an unknown type or attribute, such as `shard.foo`."""
    mark, what = ("!", "type") if is_type else ("#", "attribute")
    dialect = name.partition(".")[0]
    if context.get_optional_dialect(dialect) is None:
        return (
            f"unknown {what} '{mark}{name}': {_no_dialect(context, dialect)} "
            "(--allow-unregistered-dialect reads those of unknown dialects)"
        )
    known = context.loaded_types if is_type else context.loaded_attrs
    names = [each.name for each in known if each.name.startswith(f"{dialect}.")]
    return f"unknown {what} '{mark}{name}'{_meant(name, names, mark)}"


def _no_dialect(context: Context, dialect: str) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(dialect, [*context.registered_dialect_names], 1)
    hint = f"; did you mean the dialect '{matches[0]}'?" if matches else ""
    return f"there is no dialect '{dialect}'{hint}"


def _meant(name: str, names: Iterable[str], mark: str = "") -> str:
    from difflib import get_close_matches

    matches = get_close_matches(name, [*names], 1)
    return f"; did you mean '{mark}{matches[0]}'?" if matches else ""
