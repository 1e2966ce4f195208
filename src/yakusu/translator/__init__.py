"""A model folder that translates text."""

from yakusu.translator.translation import Translation
from yakusu.translator.translator import Translator

__all__ = ["Translation", "Translator"]
