"""A model folder that translates text."""

from yakusu.translator.translator import Translator
from yakusu.translator.writing.translation import Translation

__all__ = ["Translation", "Translator"]
