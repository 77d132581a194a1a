"""What a lexer of text derives from.

Since xDSL 0.74 these classes have a parameter, text or bytes; those of 0.73 are for text alone.
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
