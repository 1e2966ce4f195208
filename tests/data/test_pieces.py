"""Pieces with ids of their own: tables of imported models."""

import io
from pathlib import Path

import pytest
import sentencepiece as spm

from tests.phrases import phrases
from yakusu.data.coverage import Coverage
from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK, TokenizerConfig, collect, learn
from yakusu.errors import ModelError

PAIRS = phrases("de").train[:200]


def model_of(side: int, *, bytes_too: bool = False) -> spm.SentencePieceProcessor:
    """A SentencePiece model of one side."""
    config = TokenizerConfig(
        vocab_size=480 if bytes_too else 150, byte_fallback=bytes_too, placeholder_share=0
    )
    return learn([pair[side] for pair in PAIRS], config, 1, side="source")


@pytest.fixture(scope="module")
def model() -> spm.SentencePieceProcessor:
    return model_of(0)


def pieces_of(model: spm.SentencePieceProcessor) -> list[str]:
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def reversed_table(model: spm.SentencePieceProcessor) -> list[str]:
    """The same pieces in another order, after </s> and <unk>."""
    eos, unk, *others = pieces_of(model)
    return [eos, unk, *reversed(others)]


def test_a_table_gives_the_same_pieces_other_ids(model: spm.SentencePieceProcessor) -> None:
    plain, table = Pieces(model), Pieces(model, reversed_table(model))
    for source, _ in PAIRS[:50]:
        ids, others = plain.encode(source), table.encode(source)
        assert others[-1] == EOS
        assert [table.piece(i) for i in others] == [plain.piece(i) for i in ids]
        assert [table.id_of(table.piece(i)) for i in others] == others
        assert table.decode(others) == plain.decode(ids)
        assert table.texts_of(others) == plain.texts_of(ids)
        assert table.surfaces(source) == plain.surfaces(source)
        assert table.offsets(source) == plain.offsets(source)


def test_a_piece_that_the_table_lacks_is_unknown(model: spm.SentencePieceProcessor) -> None:
    source = PAIRS[0][0]
    first = model.encode(source, out_type=str)[0]
    table = Pieces(model, [piece for piece in reversed_table(model) if piece != first])
    ids = table.encode(source)
    assert ids[0] == UNK and UNK not in ids[1:-1]
    assert table.surfaces(source)[0] == first
    assert table.decode(ids).startswith(" \u2047 ") or "\u2047" in table.decode(ids)
    assert table.id_of(first) == UNK


def test_pieces_of_the_other_side_are_text(model: spm.SentencePieceProcessor) -> None:
    table = Pieces(model, [*pieces_of(model), "\u2581Straßenbahn", "halt", "日"])
    n = model.get_piece_size()
    assert table.decode([n]) == "Straßenbahn"
    assert table.decode([n, n + 1, n]) == "Straßenbahnhalt Straßenbahn"
    assert table.texts_of([n, n + 2, EOS]) == ["Straßenbahn", "日", ""]


def test_bytes_of_a_character_add_it_with_the_last(model: spm.SentencePieceProcessor) -> None:
    with_bytes = model_of(0, bytes_too=True)
    table = Pieces(with_bytes, reversed_table(with_bytes))
    ids = table.byte_ids("ゑ".encode())
    assert len(ids) == 3 and UNK not in ids
    assert table.encode("ゑ")[-4:] == [*ids, EOS]
    assert table.texts_of(ids) == ["", "", "ゑ"]
    assert Pieces(model, reversed_table(model)).byte_ids("ゑ".encode()) == []
    no_bytes = [piece for piece in reversed_table(with_bytes) if piece != "<0xE3>"]
    assert Pieces(with_bytes, no_bytes).byte_ids("ゑ".encode()) == []


@pytest.mark.parametrize("text", [">>de<< a", ">>de<<a", ">>fr<< a", ">>", "a >>de<<", "<<"])
def test_no_text_contains_the_token_of_a_language(
    model: spm.SentencePieceProcessor, text: str
) -> None:
    table = Pieces(model, [*pieces_of(model), ">>de<<"])
    assert table.language_tokens == {"de": ">>de<<"}
    assert table.encode(text) == Pieces(model).encode(text)
    assert table.surfaces(text) == Pieces(model).surfaces(text)


def test_a_learned_vocabulary_has_the_tokens_of_its_languages() -> None:
    config, texts = TokenizerConfig(vocab_size=500), [pair[0] for pair in PAIRS]
    learned = Pieces(learn(texts, config, 1, side="source", languages=["de", "pt-BR"]))
    assert learned.language_tokens == {"de": ">>de<<", "pt-BR": ">>pt-BR<<"}
    for token in learned.language_tokens.values():
        assert learned.id_of(token) not in {UNK, *learned.encode(f"{token} a")}
        assert learned.decode([learned.id_of(token)]) == ""
    assert Pieces(learn(texts, config, 1, side="source")).language_tokens == {}


def test_a_tokenizer_with_tables_is_the_same_after_saving(tmp_path: Path) -> None:
    src, tgt = model_of(0), model_of(1)
    joint = ["</s>", "<unk>", *sorted({*pieces_of(src)[2:], *pieces_of(tgt)[2:]})]
    coverage = Coverage(source_characters="ab", target_characters="c", longest_source=3)
    for tokenizer in (
        Tokenizer(Pieces(src, joint), Pieces(tgt, joint), coverage),
        Tokenizer(Pieces(src, reversed_table(src)), Pieces(tgt, reversed_table(tgt))),
        Tokenizer(Pieces(src), Pieces(tgt)),
        Tokenizer(Pieces(src, reversed_table(src)), Pieces(tgt)),
        Tokenizer(Pieces(src), Pieces(tgt, reversed_table(tgt))),
    ):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        written = tokenizer.save(folder)
        assert sorted(written) == sorted(folder.iterdir())
        loaded = Tokenizer.load(folder)
        assert loaded == tokenizer
        assert loaded.joint == tokenizer.joint
        assert loaded.vocab_sizes == tokenizer.vocab_sizes
        for source, target in PAIRS[:20]:
            assert loaded.encode_source([source]) == tokenizer.encode_source([source])
            ids = tokenizer.encode_target([target])
            assert loaded.encode_target([target]) == ids
            assert loaded.decode_target(ids) == [target]


def test_a_joint_model_with_a_table_stays_one_object(tmp_path: Path) -> None:
    pieces = Pieces(model_of(0), reversed_table(model_of(0)))
    Tokenizer(pieces, pieces).save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.src is loaded.tgt
    assert loaded.src.table == pieces.table


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"source": 3}',
        '{"joint": ["</s>", "<unk>", "a", "a"]}',
        '{"source": [], "target": null}',
        '{"source": ["</s>"], "target": null}',
        '{"source": ["</s>", "<unk>", "a", "a"], "target": null}',
        '{"source": ["</s>", "<unk>"], "other": []}',
        '{"source": ["</s>", "<unk>", 3]}',
    ],
)
def test_a_corrupt_table_is_named(text: str, tmp_path: Path) -> None:
    pieces = Pieces(model_of(0), reversed_table(model_of(0)))
    Tokenizer(pieces, pieces).save(tmp_path)
    (tmp_path / "vocabulary.json").write_text(text)
    with pytest.raises(ModelError, match=r"vocabulary\.json is corrupt: copy the folder again"):
        Tokenizer.load(tmp_path)


def test_words_begin_with_a_space_and_brackets_of_trees_begin_none() -> None:
    trees = ["(S (NP DT NN )NP (VP VBD -LRB- . )VP )S"]
    made = Pieces(collect(trees, TokenizerConfig(joint=False, target="tokens")))
    begin = {made.piece(i) for i in range(len(made)) if made.begins_word(i)}
    assert begin == {"</s>", "\u2581DT", "\u2581NN", "\u2581VBD", "\u2581-LRB-", "\u2581."}
    sentence = Pieces(model_of(0))
    ids = sentence.encode("Where is the (old) station?")
    words = [sentence.piece(i) for i in ids if sentence.begins_word(i)]
    assert len(words) == 6 and words[-1] == "</s>"


def test_a_model_without_pieces_that_decode_keeps_their_text() -> None:
    stream = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d"] * 9),
        model_writer=stream,
        vocab_size=9,
        hard_vocab_limit=False,
        pad_id=3,
        minloglevel=2,
    )
    model = spm.SentencePieceProcessor(model_proto=stream.getvalue())
    table = Pieces(model, ["</s>", "<unk>", "<s>", "<pad>", *pieces_of(model)[4:]])
    ids = table.encode("a b")
    assert table.decode([2, 3, *ids]) == "a b"
