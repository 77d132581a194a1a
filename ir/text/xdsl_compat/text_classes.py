"""Base classes of the lexer, compatible with xDSL 0.73 and later.

Since 0.74 they have a type parameter, text or bytes; in 0.73 they are for text only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.lexer import Input, Token
from xdsl.utils.mlir_lexer import MLIRTokenKind

if TYPE_CHECKING:
    TextInput = Input[str]
    TextToken = Token[MLIRTokenKind, str]
else:
    TextInput, TextToken = Input, Token
