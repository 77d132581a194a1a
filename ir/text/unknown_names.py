"""Error messages for unknown operations, types and attributes, with suggestions."""

from __future__ import annotations

from xdsl.context import Context

from ..usage_error import did_you_mean


def unknown_operation(context: Context, name: str) -> str:
    """Return the error message for an unknown operation."""
    dialect = name.partition(".")[0]
    if "." in name and context.get_optional_dialect(dialect) is None:
        return (
            f"unknown operation '{name}': {_no_dialect(context, dialect)} (with "
            "--allow-unregistered-dialect, operations of unknown dialects are accepted in the "
            "generic form)"
        )
    names = (operation.name for operation in context.loaded_ops)
    return f"unknown operation '{name}'{did_you_mean(name, names)}"


def unknown_attribute(context: Context, name: str, is_type: bool) -> str:
    """Return the error message for an unknown type or attribute, such as `shard.foo`."""
    mark, what = ("!", "type") if is_type else ("#", "attribute")
    dialect = name.partition(".")[0]
    if context.get_optional_dialect(dialect) is None:
        return (
            f"unknown {what} '{mark}{name}': {_no_dialect(context, dialect)} "
            "(--allow-unregistered-dialect accepts those of unknown dialects)"
        )
    known = context.loaded_types if is_type else context.loaded_attrs
    names = [each.name for each in known if each.name.startswith(f"{dialect}.")]
    return f"unknown {what} '{mark}{name}'{did_you_mean(name, names, mark)}"


def _no_dialect(context: Context, dialect: str) -> str:
    hint = did_you_mean(dialect, context.registered_dialect_names)
    return f"there is no dialect '{dialect}'{hint}"
