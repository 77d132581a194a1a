"""Resources: large data that stand at the end of a file, and that attributes name."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain, count
from weakref import WeakValueDictionary, finalize

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import DenseResourceAttr, StringAttr
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .quick_parser import QuickParser
from .source import Source

_RESOURCE = re.compile(r'([\w$.-]++)\s*+:\s*+"(0x[^"]*+)"')


_handles: WeakValueDictionary[tuple[str, str], StringAttr] = WeakValueDictionary()
"""The names of resources by dialect and key: all attributes of one have the same object."""


class ResourceParser(QuickParser):
    """The part of the parser that reads them."""

    source: Source

    def __init__(self, context: Context, content: str, name: str) -> None:
        super().__init__(context, content, name)
        self.external_resources: dict[str, dict[str, str]] = {}
        self._resource_keys: dict[tuple[str, str], str] = {}
        self._kept_handles: list[StringAttr | None] = []

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        """The key under which a resource that the text names is stored.

        The store is one for the whole process: another file's resource of this name keeps its
        data, and the same data keeps its name. What is read here is dropped with the parser and
        the last attribute that has the name.
        """
        name = self.parse_identifier(" for resource handle")
        key = self._resource_keys.get((dialect_name, name))
        if key is None:
            data = self._resource_texts.get(name, "")
            names = chain((name,), (f"{name}_{number}" for number in count()))
            key = next(known for known in names if interface.lookup(known) in (None, data))
            if interface.lookup(key) is None:
                interface.declare_resource(key)
                if data:
                    interface.parse_resource(key, data)
                handle = _handles[dialect_name, key] = StringAttr(key)
                finalize(handle, interface._blob_storage.pop, key, None)  # pyright: ignore[reportPrivateUsage]
            self._kept_handles.append(_handles.get((dialect_name, key)))
            self._resource_keys[dialect_name, name] = key
        return key

    def _parse_builtin_dense_resource_attr(self) -> DenseResourceAttr:
        parsed = super()._parse_builtin_dense_resource_attr()
        handle = _handles.get(("builtin", parsed.resource_handle.data), parsed.resource_handle)
        return DenseResourceAttr(handle, parsed.type)

    @cached_property
    def _resource_texts(self) -> dict[str, str]:
        """The data that the end of the file gives resources, read once for all of them."""
        start = self.source.content.rfind("{-#")
        entries = _RESOURCE.finditer(self.source.content, start) if start >= 0 else ()
        texts: dict[str, str] = {}
        for entry in entries:
            texts.setdefault(entry[1], entry[2])
        return texts

    def _parse_external_resources(self) -> None:
        """Keep `{name: {key: "text"}}`: how a reproducer carries its pipeline."""

        def parse_entry() -> tuple[str, str]:
            key = self.parse_identifier()
            self.parse_punctuation(":")
            token = self._current_token
            if token.kind is MLIRTokenKind.STRING_LIT:
                return key, self.parse_str_literal()
            self._consume_token()
            return key, token.text

        def parse_group() -> None:
            name = self.parse_identifier()
            self.parse_punctuation(":")
            entries = self.parse_comma_separated_list(self.Delimiter.BRACES, parse_entry)
            self.external_resources[name] = dict(entries)

        self.parse_comma_separated_list(self.Delimiter.BRACES, parse_group)
