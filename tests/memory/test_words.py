"""Words of segments and their similarity."""

import pytest

from yakusu.memory.words import NUMBER, encoded, similarity, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Save the file.", ["save", "the", "file"]),
        ("Page 3 of 1,200", ["page", NUMBER, "of", NUMBER]),
        ("Don’t stop", ["don’t", "stop"]),
        ("保存する", ["保", "存", "す", "る"]),
        ("저장하기", ["저", "장", "하", "기"]),
        ("Wi-Fi 設定", ["wi", "fi", "設", "定"]),
        ("e\u0301te\u0301", ["\u00e9t\u00e9"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("...", [".", ".", "."]),
        ("", []),
    ],
)
def test_a_text_has_these_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Save the file.", "save THE file!", 1.0),
        ("Page 3 of 10", "Page 4 of 12", 1.0),
        ("Save the file", "Save this file", 2 / 3),
        ("Open it", "Open it now", 2 / 3),
        ("ファイルを保存", "ファイルを開く", 5 / 7),
        ("OK", "OK", 1.0),
        ("OK", "Cancel", 0.0),
    ],
)
def test_the_similarity_is_that_of_the_words(one: str, other: str, expected: float) -> None:
    assert similarity(encoded(one), encoded(other)) == pytest.approx(expected)
