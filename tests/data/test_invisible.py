"""Characters that a reader does not see."""

import pytest

from yakusu.data.lines.invisible import n_invisible, right_to_left, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("birth\u00adday", "birthday"),
        ("\ufeffYes\u200e.\u200b", "Yes."),
        ("a\u2060b\u200cc\u200dd", "abcd"),
        ("Stop.\u200bGo.", "Stop. Go."),
        ("“Stop.”\u200bGo.", "“Stop.” Go."),
        ("止まれ。\u200b行け。", "止まれ。 行け。"),
        ("Stop. \u200bGo.", "Stop. Go."),
        ("is\ufe0f\ufe0f it\ufe0f, \ufe0fok", "is it, ok"),
        ("a\U000e0067\U000e0067 b\ufff9", "a b"),
        ("plain text", "plain text"),
    ],
)
def test_invisible_characters_are_removed_or_separate_sentences(text: str, seen: str) -> None:
    assert visible(text) == seen
    assert n_invisible(text) == sum(
        text.count(c) for c in "\u00ad\ufeff\u200e\u200b\u2060\u200c\u200d\ufe0f\ufff9\U000e0067"
    )


@pytest.mark.parametrize(
    "text",
    [
        *("👩\u200d👧", "❤\ufe0f\u200d🔥", "می\u200cروم", "क\u094d\u200dष", "ශ\u0dca\u200dර"),
        *("❤\ufe0f", "1\ufe0f\u20e3", "葛\U000e0100", "‼\ufe0f ™\ufe0f"),
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_joiners_and_selectors_remain_in_emoji_and_in_scripts_that_use_them(text: str) -> None:
    assert visible(text) == text


def test_direction_marks_are_no_letters() -> None:
    assert right_to_left("abc שלום") and right_to_left("مرحبا")
    assert not right_to_left("\u200fabc") and not right_to_left("abc é")
