"""Words by class of match, as invoices for localisation count them.

    100             a memory has the text
    repetition      it does not, but the text occurred before in the same job
    95, 85, 75      the best match is 95 to 99, 85 to 94, 75 to 84
    new             none of these

A text counts as a whole if a memory has a match for it; otherwise, its sentences count.
"""

from yakusu.translator.tally import Tally

_REMEMBERED = 500_000  # texts, in about 50 MB
_LOWEST = {100: "words_100", 95: "words_95", 85: "words_85", 75: "words_75", 0: "words_new"}


class MatchAnalysis:
    """Counts the words of a job.

    Args:
        tally: Gets the counts.
    """

    def __init__(self, tally: Tally) -> None:
        self._tally, self._seen = tally, set[int]()

    def add(self, text: str, match: int) -> None:
        """Count the words of a text or a sentence.

        Args:
            text: The text.
            match: Its best match in percent; 0: none.
        """
        from yakusu.memory.segments import digest, normalised
        from yakusu.memory.words import words

        number = digest(normalised(text))
        repeated = match < 100 and number in self._seen
        if len(self._seen) < _REMEMBERED:
            self._seen.add(number)
        name = next(name for lowest, name in _LOWEST.items() if match >= lowest)
        name = "words_repeated" if repeated else name
        setattr(self._tally, name, getattr(self._tally, name) + len(words(text)))
