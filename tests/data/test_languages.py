"""Language codes: one spelling of each, and which of several states a wanted language."""

import pytest

from yakusu.data.files.text import language_of
from yakusu.data.languages import (
    are_near,
    canonical,
    closeness,
    closest,
    language_code,
    require_language,
    same_language,
)
from yakusu.errors import DataError

CODES = ("de", "fra", "cmn_Hans", "yue_Hant", "srp_Cyrl", "srp_Latn", "pt_BR", "arb")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("de", ["de"]),
        ("fr", ["fra"]),
        ("zh", ["cmn_Hans"]),  # Mandarin is the Chinese that "zh" means
        ("zh-Hans", ["cmn_Hans"]),
        ("zh-Hant", []),
        ("sr", ["srp_Cyrl", "srp_Latn"]),
        ("ar", ["arb"]),
        ("pt", ["pt_BR"]),
        ("pt-PT", ["pt_BR"]),  # the only Portuguese
        ("de-AT", ["de"]),
        ("zt", []),
        ("pb", ["pt_BR"]),
        ("", []),
    ],
)
def test_the_closest_codes_are_the_same_language_and_script(
    wanted: str, expected: list[str]
) -> None:
    assert closest(wanted, CODES) == expected


def test_plain_chinese_is_simplified_if_both_scripts_are_there() -> None:
    assert closest("zh", ["zh-Hant", "zh-Hans"]) == ["zh-Hans"]
    assert closest("zh-TW", ["zh-Hant", "zh-Hans"]) == ["zh-Hant"]
    assert closest("zh-HK", ["zh", "zh-Hant"]) == ["zh-Hant"]


def test_of_several_regions_the_closest_is_taken() -> None:
    assert closest("es-MX", ["es-ES", "es-419"]) == ["es-419"]
    assert closest("es", ["es-ES", "es-419"]) == ["es-ES", "es-419"]


def test_a_macrolanguage_matches_itself_best() -> None:
    assert closest("zh", ["cmn", "zho"]) == ["zho"]
    assert closest("zho", ["cmn"]) == ["cmn"]


SPELLINGS = {
    "ja": "ja jpn JA ja_JP ja-JP jpn_Jpan ja_XX ja_JP.UTF-8",
    "ko": "kor kor_Hang ko-KR ko_Kore",
    "en": "eng eng_Latn",
    "zh": "cmn zho chi",
    "zh-Hans": "zho_Hans cmn_Hans zh-CN zh_cn ZH-HANS zh_Hans_CN zh-rCN zh-CHS",
    "zh-Hant": "zt zh-TW zh_TW zho_Hant ZH-HANT b+zh+Hant",
    "zh-Hant-HK": "zh-HK zh_Hant_HK",
    "he": "iw heb he_IL iw_IL",
    "id": "in ind in_ID",
    "pt-BR": "pb pt_BR pt-br pt-rBR por_BR",
    "pt-PT": "pt_PT PT-PT",
    "nb": "nob nb_NO NB",
    "no": "nor no_NO",
    "sr-Latn": "sr_Latn sr@latin sr_RS@latin sh srp_Latn b+sr+Latn",
    "sr-Cyrl": "srp_Cyrl sr_Cyrl_RS sr@cyrillic",
    "es": "spa",
    "es-419": "es_419",
    "en-US": "en_US EN-US en_us",
    "ca-valencia": "ca@valencia ca-valencia",
    "de": "deu ger de_DE de_DE@euro",
    "de-AT": "de_AT",
    "ar": "arb arb_Arab",
    "fa": "pes_Arab per",
    "ace-Arab": "ace_Arab",
    "yue": "yue_Hant zh-yue",
}


@pytest.mark.parametrize("code", SPELLINGS)
def test_all_spellings_of_a_language_become_one(code: str) -> None:
    for spelling in (code, *SPELLINGS[code].split(), f" {code} "):
        assert canonical(spelling) == code, spelling


@pytest.mark.parametrize("text", ["", "xx", "jp", "english", "und", "mul", "en-foo", "e", "de,en"])
def test_what_is_not_a_language_has_no_code(text: str) -> None:
    assert canonical(text) == ""


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        *(("jp", "ja"), ("cn", "zh"), ("cz", "cs"), ("gr", "el"), ("ua", "uk")),  # countries
        *(("dk", "da"), ("vn", "vi"), ("kr", "ko"), ("ch", "zh")),
        *(("English", "en"), ("jap", "ja"), ("inglish", "en"), ("en-foo", "en"), ("zhs", "zh")),
    ],
)
def test_an_unknown_code_is_an_error_that_names_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(DataError, match=f"no language '{text}': did you mean '{nearest}'"):
        require_language(text)
    stated = f"source_language = '{text}' is not a language code: did you mean '{nearest}'"
    with pytest.raises(DataError, match=stated):
        require_language(text, what="source_language")


@pytest.mark.parametrize(
    ("text", "meant", "own"), [("kr", "ko", "kau"), ("KR", "ko", "kau"), ("ch_CN", "zh", "cha")]
)
def test_the_code_of_a_country_is_not_read_as_a_rare_language(
    text: str, meant: str, own: str
) -> None:
    with pytest.raises(DataError) as error:
        require_language(text)
    assert str(error.value) == (
        f"there is no language '{text}': did you mean '{meant}'? "
        f"(use '{own}' for the language that has this code in ISO 639)"
    )
    assert canonical(text) == language_code(text) == ""
    assert canonical(own) == require_language(require_language(own)) == own
    assert closeness(own, own) == 0 and closest(own, ["en", own]) == [own]


@pytest.mark.parametrize("code", ["br", "se", "ee", "sv", "de-CH", "ko-KR", "gsw"])
def test_codes_of_languages_in_use_stay_valid(code: str) -> None:
    assert canonical(code).split("-")[0] == code.split("-")[0]


@pytest.mark.parametrize("text", ["\0", "de\0utsch", "\0\U000c9bf3", "\x1b[31m"])
def test_control_characters_are_no_language(text: str) -> None:
    with pytest.raises(DataError, match="there is no language"):
        require_language(text)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *(("jpn", "ja"), ("ja_JP", "ja"), ("zho_Hans", "zh-Hans"), ("ace_Arab", "ace-Arab")),
        *(("Japanese", "ja"), ("German (Germany)", "de"), ("sr@latin", "sr-Latn")),
        *(("src", ""), ("the", ""), ("src_de", ""), ("tgt_text", ""), ("xx", ""), ("text", "")),
    ],
)
def test_a_column_name_states_a_language_or_is_a_word(name: str, code: str) -> None:
    assert language_code(name) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *(("train.de", "de"), ("train.jpn.gz", "ja"), ("a.zho_Hant", "zh-Hant")),
        *(("a.pt_br", "pt-BR"), ("a.pt-BR", "pt-BR"), ("a.zh_cn", "zh-Hans")),
        *(("a.en-de", ""), ("a.txt", ""), ("a.src", ""), ("a.tgt", ""), ("a.jp", ""), ("de", "de")),
    ],
)
def test_the_end_of_a_file_name_states_a_language(name: str, code: str) -> None:
    assert language_of(name) == code


def test_regions_do_not_make_another_language_but_scripts_do() -> None:
    assert same_language("en-GB", "en-US") and same_language("pt", "pt-PT")
    assert same_language("nb", "no") and same_language("zt", "zh-HK")
    assert not same_language("zh-CN", "zh-TW") and not same_language("sr-Latn", "sr-Cyrl")
    assert not same_language("nb", "da") and not same_language("xx", "yy")


def test_close_languages_are_near_in_all_spellings() -> None:
    assert are_near("nb_NO", "dan") and are_near("hrv_Latn", "sr-Latn") and are_near("in", "ms")
    assert not are_near("de", "nl") and not are_near("da", "sv")
