"""Augmentation: training pairs that are typed in another way, as a function of seed and epoch."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import yakusu
from tests.system.runs import recipe_for, result, write_corpus
from yakusu.data.augmentation import Augmentation, AugmentationConfig, Way
from yakusu.data.coverage import Coverage
from yakusu.data.files.text import Pair
from yakusu.data.lines.private_use import IS_SLOT, SLOTS
from yakusu.data.pairs import CorpusPart, Pairs, Sentences
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK, TokenizerConfig
from yakusu.errors import RecipeError

SYMBOL = "<BT>"
PAIR = ("The door is open today.", "Die Tür ist heute offen.")
EVERY = AugmentationConfig(title=0.2, lower=0.2, unpunctuated=0.3, typos=0.3, emoji=0.3)


def typed(pair: Pair, *languages: str, **ways: object) -> Pair:
    usual = {"case": "", "unpunctuated": False, "typos": False, "emoji": False, "seed": 1}
    way = Way(**(usual | ways))  # type: ignore[arg-type]
    return way(pair, (languages[0], languages[1]))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("capitals", ("THE DOOR IS OPEN TODAY.", "DIE TÜR IST HEUTE OFFEN.")),
        ("title", ("The Door Is Open Today.", PAIR[1])),
        ("lower", ("the door is open today.", PAIR[1])),
        ("", PAIR),
    ],
)
def test_a_source_in_lower_or_title_case_has_the_usual_translation(
    case: str, expected: Pair
) -> None:
    assert typed(PAIR, "en", "de", case=case) == expected


def test_languages_without_case_have_no_other() -> None:
    pair = ("Tシャツを買う。", "I buy a T-shirt.")
    assert typed(pair, "ja", "en", case="lower") == pair
    assert typed(pair[::-1], "en", "ja", case="capitals") == ("I BUY A T-SHIRT.", pair[0])


def test_case_follows_the_rules_of_the_language() -> None:
    assert typed(("ilk Irmak", "x"), "tr", "en", case="title")[0] == "İlk Irmak"
    assert typed(("İlk Irmak", "x"), "tr", "en", case="lower")[0] == "ilk ırmak"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Where is it?", "どこですか。", ("Where is it", "どこですか")),
        ("Go !", "Los!", ("Go", "Los")),
        ("Wait...", "Warte …", ("Wait", "Warte")),
        ("A heading", "Eine Überschrift.", ("A heading", "Eine Überschrift.")),
        ("!", "!", ("!", "!")),
    ],
)
def test_both_sides_lose_their_final_punctuation_or_neither(
    source: str, target: str, expected: Pair
) -> None:
    assert typed((source, target), "en", "ja", unpunctuated=True) == expected


def test_typos_change_letters_of_the_source_only() -> None:
    for seed in range(40):
        source, target = typed(PAIR, "en", "de", typos=True, seed=seed)
        assert target == PAIR[1]
        words = zip(source.split(" "), PAIR[0].split(" "), strict=True)
        assert sum(one != other for one, other in words) <= 2
        assert source.endswith(".")
    made = {typed(PAIR, "en", "de", typos=True, seed=seed)[0] for seed in range(40)}
    assert len(made) > 20
    assert typed(("A 12 of 3", "x"), "en", "de", typos=True)[0] == "A 12 of 3"


def test_an_emoji_is_the_same_placeholder_at_about_the_same_place_of_both_sides() -> None:
    for seed in range(20):
        source, target = typed(PAIR, "en", "de", emoji=True, seed=seed)
        (slot,), (other,) = IS_SLOT.findall(source), IS_SLOT.findall(target)
        assert slot == other
        assert source.split().index(slot) == target.split().index(slot)
        assert [side.replace(f"{slot} ", "").replace(f" {slot}", "") for side in (source, target)]
    masked = (f"Call {SLOTS[0]}.", f"Ruf {SLOTS[0]} an.")
    assert typed(masked, "en", "de", emoji=True) == masked


def test_each_way_has_its_share() -> None:
    rng, config = random.Random(1), EVERY.model_copy(update={"capitals": 0.1})
    ways = [Way.drawn(rng.randbytes(24), config) for _ in range(20_000)]
    cases = Counter(way.case if way else "" for way in ways)
    shares = {name: n / len(ways) for name, n in cases.items()}
    expected = {"capitals": 0.1, "title": 0.2, "lower": 0.2, "": 0.5}
    assert shares == pytest.approx(expected, abs=0.015)
    for name in ("unpunctuated", "typos", "emoji"):
        share = sum(getattr(way, name) for way in ways if way) / len(ways)
        assert share == pytest.approx(0.3, abs=0.015)
    assert ways.count(None) / len(ways) == pytest.approx(0.5 * 0.7**3, abs=0.015)


# ---- binarised pairs -----------------------------------------------------------------------------


def lines() -> list[str]:
    rng = random.Random(2)
    words = "Der die das Auto Haus läuft schnell weit Straße 2034 heute".split()  # noqa: SIM905
    drawn = [" ".join(rng.choices(words, k=rng.randint(2, 7))) + "." for _ in range(300)]
    return [*drawn, f"{SYMBOL} Das Auto.", f"Das {SLOTS[3]} läuft."]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(vocab_size=340, symbols=(SYMBOL,))
    return Tokenizer.train(lines(), lines(), config, seed=1, languages=["de", "en"])


def packed(ids: Sequence[Sequence[int]]) -> Sentences:
    return Sentences.joined([np.array(each, dtype=np.uint16) for each in ids])


def augmentation(
    tokenizer: Tokenizer, config: AugmentationConfig = EVERY, *, seed: int = 1, max_tokens: int = 99
) -> Augmentation:
    src, tgt = tokenizer.encode_source(lines()), tokenizer.encode_target(lines())
    numbers = np.arange(len(src), dtype=np.uint64)
    pairs = Pairs(packed(src), packed(tgt), numbers, (CorpusPart(n_pairs=len(src), weight=1.0),))
    return Augmentation(
        pairs,
        tokenizer,
        config,
        seed=seed,
        languages=[("de", "de")],
        symbols=(SYMBOL,),
        max_tokens=max_tokens,
    )


def texts(tokenizer: Tokenizer, side: Sentences) -> list[str]:
    return tokenizer.decode_target([side[i].tolist() for i in range(len(side))])


def test_without_shares_the_pairs_are_those_of_the_data_folder(tokenizer: Tokenizer) -> None:
    given = augmentation(tokenizer, AugmentationConfig())
    assert given.epoch(0) is given.pairs


def test_the_pairs_depend_on_seed_and_epoch_only(tokenizer: Tokenizer) -> None:
    def found(seed: int, epoch: int) -> list[str]:
        pairs = augmentation(tokenizer, seed=seed).epoch(epoch)
        return texts(tokenizer, pairs.src) + texts(tokenizer, pairs.tgt)

    assert found(1, 2) == found(1, 2)
    assert found(1, 2) != found(1, 3)
    assert found(1, 2) != found(2, 2)


def test_pairs_that_are_not_drawn_keep_their_ids(tokenizer: Tokenizer) -> None:
    given = augmentation(tokenizer, AugmentationConfig(lower=0.25))
    changed = given.epoch(1)
    assert changed.src.tokens.dtype == given.pairs.src.tokens.dtype
    assert texts(tokenizer, changed.tgt) == lines()
    both = list(zip(texts(tokenizer, changed.src), lines(), strict=True))
    assert all(own in (usual, usual.lower()) for own, usual in both[:300])
    assert 40 < sum(own != usual for own, usual in both) < 110


def test_the_language_the_symbol_and_placeholders_of_a_source_stay(tokenizer: Tokenizer) -> None:
    into = tokenizer.translating_to("en")
    every = AugmentationConfig(lower=1, unpunctuated=1, typos=1, emoji=1)
    pairs = augmentation(into, every).epoch(0)
    first = into.src.id_of(">>en<<")
    assert all(pairs.src[i][0] == first for i in range(len(pairs)))
    *_, back_translated, masked = texts(tokenizer, pairs.src)
    assert back_translated.startswith(f"{SYMBOL} ") and back_translated[5:].islower()
    assert IS_SLOT.findall(masked) == [SLOTS[3]]


def test_a_pair_that_would_be_too_long_or_has_unknown_text_is_not_changed(
    tokenizer: Tokenizer,
) -> None:
    given = augmentation(tokenizer, AugmentationConfig(emoji=1), max_tokens=1)
    assert texts(tokenizer, given.epoch(0).src) == lines()
    config = TokenizerConfig(vocab_size=100, byte_fallback=False, symbols=(SYMBOL,))
    small = Tokenizer.train(lines(), lines(), config, seed=1)
    in_capitals = augmentation(small, AugmentationConfig(capitals=1)).epoch(0)
    assert UNK not in in_capitals.src.tokens


def test_training_sees_the_letters_of_the_other_case(tokenizer: Tokenizer) -> None:
    def found(**shares: float) -> str:
        return augmentation(tokenizer, AugmentationConfig(**shares)).characters("Qß1z")

    assert found(typos=1) == "1Qzß"
    assert found(lower=0.1) == "1Qqzß"
    assert found(title=0.1) == "1QSZzß"


def test_the_coverage_of_a_run_is_that_of_its_augmented_text(tmp_path: Path) -> None:
    pairs = [(f"Boat {n} sails QUICKLY", f"Boot {n} segelt") for n in range(60)]
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))

    def coverage(name: str, share: float) -> Coverage:
        size = "tokenizer.vocab_size=300"
        changes = [size, "tokenizer.byte_fallback=true", f"augmentation.lower={share}"]
        prepared = yakusu.prepare(recipe_for(tmp_path, tmp_path / name, *changes))
        return Coverage.load(prepared.folder) or pytest.fail("no coverage")

    usual, other = coverage("usual", 0), coverage("other", 0.5)
    assert "q" not in usual.source_characters and "q" in other.source_characters
    assert other.longest_source > usual.longest_source


def test_an_interrupted_run_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.pipeline.receipts.facts.sustained_flops", lambda *_: 1e9)
    corpus = write_corpus(tmp_path)

    def trained(name: str, *steps: int) -> dict[str, str]:
        for each in steps:  # an epoch has two
            changes = ["augmentation.typos=0.5", f"training.max_steps={each}"]
            yakusu.train(recipe_for(corpus, tmp_path / name, "batches.step_tokens=2000", *changes))
        return result(tmp_path / name)

    assert trained("parts", 4, 8) == trained("straight", 8)


def test_a_vocabulary_without_placeholder_tokens_has_no_emoji(tokenizer: Tokenizer) -> None:
    config = TokenizerConfig(vocab_size=330, placeholder_share=0, symbols=(SYMBOL,))
    without = Tokenizer.train(lines()[:-1], lines()[:-1], config, seed=1)
    given = augmentation(without, AugmentationConfig(emoji=1))
    assert given.epoch(0) is given.pairs


def test_a_pair_has_one_case() -> None:
    with pytest.raises(RecipeError, match=r"= 1\.2: decrease them"):
        yakusu.load_recipe("tiny", ["augmentation.lower=0.6", "augmentation.title=0.6"])


def test_a_parser_reads_trees_as_they_are() -> None:
    with pytest.raises(RecipeError, match="trees are not typed in other ways"):
        yakusu.load_recipe("parse", ["augmentation.typos=0.1"])
