"""How long the dimensions of tensors are, as numbers or as index values.

Importing the package registers the rules of all operations.
"""

from . import collective_sizes as collective_sizes
from . import tosa_sizes as tosa_sizes
