"""DeepL's language codes: EN and PT are sources; EN-US, PT-BR and ZH-HANS are targets."""

from collections.abc import Iterable

from yakusu.data.languages import canonical

_VARIANTS = {
    "en": ("EN-GB", "EN-US"),
    "pt": ("PT-BR", "PT-PT"),
    "zh-Hans": ("ZH", "ZH-HANS"),
    "zh": ("ZH", "ZH-HANS"),
}
_OWN = {"no": "nb"}


def base_code(code: str) -> str:
    """A language without its variant, as in a glossary: en for EN-US; "": there is none."""
    first = canonical(code).split("-")[0]
    return _OWN.get(first, first)


def source_code(code: str) -> str:
    """A language as a source: EN for en-US."""
    return (base_code(code) or code).upper()


def target_codes(code: str) -> tuple[str, ...]:
    """A language as a target: all variants for which a model of a plain code is used."""
    found = canonical(code)
    return _VARIANTS.get(found, (_OWN.get(found, found).upper() or code.upper(),))


def distinct_codes(codes: Iterable[str]) -> list[str]:
    """Codes in alphabetical order, each once."""
    return sorted({*codes})
