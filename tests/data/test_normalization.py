"""The normalisation of new vocabularies: NFC, white space, and nothing that loses a character."""

import unicodedata
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.normalization import INVISIBLE
from yakusu.data.pieces import SPACE
from yakusu.data.vocabulary import TokenizerConfig, learn, left_out, required_characters

KEPT = (
    "10² m 3½ note¹ Windows™ x⁻⁶ H₂O ㎏ ℃ Ⅳ ① № µ ﬁ ﬂ … ， ？ （ ！ ） ｔｈｅ ﾃｽﾄ ａ１ ㅋㅋ ﷺ ª ｡"
)
SMALL = {"byte_fallback": False, "placeholder_share": 0}


@cache
def normalizes(name: str):  # type: ignore[no-untyped-def]
    config = TokenizerConfig.model_validate({"normalization": name, "vocab_size": 20, **SMALL})
    return learn(["the old ferry"] * 9, config, 1, side="source").normalize


def normalized(text: str, name: str = "nfc") -> str:
    return str(normalizes(name)(text)).replace(SPACE, " ").removeprefix(" ")


def test_compatible_characters_are_not_replaced() -> None:
    assert normalized(KEPT) == KEPT
    assert normalized(KEPT, "nmt_nfkc") != KEPT


@pytest.mark.parametrize(
    "text",
    ["e\u0301", "ệ", "e\u0302\u0323", "e\u0323\u0302", "ê\u0323", "ẹ\u0302", "\u212b \u2126 \u212a",
     "\u1112\u1161\u11ab\u1100\u1173\u11af", "하\u11ab", "か\u3099", "шо\u0301", "שּׁ", "\uf900"],
)  # fmt: skip
def test_equivalent_sequences_are_composed(text: str) -> None:
    assert normalized(text) == unicodedata.normalize("NFC", text)


_LETTERS = st.characters(min_codepoint=0x21, max_codepoint=0x24F, categories=("L", "N", "P", "S"))


@settings(deadline=None)
@given(st.text(_LETTERS, min_size=1))
def test_any_latin_text_is_that_of_nfc(text: str) -> None:
    text = text.replace(SPACE, "")
    for form in ("NFC", "NFD"):
        assert normalized(unicodedata.normalize(form, text)) == unicodedata.normalize("NFC", text)


def test_white_space_becomes_a_space_and_invisible_characters_disappear() -> None:
    assert normalized("a\u00a0b\u3000c\td\u2003e\u2028f") == "a b c d e f"
    assert normalized(f"a{INVISIBLE}b\u0007c") == "abc"
    assert normalized("a\u200db\u200cc\ufe0f") == "a\u200db\u200cc\ufe0f"


def test_lower_case_is_optional() -> None:
    assert normalized("ÉCOLE E\u0301 STRASSE ẞ Σ 10²", "nfc_cf") == "école é strasse ß σ 10²"


# ---- characters with tokens ----------------------------------------------------------------------


def config_of(size: int, **more: object) -> TokenizerConfig:
    return TokenizerConfig.model_validate({"vocab_size": size, **SMALL, **more})


RARE = ["the old ferry sails home"] * 3000 + ["Ä 4 ’ – … ١ क"] * 2 + ["Ö"] + ["猫 한"] * 2


def test_letters_digits_and_punctuation_that_occur_twice_are_required() -> None:
    chosen, left = required_characters(RARE, config_of(100))
    assert (chosen[13:], left) == ("4Ä١क–’…", "")
    assert set(chosen[:13]) == set("theoldferrysailshome")


def test_characters_for_which_there_is_no_room_are_left_out_by_frequency() -> None:
    text = [*RARE, "Ä", "क"]
    chosen, left = required_characters(text, config_of(20))
    assert chosen[13:] == "Äक4"
    assert left == "١–’…"


def test_a_vocabulary_without_room_for_characters_is_named_with_a_size_that_has_it() -> None:
    (said,) = left_out(RARE, [], config_of(20))
    assert said == (
        "the joint vocabulary has no room for 4 characters that occur at least twice (क – ’ …), "
        "which are spelled in bytes: set tokenizer.vocab_size=24 or more"
    )
    assert not [*left_out(RARE, [], config_of(24))]
    warned = list[str]()
    learn(RARE, config_of(20), 1, side="joint", warn=warned.append)
    assert warned == [said]
    separate = config_of(20, joint=False)
    assert [said.split()[1] for said in left_out(RARE, RARE, separate)] == ["source", "target"]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_every_required_character_has_a_token(kind: str) -> None:
    model = learn(RARE, config_of(24, kind=kind), 1, side="source")
    assert all(not model.is_unknown(model.piece_to_id(c)) for c in "4Ä١क–’…")
    assert model.is_unknown(model.piece_to_id("Ö"))


def test_a_vocabulary_is_learned_from_long_lines_too() -> None:
    lines = ["ferry " * 20] * 20 + ["гавань " * 1000] * 20
    model = learn(lines, config_of(30), 1, side="source")
    assert model.encode("гавань", out_type=str) == ["▁гавань"]
