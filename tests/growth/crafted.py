"""Inputs that grow: for each reader, what a hostile file or request would repeat."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Crafted:
    """An input of any size for one reader.

    Attributes:
        name: The reader and what is repeated, as in "html: end tags that close nothing".
        make: Returns an input of about n bytes; its cost is not measured.
        read: What is measured; it may raise a YakusuError or a RefusedError, which count as done.
    """

    name: str
    make: Callable[[int], Any]
    read: Callable[[Any], object]
