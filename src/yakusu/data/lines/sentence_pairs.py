"""The sentences of a line beside those of its translation, so that each can be corrected.

- Buy milk. Thanks!   ->   "- " "- ", "Buy milk. " "Kauf Milch. ", "Thanks!" "Danke!"
"""

from yakusu.data.lines.layout import Layout
from yakusu.data.lines.sentences import split


def sentence_pairs(source: str, target: str, languages: tuple[str, str]) -> list[tuple[str, str]]:
    """Divide a line and its translation; joined, the parts of each side are its text.

    A line is one part if it is a single sentence, or if its translation has another number of them.
    Otherwise, bullets and the like are parts of their own.

    Args:
        source: The line.
        target: Its translation.
        languages: Codes of the languages.
    """
    whole = [(source, target)]
    if "\n" in source:
        return whole
    before, body, after = Layout().read(source)
    if not (target.startswith(before) and target.removeprefix(before).endswith(after)):
        return whole
    inner = target[len(before) : len(target) - len(after)]
    sides = [split(text, code) for text, code in zip((body, inner), languages, strict=True)]
    if len(sides[0]) < 2 or len(sides[0]) != len(sides[1]):
        return whole
    ends = [[(text, text)] if text else [] for text in (before, after)]
    return [*ends[0], *zip(*sides, strict=True), *ends[1]]
