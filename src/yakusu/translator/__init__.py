"""A model folder that translates text."""

from yakusu.translator.translator import Translation, Translator

__all__ = ["Translation", "Translator"]
