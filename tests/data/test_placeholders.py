"""Placeholder tokens in training pairs: equal on both sides, and nothing else changes."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.placeholders import PER_INSERTION, Placeholders, mask_pair
from yakusu.data.lines.private_use import IS_SLOT, SLOTS
from yakusu.data.lines.spans import Span, SpanFinder, merged

ALWAYS = Placeholders(1.0, ignore_case=False)
NEVER = Placeholders(0.0, ignore_case=False)
Pair = tuple[str, str]


def slots(text: str) -> list[str]:
    return IS_SLOT.findall(text)


def unmasked(text: str, spans: dict[str, str]) -> str:
    return IS_SLOT.sub(lambda match: spans[match[0]], text)


def corpus(n: int = 1000) -> list[Pair]:
    """Pairs that share a name and a number; numbered, so that all differ."""
    return [(f"Anna saw {i} ships.", f"Anna sah {i} Schiffe.") for i in range(n)]


def unrelated(n: int = 1000) -> list[Pair]:
    """Pairs that share no word."""
    random = Random(1)

    def words(letters: str) -> str:
        return "".join(random.choices(letters + " ", k=12)) + letters[0]

    return [(words("abcd") + ".", words("wxyz") + ".") for _ in range(n)]


# ---- protected spans -----------------------------------------------------------------------------


def test_equal_spans_become_equal_slots() -> None:
    source, target = NEVER(("Call {name} at %d.", "Um %d Uhr {name} anrufen."))
    name, number = slots(source)
    assert name != number
    assert source == f"Call {name} at {number}."
    assert target == f"Um {number} Uhr {name} anrufen."


def test_equal_tags_of_pairs_are_removed_and_other_tags_become_slots() -> None:
    pair = NEVER(("Press <b>Start</b>.<br>", "<b>Start</b> drücken.<br>"))
    (slot,) = slots(pair[0])
    assert pair == (f"Press Start.{slot}", f"Start drücken.{slot}")


def test_a_tag_is_kept_if_it_is_of_a_pair_on_one_side_only() -> None:
    pair = "Press <b>Start</b>.", "</b>Start<b> drücken."
    assert NEVER(pair) == pair


def test_a_span_that_occurs_twice_has_two_slots() -> None:
    source, target = NEVER(("%s or %s", "%s oder %s"))
    assert slots(source) == slots(target)
    assert len(set(slots(source))) == 2


def test_eleven_spans_use_a_slot_twice() -> None:
    text = " word ".join(f"{{n{i}}}" for i in range(11))
    source, target = NEVER((text, text))
    assert source == target
    assert sorted(Counter(slots(source)).values()) == [1] * 9 + [2]


@pytest.mark.parametrize(
    "pair", [("Call {name}.", "Anrufen."), ("Call {name}.", "{nom} anrufen."), ("%s", "%s %s")]
)
def test_pairs_with_different_spans_are_only_changed_by_chance(pair: Pair) -> None:
    assert NEVER(pair) == pair


def test_slot_characters_of_a_corpus_are_removed() -> None:
    assert NEVER((f"Anna{SLOTS[3]} sings.", f"{SLOTS[9]}Anna singt.")) == (
        "Anna sings.",
        "Anna singt.",
    )


SPANS = ["{a}", "{b}", "%s", "<p>", "<br>", "&nbsp;", "https://example.org/x"]


@given(
    st.lists(st.sampled_from([*SPANS, "one", "two", "drei", "."]), max_size=10),
    st.lists(st.sampled_from(["uno", "due", "!"]), max_size=5),
    st.randoms(),
)
def test_unmasking_gives_the_pair_back(parts: list[str], more: list[str], random: Random) -> None:
    target = [part for part in parts if part in SPANS] + more
    random.shuffle(target)
    pair = " ".join(parts), " ".join(target)
    masked = NEVER(pair)
    found = merged(SpanFinder().find(pair[0]), pair[0])
    if masked == pair:  # neighbours that are one span are apart on the other side
        return
    spans = dict(zip(slots(masked[0]), [s.text for s in found if s.kind == "whole"], strict=True))
    assert Counter(slots(masked[0])) == Counter(slots(masked[1]))
    assert (unmasked(masked[0], spans), unmasked(masked[1], spans)) == pair


def test_slots_are_numbered_in_the_order_of_the_source() -> None:
    source = [Span(0, 1, "a"), Span(2, 4, "bb")]
    target = [Span(0, 2, "bb"), Span(3, 4, "a")]
    masked = mask_pair(("a bb c", "bb-a."), source, target, first=9)
    assert masked == (f"{SLOTS[9]} {SLOTS[0]} c", f"{SLOTS[0]}-{SLOTS[9]}.")
    assert mask_pair(("abc", "d"), [], []) == ("abc", "d")


# ---- other pairs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_share_is_met(share: float) -> None:
    pairs = corpus()
    changed = sum(Placeholders(share, ignore_case=False)(pair) != pair for pair in pairs)
    assert changed / len(pairs) == pytest.approx(share, abs=0.04 if 0 < share < 1 else 0)


def test_one_of_four_pairs_without_common_words_gets_a_slot() -> None:
    pairs = unrelated()
    changed = sum(ALWAYS(pair) != pair for pair in pairs)
    assert changed / len(pairs) == pytest.approx(1 / PER_INSERTION, abs=0.04)


def test_both_sides_contain_the_same_slots_in_place_of_the_same_words() -> None:
    n_replaced = Counter[int]()
    for pair in corpus(500):
        masked = ALWAYS(pair)
        own = [dict(zip(masked[side].split(), pair[side].split(), strict=True)) for side in (0, 1)]
        words = [{m: word for m, word in side.items() if IS_SLOT.search(m)} for side in own]
        assert words[0] == words[1]
        assert set(words[0].values()) <= {"Anna", *pair[0].split()[2:3]}
        n_replaced[len(words[0])] += 1
    assert set(n_replaced) == {1, 2}
    assert n_replaced[1] > n_replaced[2] > 0


def test_an_inserted_slot_is_at_the_beginning_or_before_the_last_punctuation() -> None:
    seen = set()
    for pair in unrelated(1000):
        masked = ALWAYS(pair)
        if masked == pair:
            continue
        (slot,) = slots(masked[0])
        assert slots(masked[1]) == [slot]
        before = tuple(f"{slot} {side}" for side in pair)
        after = tuple(f"{side[:-1].rstrip()} {slot}." for side in pair)
        assert masked in (before, after)
        seen.add((slot, masked == before))
    assert len(seen) == 2 * len(SLOTS)


def test_words_that_occur_twice_on_a_side_are_kept() -> None:
    for i in range(300):
        pair = f"Anna and Anna met Bert{i}.", f"Anna traf Bert{i}."
        assert "Anna" in ALWAYS(pair)[1]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("私の部屋番号は432です。", "私の部屋番号は{}です。"),
        ("제 방 번호는 432입니다.", "제 방 번호는 {}입니다."),
        ("ห้องของฉันคือ432", "ห้องของฉันคือ{}"),
    ],
)
def test_a_number_beside_letters_of_a_script_without_spaces_becomes_a_slot(
    target: str, expected: str
) -> None:
    source, made = ALWAYS(("My room number is 432.", target))
    (slot,) = slots(made)
    assert source == f"My room number is {slot}."
    assert made == expected.format(slot)


def test_short_words_are_kept_but_numbers_are_not() -> None:
    masked = [ALWAYS((f"in {i} x", f"in {i} y")) for i in range(20)]
    assert all(source.startswith("in ") for source, _ in masked)
    assert all(IS_SLOT.fullmatch(source.split()[1]) for source, _ in masked)


def test_case_is_compared_unless_it_is_ignored() -> None:
    pair = "We met ANNA1 there", "Wir trafen anna1 dort"
    ignoring = Placeholders(1.0, ignore_case=True)(pair)
    assert [slots(side) for side in ignoring] == [slots(ignoring[0])] * 2
    assert ignoring[0] == f"We met {slots(ignoring[0])[0]} there"
    assert "ANNA1" in ALWAYS(pair)[0] and "anna1" in ALWAYS(pair)[1]


@given(st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_no_letter_is_lost(source: str, target: str, ignore_case: bool) -> None:
    pair = source, target
    masked = Placeholders(1.0, ignore_case=ignore_case)(pair)
    if masked == pair:
        return
    assert Counter(slots(masked[0])) == Counter(slots(masked[1]))
    for own, before in zip(masked, pair, strict=True):
        parts = IS_SLOT.split("".join(own.split()))
        rest = "".join(before.split())
        for part in parts:
            assert part in rest
            rest = rest[rest.index(part) + len(part) :]


def test_the_choice_depends_on_the_text_only() -> None:
    pairs = corpus(200) + unrelated(200)
    first = [Placeholders(0.4, ignore_case=False)(pair) for pair in pairs]
    again = [Placeholders(0.4, ignore_case=False)(pair) for pair in reversed(pairs)]
    assert again[::-1] == first
    more = [Placeholders(0.7, ignore_case=False)(pair) for pair in pairs]
    for pair, few, many in zip(pairs, first, more, strict=True):
        assert few in (pair, many)  # a larger share changes the same pairs, and others


def test_a_symbol_at_the_beginning_of_a_source_stays_there_and_is_no_span() -> None:
    tagging = Placeholders(1.0, ignore_case=False, symbols=("<BT>",))
    for pair in [("Call {name}.", "{name} rufen."), *corpus(20), *unrelated(50)]:
        source, target = ALWAYS(pair)
        assert tagging((f"<BT> {pair[0]}", pair[1])) == (f"<BT> {source}", target)
