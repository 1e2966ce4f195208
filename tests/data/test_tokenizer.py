"""Sentences <-> ids: reserved ids, round trips, and vocabulary sizes that do not fit a corpus."""

import random
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.coverage import Coverage
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.lines.unseen import unseen
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK, TokenizerConfig
from yakusu.errors import DataError, ModelError
from yakusu.typed import ValidationError

WORDS = (
    ("the", "die"),
    ("old", "alte"),
    ("small", "kleine"),
    ("harbour", "Hafenstadt"),
    ("ferry", "Fähre"),
    ("baker", "Bäckerin"),
    ("sees", "sieht"),
    ("paints", "malt"),
    ("river", "Brücke"),
    ("window", "Straße"),
    ("never", "nie"),
    ("again", "wieder"),
)


def sentences(n: int = 300, seed: int = 3) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    drawn = [rng.choices(WORDS, k=rng.randint(2, 9)) for _ in range(n)]
    return tuple([" ".join(word[i] for word in line) + "." for line in drawn] for i in (0, 1))


SRC, TGT = sentences()
SIZE = 52
SIDE_SIZE = 34  # of each separate vocabulary


PLAIN = {"byte_fallback": False, "placeholder_share": 0.0}  # small vocabularies


def trained(**config: object) -> Tokenizer:
    every = {"vocab_size": SIZE, **PLAIN, **config}
    return Tokenizer.train(SRC, TGT, TokenizerConfig.model_validate(every), seed=1)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def joint(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(kind=request.param)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def separate(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(kind=request.param, joint=False, vocab_size=SIDE_SIZE)


def test_eos_is_0_unk_is_1_and_bos_does_not_exist(joint: Tokenizer) -> None:
    assert (EOS, UNK) == (0, 1)
    pieces = joint.target_pieces(range(joint.tgt_vocab_size - 1))
    assert pieces[:2] == ["</s>", "<unk>"]
    assert "<s>" not in pieces and "<pad>" not in pieces
    assert len(set(pieces)) == len(pieces) == SIZE - 1


def test_the_vocabulary_has_the_requested_size_including_pad(joint: Tokenizer) -> None:
    assert joint.src_vocab_size == joint.tgt_vocab_size == SIZE
    ids = [i for line in joint.encode_source(SRC) + joint.encode_target(TGT) for i in line]
    assert min(ids) == EOS and max(ids) <= SIZE - 2


def test_every_sentence_has_one_eos_at_its_end(joint: Tokenizer) -> None:
    for ids in joint.encode_source([*SRC, "", " "]):
        assert ids[-1] == EOS and EOS not in ids[:-1]
    assert joint.encode_source(["", " "]) == [[EOS], [EOS]]


def test_the_text_of_reserved_pieces_has_no_reserved_ids(joint: Tokenizer) -> None:
    (ids,) = joint.encode_source(["</s> the <pad>"])
    assert EOS not in ids[:-1]


def test_decoding_inverts_encoding(joint: Tokenizer, separate: Tokenizer) -> None:
    assert joint.decode_target(joint.encode_target(TGT)) == TGT
    assert joint.decode_target(joint.encode_source(SRC)) == SRC  # one vocabulary for both
    assert separate.decode_target(separate.encode_target(TGT)) == TGT


def test_pieces_concatenate_to_the_sentence(joint: Tokenizer) -> None:
    (ids,) = joint.encode_target(TGT[:1])
    assert "".join(joint.target_pieces(ids[:-1])).replace("▁", " ").strip() == TGT[0]


def test_an_unknown_character_is_unk(joint: Tokenizer) -> None:
    assert UNK in joint.encode_source(["the 猫"])[0]
    assert not any(UNK in ids for ids in joint.encode_source(SRC))


def test_separate_vocabularies_know_only_their_own_side(separate: Tokenizer) -> None:
    assert not separate.joint
    assert (separate.src_vocab_size, separate.tgt_vocab_size) == (SIDE_SIZE, SIDE_SIZE)
    assert UNK in separate.encode_source(["Fähre"])[0]
    assert UNK not in separate.encode_target(["Fähre"])[0]
    assert separate.encode_source(SRC) != separate.encode_target(SRC)


def test_text_is_composed_by_default_and_replaced_by_compatible_text_on_request() -> None:
    composed, folded = trained(), trained(normalization="nmt_nfkc")
    assert composed.encode_target(["Fa\u0308hre"]) == composed.encode_target(["Fähre"])
    assert UNK in composed.encode_source(["ｔｈｅ ferry"])[0]
    assert folded.encode_source(["ｔｈｅ ferry"]) == folded.encode_source(["the ferry"])


@pytest.mark.parametrize("normalization", ["nfc_cf", "nmt_nfkc_cf"])
def test_case_folding_is_optional(normalization: str) -> None:
    lower = trained(normalization=normalization)
    assert lower.encode_target(["DIE FÄHRE"]) == lower.encode_target(["die fähre"])
    assert lower.decode_target(lower.encode_target(["Die Fähre"])) == ["die fähre"]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize(("together", "side"), [(True, "joint"), (False, "source")])
def test_a_vocabulary_too_large_is_reported_with_the_largest_size(
    kind: str, together: bool, side: str
) -> None:
    with pytest.raises(DataError) as error:
        trained(kind=kind, joint=together, vocab_size=20_000)
    found = re.fullmatch(
        rf"the {side} corpus is too small for a vocabulary of 20,000 tokens: "
        r"add --set tokenizer.vocab_size=(\d+) or a smaller value",
        str(error.value),
    )
    assert found
    largest = int(found[1])
    # The target side of separate vocabularies may allow less: train on the named side only.
    config = TokenizerConfig.model_validate({"kind": kind, "vocab_size": largest, **PLAIN})
    text = SRC + TGT if together else SRC
    assert Tokenizer.train(text, [], config, seed=1).src_vocab_size == largest
    above = config.model_copy(update={"vocab_size": largest + 1})
    with pytest.raises(DataError):
        Tokenizer.train(text, [], above, seed=1)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_vocabulary_too_small_is_reported_with_a_size_that_works(kind: str) -> None:
    with pytest.raises(DataError) as error:
        trained(kind=kind, vocab_size=20)
    found = re.fullmatch(
        r"the joint corpus has too many characters for a vocabulary of 20 tokens: set "
        r"tokenizer.vocab_size above (\d+), lower tokenizer.character_coverage, or set "
        r"tokenizer.byte_fallback = false to save 256 tokens",
        str(error.value),
    )
    assert found
    assert trained(kind=kind, vocab_size=int(found[1]) + 1).src_vocab_size == int(found[1]) + 1


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_two_trainings_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    files = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        files += trained(kind=kind).save(tmp_path / name)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_loaded_tokenizer_encodes_like_the_saved_one(
    joint: Tokenizer, separate: Tokenizer, tmp_path: Path
) -> None:
    for tokenizer, names in (
        (joint, ["tokenizer.model"]),
        (separate, ["source.model", "target.model"]),
    ):
        folder = tmp_path / names[0]
        folder.mkdir()
        assert sorted(path.name for path in tokenizer.save(folder)) == names
        loaded = Tokenizer.load(folder)
        assert loaded.joint is tokenizer.joint
        assert loaded.encode_source(SRC) == tokenizer.encode_source(SRC)
        assert loaded.encode_target(TGT) == tokenizer.encode_target(TGT)


def test_a_corrupted_model_is_reported(joint: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelError) as error:
        Tokenizer.load(tmp_path)
    assert str(error.value) == f"{path} is not a valid SentencePiece model: copy the folder again"


def test_a_missing_model_is_reported(separate: Tokenizer, tmp_path: Path) -> None:
    separate.save(tmp_path)
    (tmp_path / "target.model").unlink()
    with pytest.raises(ModelError) as error:
        Tokenizer.load(tmp_path)
    missing = tmp_path / "target.model"
    assert str(error.value) == f"{missing} cannot be read: the model folder is incomplete"


@pytest.mark.parametrize("line", [[], [""]], ids=["no line", "an empty line"])
def test_learning_from_no_text_is_a_data_error(line: list[str]) -> None:
    with pytest.raises(DataError, match="no joint vocabulary of 64 tokens could be learned"):
        Tokenizer.train(line, line, TokenizerConfig(vocab_size=64), seed=1)


# ---- target tokens -------------------------------------------------------------------------------


def test_target_tokens_are_never_split() -> None:
    config = TokenizerConfig.model_validate(
        {"joint": False, "target": "tokens", "vocab_size": SIDE_SIZE, **PLAIN}
    )
    brackets = ["(S (NP XX )NP (VP XX )VP )S", "(ALONGERLABELTHANMOST XX )ALONGERLABELTHANMOST"]
    tokenizer = Tokenizer.train(SRC, brackets * 2, config, seed=1)
    ids = tokenizer.encode_target(brackets)
    assert [len(sentence) for sentence in ids] == [9, 4]
    assert tokenizer.decode_target([sentence[:-1] for sentence in ids]) == brackets
    assert tokenizer.tgt_vocab_size == len({*" ".join(brackets).split()}) + 3  # eos, unk, pad
    assert tokenizer.target_pieces([2]) == ["▁XX"]  # the most frequent comes first
    assert tokenizer.encode_target(["(S (NEW XX )S"])[0][1] == UNK


def test_the_rarest_of_too_many_target_tokens_are_unknown() -> None:
    config = TokenizerConfig.model_validate(
        {"joint": False, "target": "tokens", "vocab_size": SIDE_SIZE, **PLAIN}
    )
    words = [*(f"w{i}" for i in range(60)), *["the The"] * 9]
    tokenizer = Tokenizer.train(SRC, words, config, seed=1)
    assert tokenizer.tgt_vocab_size == SIDE_SIZE
    the, other, end = tokenizer.encode_target(["the The"])[0]
    assert the != other and end == EOS and UNK not in (the, other)
    assert sum(ids[0] == UNK for ids in tokenizer.encode_target(words)) == 60 - (SIDE_SIZE - 5)


def test_target_tokens_need_a_separate_vocabulary() -> None:
    with pytest.raises(ValueError, match=r"set tokenizer\.joint = false"):
        TokenizerConfig(target="tokens")


# ---- rare and unseen characters, placeholder tokens ----------------------------------------------

BYTES_SIZE = 330


@pytest.fixture(scope="module")
def with_bytes() -> Tokenizer:
    """A joint vocabulary with bytes and slots; "ß" and "ü" are below its coverage of characters."""
    tokenizer = Tokenizer.train(
        SRC,
        [*TGT, "Fuß über"],
        TokenizerConfig(vocab_size=BYTES_SIZE, character_coverage=0.999),
        seed=1,
    )
    characters = "".join(sorted({*"".join(SRC)})), "".join(sorted({*"".join(TGT), *"Fuß über"}))
    coverage = Coverage(
        source_characters=characters[0] + "é", target_characters=characters[1], longest_source=9
    )
    return Tokenizer(tokenizer.src, tokenizer.tgt, coverage)


def test_a_rare_character_becomes_bytes_and_decodes_back(with_bytes: Tokenizer) -> None:
    (ids,) = with_bytes.encode_target(["Fuß 猫"])
    assert UNK not in ids
    bytes_ = [with_bytes.target_bytes.index(i) for i in ids if i in with_bytes.target_bytes]
    assert bytes(bytes_).decode().endswith("猫")
    assert "F" not in bytes(bytes_).decode()
    assert with_bytes.decode_target([ids]) == ["Fuß 猫"]


def test_every_byte_has_a_token(with_bytes: Tokenizer, joint: Tokenizer) -> None:
    assert with_bytes.target_pieces(with_bytes.target_bytes) == [f"<0x{b:02X}>" for b in range(256)]
    bare = trained()
    assert bare.target_bytes == [] and bare.target_slots == {}


def test_bytes_that_are_not_utf_8_become_the_replacement_character(with_bytes: Tokenizer) -> None:
    first, second, _ = (with_bytes.target_bytes[byte] for byte in "猫".encode())
    assert "\ufffd" in with_bytes.decode_target([[first, second]])[0]


def test_each_slot_is_one_token_of_both_sides(with_bytes: Tokenizer) -> None:
    assert list(with_bytes.target_slots) == list(SLOTS)
    assert len(set(with_bytes.target_slots.values())) == len(SLOTS)
    text = f"the {SLOTS[3]}ferry{SLOTS[0]}."
    (ids,) = with_bytes.encode_source([text])
    assert [i for i in ids if i in with_bytes.target_slots.values()] == [
        with_bytes.target_slots[SLOTS[3]],
        with_bytes.target_slots[SLOTS[0]],
    ]
    assert with_bytes.decode_target([ids]) == [text]


@pytest.mark.parametrize("joint", [True, False])
def test_a_symbol_is_one_piece(joint: bool) -> None:
    tokenizer = trained(symbols=["<BT>", "a,b"], joint=joint, vocab_size=40)
    assert tokenizer.source_surfaces("<BT> the old a,b")[:2] == ["\u2581", "<BT>"]
    assert "a,b" in tokenizer.source_surfaces("<BT> the old a,b")


@pytest.mark.parametrize("symbols", [[""], ["a b"], [" <BT>"], ["<BT>", "<BT>"]])
def test_a_symbol_with_spaces_or_a_repeated_one_is_refused(symbols: list[str]) -> None:
    with pytest.raises(ValidationError, match="cannot be a symbol: symbols are distinct and have"):
        TokenizerConfig(symbols=tuple(symbols))


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_slots_are_unknown_to_a_vocabulary_without_them(byte_fallback: bool) -> None:
    size = BYTES_SIZE if byte_fallback else SIZE
    bare = trained(vocab_size=size, byte_fallback=byte_fallback)
    (ids,) = bare.encode_source([f"the {SLOTS[3]} ferry {SLOTS[0]}{SLOTS[1]}."])
    assert ids.count(UNK) == (3 if byte_fallback else 2)  # two unknown characters in a row are one
    plain = ["the ferry.", ""]
    assert bare.encode_source(plain) == bare.encode_source(plain)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("the ferry", True),
        ("", True),
        ("the\u3000ferry", True),
        # compatible with seen characters, but not equal
        ("ｆｅｒｒｙ", False),
        ("ﬁ", False),
        ("²", False),
        ("e\u0301", True),  # normalises to é
        ("é", True),
        ("Fuß", False),  # of the target only
        ("ferry 猫", False),
        ("❤️", False),
        ("the \u2581 ferry", False),
        ("the \ufffd", False),
        ("\u0007", False),
        # invisible
        ("fer\u200bry", True),
        ("fer\u200cry", True),
        ("fer\u00adry", True),
        ("the\u00a0ferry\t", True),
    ],
)
def test_a_text_is_covered_if_training_has_seen_its_characters(
    with_bytes: Tokenizer, text: str, seen: bool
) -> None:
    assert with_bytes.covers(text) == seen


def test_in_version_1_a_character_is_covered_if_training_has_seen_what_it_becomes() -> None:
    old = trained(normalization="nmt_nfkc")
    seen = "".join(sorted(set("".join(SRC))))
    old.coverage = Coverage(source_characters=seen, target_characters="", longest_source=20)
    for text, covered, in_version_1 in (
        ("ferryª", False, True),
        ("ferry 猫", False, False),
        ("fer\u00adry", True, False),
        ("the\u3000ferry", True, True),
    ):
        assert (old.covers(text), old.covers_normalized(text)) == (covered, in_version_1)


def test_without_coverage_a_text_is_covered_if_it_has_no_unknown_token() -> None:
    bare = trained()
    assert bare.coverage is None
    assert bare.covers("the ferry") and not bare.covers("the 猫")
    assert not bare.covers("the \ufffd")


@pytest.mark.parametrize(
    "span",
    ["👨‍👩‍👧", "❤️", "👍🏽", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "n̈", "привет", "क्षि",
     "می\u200cروم", "\u2581", "\ufffd"],
)  # fmt: skip
def test_an_unseen_character_with_its_modifiers_is_one_span(
    with_bytes: Tokenizer, span: str
) -> None:
    assert [s.text for s in unseen(f"the {span} ferry", with_bytes.covers)] == [span]


@settings(deadline=None)  # the first example trains
@given(st.lists(st.sampled_from(["the", "ｔｈｅ", "猫", "ferry", " ", "  ", SLOTS[1], "ß", "."])))
def test_pieces_begin_where_their_text_begins(parts: list[str]) -> None:
    text = "".join(parts)
    starts = shared().source_starts(text)
    assert len(starts) == len(shared().encode_source([text])[0]) - 1
    assert starts == sorted(starts)
    assert all(0 <= start <= len(text) for start in starts)


def test_a_long_source_has_the_starts_of_its_parts() -> None:
    part = "the ferry "
    starts = shared().source_starts(part)
    expected = [i * len(part) + start for i in range(20_000) for start in starts]
    assert shared().source_starts(part * 20_000) == expected


def test_source_starts_skip_spaces(with_bytes: Tokenizer) -> None:
    text = f"the  {SLOTS[2]} 猫."
    starts = with_bytes.source_starts(text)
    assert {0, 5, 7, 8} <= set(starts)
    assert not {3, 4, 6} & set(starts)


@given(st.data())
def test_the_texts_of_ids_are_the_decoded_text(data: st.DataObject) -> None:
    tokenizer = shared()
    n = tokenizer.tgt_vocab_size - 1
    byte = st.sampled_from(tokenizer.target_bytes)
    ids = data.draw(st.lists(st.one_of(byte, st.integers(2, n - 1)), max_size=12))
    texts = tokenizer.target_texts_of(ids)
    assert len(texts) == len(ids)
    assert "".join(texts) == tokenizer.decode_target([ids])[0]


def test_the_last_byte_of_a_character_adds_it(with_bytes: Tokenizer) -> None:
    ids = [with_bytes.target_bytes[byte] for byte in "猫ß".encode()]
    assert with_bytes.target_texts_of(ids) == ["", "", "猫", "", "ß"]


def test_coverage_is_saved_with_the_vocabulary(with_bytes: Tokenizer, tmp_path: Path) -> None:
    assert [path.name for path in with_bytes.save(tmp_path)] == ["tokenizer.model", "coverage.json"]
    loaded = Tokenizer.load(tmp_path)
    assert loaded.coverage == with_bytes.coverage
    assert loaded == with_bytes


@cache
def shared() -> Tokenizer:
    """A vocabulary with bytes and slots, for property tests."""
    return trained(vocab_size=BYTES_SIZE, byte_fallback=True, placeholder_share=0.1)
