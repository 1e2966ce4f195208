"""Tags inside and around words, through the reading and the writing of a line."""

from collections.abc import Callable, Sequence

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.cases import THOROUGH
from tests.translator.written import printed
from yakusu.alignment import Link
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.invisible import visible
from yakusu.translator.reading.passage import Passage, PassageReader
from yakusu.translator.writing.output import Output
from yakusu.translator.writing.placement import units

UNSEEN = regex.compile(r"[жё]", regex.IGNORECASE)


def read(text: str) -> list[Passage]:
    reader = PassageReader(
        TextConfig(),
        language="en",
        covers=lambda part: not UNSEEN.search(part),
        fits=lambda _: True,
    )
    return reader.read(text)


def output(text: str, links: Sequence[Link] = ()) -> Output:
    return Output(text, 0.0, 0.0, 1, links=tuple(links))


def copied(text: str) -> str:
    """A text whose translation is the source, with the spaces that a vocabulary leaves."""
    passages = read(text)
    outputs = [output(" ".join(own.split())) for p in passages for own in p.texts]
    return printed(passages, outputs, "en")


@pytest.mark.parametrize(
    "text",
    [
        "Wine has C<sub>2</sub>H<sub>6</sub>O in it.",
        "The field has 20<sup>3</sup> m<sup>2</sup>.",
        "10<sup>2</sup>",
        "The 3<sup>rd</sup> door.",
        "<u>E</u>dit the page.",
        "in<em>cred</em>ible news.",
        "Door <b>2</b>41 is open.",
        "<b>S</b>alt <b>a</b>nd <i><u>p</u>epper</i>",
        "a<b>b c</b>d <i>e</i><b>f</b> g",
        "<b>ab</b><i>cd</i>e",
        # pairs that enclose nothing
        '<i class="x"></i> Save',
        '<i class="x"></i>Save it',
        "Open <i></i> the door.",
        "Open <i></i>the door.",
        "Open<i></i> the door.",
        "Op<i></i>en the door.",
        "The door <i></i>.",
        "The door <i></i>, please",
        "The door. <i></i>",
        "The door <i> </i> <b></b>  is open <b> <i> </i></b>",
        "The (<i></i> door)",
        # spaces
        "The <b> door </b> is<i> open</i>",
        "The<b> </b>door",
        "The <b> </b> door <b>.</b>",
        # scripts and characters of several code points
        "猫<b>が</b>好<i></i>き<ruby>東<rt>とう</rt></ruby>京",
        "<b>น้ำ</b>ใจ and e<b>\u0301</b>t <i>👨‍👩‍👧</i>👍🏽<b>❤️</b> 🇩🇪<i>🇫🇷</i>",
        "של<b>ום</b> לך",
        "می‌<b>خو</b>اهم",
        # spans
        "Call <b>{name}</b>s <i>%s</i>km <b>a{n}b</b>c",
        "One is <b>he</b>re. <i></i> Two<b> is th</b>ere. <i>Three<br>f</i>our",
        # words that training has not seen
        "The <b>жу</b>к and <i>an <u>ё</u>ж</i>, <b>жук</b> <s></s> or <b>a ж</b>ук",
        "<b>One\nt</b>wo <i>three\nfour</i>s",
    ],
)
def test_a_line_that_is_its_own_translation_is_unchanged(text: str) -> None:
    assert copied(text) == text


TAG = regex.compile(r"</?\w+>")
ATOMS = ["a", "bc", "O", "2", "10", " ", " ", " ", ".", ", ", "(", ")", "-", "'", "é", "e\u0301"]
ATOMS += [
    "猫",
    "が",
    "น้ำ",
    "ש",
    "م",
    "\u200c",
    "👨‍👩‍👧",
    "❤️",
    "🇩🇪",
    "{n}",
    "%s",
    "€",
    "One. Two",
    "!",
]
TREES = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.tuples(st.sampled_from("biu"), inner).map(lambda t: f"<{t[0]}>{t[1]}</{t[0]}>"),
    ),
    max_leaves=14,
)


@settings(max_examples=500 if THOROUGH else 100)
@given(TREES)
def test_any_line_that_is_its_own_translation_is_unchanged(text: str) -> None:
    plain = " ".join(TAG.sub("", text).split())
    assume("  " not in text and visible(plain) == plain and copied(plain) == plain)
    assert copied(text) == text


@st.composite
def tagged(draw: st.DrawFn, texts: Sequence[str]) -> str:
    """A text with up to four nested pairs of tags at any characters."""
    text, n_pairs = draw(st.sampled_from(texts)), draw(st.integers(1, 4))
    places = sorted(
        draw(st.lists(st.integers(0, len(text)), min_size=2 * n_pairs, max_size=2 * n_pairs))
    )
    pieces, waiting, end, n_opened = list[str](), list[int](), 0, 0
    for position in places:
        if n_opened < n_pairs and (not waiting or draw(st.booleans())):
            waiting.append(n_opened)
            tag = f"<t{n_opened}>"
            n_opened += 1
        else:
            tag = f"</t{waiting.pop()}>"
        pieces += [text[end:position], tag]
        end = position
    return "".join([*pieces, text[end:]])


MARCH = ("Mein Tag ist am 6. März", [(0, 0), (1, 1), (2, 2), (4, 3), (4, 4), (5, 6)])
PEOPLE = ("Es sind 9.156 Menschen hier", [(0, 0), (2, 1), (2, 2), (3, 3), (4, 4)])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("My day is on <b>6</b> March", MARCH, "Mein Tag ist am <b>6</b>. März"),
        ("My day is on <b>6 March</b>", MARCH, "Mein Tag ist am <b>6. März</b>"),
        ("My day is <b>on</b> 6 March", MARCH, "Mein Tag <b>ist</b> am 6. März"),
        ("There are <b>9,156</b> people here", PEOPLE, "Es sind <b>9.156</b> Menschen hier"),
        ("There are 9,156 <b>people</b> here", PEOPLE, "Es sind 9.156 <b>Menschen</b> hier"),
    ],
)
def test_tags_of_a_number_enclose_the_number(
    source: str, target: tuple[str, Sequence[Link]], expected: str
) -> None:
    passages = read(source)
    assert printed(passages, [output(*target)], "en") == expected


SENTENCES = [
    "Drink 2 l of H2O, then rest (twice). Yes!",
    "naïve cafe\u0301 — 10:30, it's 5 % off: {n}km",
    "猫がWindowsを使う（東京）",
    "שלום לך, می‌خواهم ❤️👨‍👩‍👧 ok.",
    "Жук or ёжик жуёт: жук-1, a {n} ёж.",
]


@settings(max_examples=500 if THOROUGH else 100)
@given(tagged(SENTENCES))
def test_tags_at_any_characters_stay_on_them(text: str) -> None:
    assert copied(text) == text


def inside(text: str) -> dict[str, str]:
    """What each pair of a text encloses, without tags; the pairs are nested."""
    found, waiting, plain = dict[str, str](), list[tuple[str, int]](), ""
    for part in regex.split(r"(</?t\d>)", text):
        if not TAG.fullmatch(part):
            plain += part
        elif part.startswith("</"):
            name, start = waiting.pop()
            assert part[2:] == name and name not in found
            found[name] = plain[start:]
        else:
            waiting.append((part[1:], len(plain)))
    assert not waiting
    return found


CHANGES: dict[str, Callable[[str], str]] = {
    "another ending": lambda word: word[:-1] + "xyzw",
    "another beginning": lambda word: "xyzw" + word[1:],
    "another word": lambda word: "x" * max(4, len(word)),
    "capitals": str.upper,
}


@settings(max_examples=500 if THOROUGH else 100)
@given(tagged(SENTENCES), st.sampled_from([*CHANGES]), st.booleans(), st.data())
def test_tags_of_changed_words_enclose_words(
    text: str, change: str, is_reversed: bool, data: st.DataObject
) -> None:
    passages = read(text)
    outputs = []
    for own in passages[0].texts:
        words = [own[start:end] for start, end in units(own)]
        made = [
            CHANGES[change](word) if word[0].isalnum() and data.draw(st.booleans()) else word
            for word in words
        ]
        order = [*range(len(words))][:: -1 if is_reversed else 1]
        links = [(i, j) for j, i in enumerate(order)]
        outputs.append(output(" ".join(made[i] for i in order), links))
    written = printed(passages, outputs, "en")
    before, after = inside(text), inside(written)
    assert before.keys() == after.keys()
    for name, own in before.items():
        assert bool(after[name]) >= bool(own.strip()), (name, text, written)
        if regex.search(r"[^\p{P}\s]", own):
            assert regex.search(r"[^\p{P}\s]", after[name]), (name, text, written)
