"""Plural forms in one string, separated by bars, as in vue-i18n and Laravel.

    no rooms | one room | {count} rooms    ->    no rooms    one room    {count} rooms
    {0} None|[1,19] Some rooms|[20,*] Many rooms

Each form is a message. Bars in braces, brackets, parentheses and tags, as in (yes | no), and two
bars in a row separate nothing.
"""

import re
from collections.abc import Iterator, Sequence

from yakusu.documents.messages.icu import Message, TextString

_BAR = re.compile(
    r"""\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\} | <[^<>]*> | \|\|+ | (?<![\]\w])\[[^\[\]]*\](?!\s)
    | \([^()]*\)
    | (?P<bar>(?<!\s)\s*+(?:\|(?!\|)\s*(?:\[[\d*,\s]+\]\s+)?|\A\[[\d*,\s]+\]\s+))""",
    re.VERBOSE,
)

_MAX_FORMS = 1000


class BarForms:
    """The forms of a string, which is divided again when it is rendered.

    Args:
        string: The string.
        code: As for `Message`.

    Attributes:
        texts: The texts of all forms.
        n_pairs: The number of pairs of marks in the forms.
        problem: As for `Message`.
    """

    __slots__ = ("_code", "_string", "n_pairs", "problem", "texts")
    is_icu = False

    def __init__(self, string: str, code: str | None = None) -> None:
        self._string = string
        self._code = code
        forms = [form for form, _ in self._forms()]
        self.problem = next((form.problem for form in forms if form.problem), "")
        self.texts: Sequence[str] = tuple(text for form in forms for text in form.texts)
        self.n_pairs = sum(form.n_pairs for form in forms)

    def render(self, translations: Sequence[str]) -> str | None:
        """Return the string with these translations, one for each text.

        None: as in `Message.render`, or a translation has a bar.
        """
        written: list[str] = []
        at = 0
        for form, bar in self._forms():
            new = form.render(translations[at : at + len(form.texts)])
            at += len(form.texts)
            if new is None or (form.texts and len(_divided(new)) > 1):
                return None
            written += [new, bar]
        return "".join(written)

    def _forms(self) -> Iterator[tuple[Message, str]]:
        """The forms, each with the bar after it."""
        parts = [*_divided(self._string), ""]
        for form, bar in zip(parts[::2], parts[1::2], strict=True):
            yield Message(form, self._code), bar


def text_string(string: str, code: str | None = None, *, spaced: bool = False) -> TextString:
    """The message that a string holds; forms that bars separate are messages.

    Args:
        string: The string.
        code: As for `Message`.
        spaced: Only bars between white space separate forms: strings of programs contain others,
            as in "add|remove NAME".
    """
    message = Message(string, code)
    bars = _divided(string)[1::2] if "|" in string and "\n" not in string else []
    apart = all(bar[0].isspace() and bar[-1].isspace() for bar in bars)
    if message.is_icu or message.problem or not bars or (spaced and not apart):
        return message
    if len(bars) >= _MAX_FORMS:
        return Message(string, code, problem=f"the message has more than {_MAX_FORMS:,} forms")
    forms = BarForms(string, code)
    # A pair of marks must not begin in one form and end in another.
    return forms if forms.n_pairs == message.n_pairs else message


def _divided(string: str) -> list[str]:
    """The forms, and the bars between them."""
    parts, at = [], 0
    for found in _BAR.finditer(string):
        if found["bar"]:
            parts += [string[at : found.start()], found[0]]
            at = found.end()
    return [*parts, string[at:]]
