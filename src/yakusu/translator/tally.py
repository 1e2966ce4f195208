"""Counts of what a translator has read, and of what it has kept."""

from dataclasses import dataclass


@dataclass
class Tally:
    """Counts since the translator was opened.

    Attributes:
        segments: Sentences, and parts of long sentences, that were translated.
        spans: Protected spans.
        unseen: Words and characters that were copied because training has never seen them.
        terms: Terms of the glossary in sentences that were translated; each translation has the
            target term.
        kept: Lines that have no text to translate, but are not empty.
        truncated: Sentences that were truncated.
        invisible: Characters that a reader does not see, which are not in the translations.
        matched: Texts and sentences whose translation is that of a memory.
        words_100: Words of texts that a memory has; see `recall.analysis` for this and the next.
        words_repeated: Words of repetitions.
        words_95: Words of texts with a match of 95% to 99%.
        words_85: 85% to 94%.
        words_75: 75% to 84%.
        words_new: Words of texts without such a match.
        untranslated: Sentences that were kept because the model generates no text for them.
        differing: Sentences that were kept because their translations have other numbers or
            code-like tokens.
        doubted: Sentences that were kept because the quality of their translations is too low.
    """

    segments: int = 0
    spans: int = 0
    unseen: int = 0
    terms: int = 0
    kept: int = 0
    truncated: int = 0
    invisible: int = 0
    matched: int = 0
    words_100: int = 0
    words_repeated: int = 0
    words_95: int = 0
    words_85: int = 0
    words_75: int = 0
    words_new: int = 0
    untranslated: int = 0
    differing: int = 0
    doubted: int = 0
