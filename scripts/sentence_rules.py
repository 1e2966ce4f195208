"""Write the rules by which pages divide text into sentences: those of sentencex, as data.

    pip download --no-deps --no-binary :all: sentencex==VERSION    the version in constraints.txt
    tar -xf sentencex-VERSION.tar.gz
    python -m scripts.sentence_rules sentencex-VERSION

The last command reads the Rust sources and word lists in src/, and writes sentences.json and
sentences.LICENSE to src/yakusu/export/web. sentences.js there applies the rules.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WEB = ROOT / "src" / "yakusu" / "export" / "web"
DEFAULT = "en"  # of languages without rules
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def rules(source: Path) -> dict[str, Any]:
    """All rules, in the form that sentences.js reads.

    Args:
        source: Folder of a release of sentencex.
    """
    files = {path.stem: _code(path) for path in source.glob("src/**/*.rs")}
    constants, languages = files["constants"], _languages(files)
    return {
        "source": f"sentencex {_version(source)}",
        "terminators": "".join(_characters(_list_of(constants, "GLOBAL_SENTENCE_TERMINATORS"))),
        "bullets": "".join(_characters(_list_of(files["list_markers"], "UNICODE_BULLETS"))),
        "quotes": _quotes(constants),
        "exclamations": [
            word[:-1]
            for word in _strings(_list_of(constants, "EXCLAMATION_WORDS"))
            if word[-1] == "!"
        ],
        "lists": {
            **{
                path.stem: _words(path)
                for path in sorted(source.glob("src/languages/abbrev/*.txt"))
            },
            "roman": _strings(_list_of(constants, "ROMAN_NUMERALS")),
            "ta": _tamil(files["ta"], source / "src/languages/abbrev"),
        },
        "languages": {code: _language(code, files) for code in languages},
        "codes": _resolved(_fallbacks(files["fallbacks"]), languages),
        "english": {
            "starters": _words(source / "src/languages/starters/en.txt", lower=False),
            "fronting": _words(source / "src/languages/fronting/en.txt"),
            "markers": _markers(source / "src/languages/trailing_markers/en.txt"),
        },
    }


def _version(source: Path) -> str:
    found = re.search(r"(?m)^Version: (.+)$", (source / "PKG-INFO").read_text())
    assert found
    return found[1]


def _code(path: Path) -> str:
    """A source file without comments and tests."""
    text = path.read_text().partition("#[cfg(test)]")[0]
    return re.sub(r"(?m)^\s*//.*$|(?<=,)\s*//.*$", "", text)


def _list_of(code: str, name: str) -> str:
    found = re.search(rf"\b{name}: [^=]*= &?(?:vec!)?\[(.*?)\n?\];", code, re.DOTALL)
    assert found, name
    return found[1]


def _strings(code: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", text) for text in _STRING.findall(code)]


def _characters(code: str) -> list[str]:
    return re.findall(r"'(.)'", code)


def _words(path: Path, *, lower: bool = True) -> list[str]:
    """The words of a list, without comments."""
    lines = (line.strip() for line in path.read_text().splitlines())
    words = (line for line in lines if line and not line.startswith("//"))
    return sorted({word.lower() if lower else word for word in words})


def _quotes(constants: str) -> list[tuple[str, str, bool]]:
    """Opening mark, closing mark, and whether they may also be apostrophes."""
    return [
        (*_strings(pair)[:2], "ambiguous: true" in pair)
        for pair in _list_of(constants, "QUOTE_PAIRS").split("QuotePair {")[1:]
    ]


def _tamil(code: str, lists: Path) -> list[str]:
    """Abbreviations, and single letters and syllables, which abbreviate names.

    sentencex looks words up in lower case, but only this list of its lists has capitals, in vain.
    """
    signs, vowels, consonants = (
        _strings(found) for found in re.findall(r"vec!\[(.*?)\]", code, re.DOTALL)
    )
    words = [word for name in ("ta", "en") for word in _words(lists / f"{name}.txt", lower=False)]
    syllables = [letter + sign for letter in consonants for sign in signs]
    return sorted({w for w in words if w == w.lower()} | {*vowels, *consonants, *syllables})


def _languages(files: dict[str, str]) -> list[str]:
    return re.findall(r'"([a-z]+)" => return', files["lib"])


def _language(code: str, files: dict[str, str]) -> dict[str, Any]:
    """What is special about one language."""
    text = files[code]
    made: dict[str, Any] = {"abbreviations": re.findall(r"/abbrev/([a-z]+)\.txt", text)}
    if other := re.search(r"(English|Hindi) \{\}\.get_abbreviations", text):
        made["abbreviations"] = _language(other[1][:2].lower(), files)["abbreviations"]
    if "ROMAN_NUMERALS" in text:
        made["abbreviations"].append("roman")
    if code == "ta":
        made["abbreviations"] = ["ta"]
    if found := re.search(r'"\[\{\w*\}([^"]*)\]\+"', text):
        made["terminators"] = found[1]
    if "filter(|&&c| c != '.')" in text:
        made["without"] = "."
    if found := re.search(r"c\.is_whitespace\(\) \|\| c == '\.'\)", text):
        made["word"] = "trailing" if "!word.is_empty()" in text else "untrimmed"
    if "fn continue_in_next_word" in text:
        made["continues"] = _continues(text)
    return made


def _continues(text: str) -> str:
    """How text begins that continues a sentence."""
    if "MONTHS" not in text:
        found = re.search(r'Regex::new\(r"([^"]+)"\)', text)
        assert found
        return found[1].replace(r"\W", r"[^\w]")
    months = [re.sub("^S", "[Sſ]", month) for month in _strings(_list_of(text, "MONTHS"))]
    return rf"^[^\w]*[0-9a-z]|^\s*[.!?]*(?:{'|'.join(months)})[.!?]*(?:\s|$)"


def _markers(path: Path) -> list[tuple[str, str]]:
    """Endings of sentences such as "p.m", each with letters for its properties.

    "i": in any case; "b": a number begins a sentence; "d": only after a number.
    """
    made = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("//"):
            suffix, case, digit, *others = (field.strip() for field in line.split("|"))
            assert others in ([], ["break"], ["break", "digit-only"])
            flags = ("i" if case == "i" else "") + ("b" if digit == "break" else "")
            made.append(
                (
                    suffix.lower() if "i" in flags else suffix,
                    flags + ("d" if "digit-only" in others else ""),
                )
            )
    return made


def _fallbacks(code: str) -> dict[str, list[str]]:
    table = _list_of(code, "LANGUAGE_FALLBACKS")
    return {
        found[1]: _strings(found[2])
        for found in re.finditer(r'\(\s*"([\w-]+)",\s*&\[(.*?)\],?\s*\)', table, re.DOTALL)
    }


def _resolved(fallbacks: dict[str, list[str]], languages: list[str]) -> dict[str, str]:
    """The language whose rules each other code has, unless it is the default."""
    made = {}
    for code in fallbacks.keys() - set(languages):
        current, seen = code, set[str]()
        while current not in languages:
            seen.add(current)
            following = (c for c in fallbacks.get(current, [DEFAULT]) if c not in seen)
            current = next(following, DEFAULT)
        if current != DEFAULT:
            made[code] = current
    return dict(sorted(made.items()))


def main() -> None:
    source = Path(sys.argv[1])
    made = rules(source)
    assert f"\n{made['source'].replace(' ', '==')}\n" in (ROOT / "constraints.txt").read_text()
    lines = json.dumps(made, ensure_ascii=False, indent=1)
    lines = re.sub(r"\n {3,}|\n {2}(?=\])", " ", lines)
    (WEB / "sentences.json").write_text(lines + "\n", encoding="utf-8")
    (WEB / "sentences.LICENSE").write_bytes((source / "LICENSE").read_bytes())


if __name__ == "__main__":
    main()
