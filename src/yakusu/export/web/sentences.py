"""The rules by which a page divides text into sentences: those of sentencex, as data."""

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

DEFAULT = "en"  # of languages without rules, and of text in lower case


def sentence_rules(codes: Iterable[str]) -> dict[str, Any]:
    """Select rules, for the constant SENTENCE_RULES that sentences.js reads.

    Args:
        codes: Language codes as sentencex knows them, such as "cs"; others have the rules of "en".

    Returns:
        The rules of these languages and of "en", in the form of sentences.json: `codes` leads
        from a code to one of `languages`, and `lists` holds the abbreviations of these only.
    """
    codes = set(codes)
    rules = json.loads((files(__package__) / "sentences.json").read_text(encoding="utf-8"))
    kept = {code: rules["codes"][code] for code in sorted(codes) if code in rules["codes"]}
    names = {DEFAULT, *kept.values(), *codes} & rules["languages"].keys()
    languages = {name: rules["languages"][name] for name in sorted(names)}
    lists = sorted({name for own in languages.values() for name in own["abbreviations"]})
    return {
        **rules,
        "codes": kept,
        "languages": languages,
        "lists": {name: rules["lists"][name] for name in lists},
    }
