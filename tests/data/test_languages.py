"""Language codes: which of several codes states a wanted language."""

import pytest

from yakusu.data.languages import closest

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
        ("pt-PT", []),
        ("de-AT", []),  # "de" says less
        ("", []),
    ],
)
def test_the_closest_codes_say_as_much_or_more(wanted: str, expected: list[str]) -> None:
    assert closest(wanted, CODES) == expected


def test_a_macrolanguage_matches_itself_best() -> None:
    assert closest("zh", ["cmn", "zho"]) == ["zho"]
    assert closest("zho", ["cmn"]) == ["cmn"]
