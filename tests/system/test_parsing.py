"""A parser end to end: trees to bracket sequences, training, trees out, and their scores."""

import logging
import math
import os
import random
from pathlib import Path

import pytest
import torch

import yakusu
from tests.translators import ENGINES, save
from yakusu.data.brackets import delinearise, linearise
from yakusu.data.config import DataConfig
from yakusu.data.corpus import Corpus, ExtraCorpus, read_pairs, read_sources
from yakusu.data.files.tree_files import tree_files
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.trees import read_trees, tree_line, tree_of, words_of
from yakusu.engine.config import EngineConfig
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.export.formats import FORMATS, refuse
from yakusu.folder import read_json
from yakusu.model.architectures import build
from yakusu.recipe import Recipe, load_recipe
from yakusu.search.config import SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.typed import ValidationError
from yakusu.weights import load_tensors

DATA = Path(os.environ.get("YAKUSU_DATA", "/nowhere"))
NOUNS = "boat baker river window cloud harbour cat bridge".split()  # noqa: SIM905
VERBS = "sees paints leaves finds".split()  # noqa: SIM905
SIZES = [
    "tokenizer.vocab_size=60",
    "tokenizer.byte_fallback=false",
    "tokenizer.placeholder_share=0",
    "tokenizer.normalization=nmt_nfkc",
    "batches.step_tokens=600",
    "model.n_layers=1",
    "model.d_model=32",
    "model.d_ff=64",
    "model.n_heads=4",
    "model.dropout=0.0",
    "training.warmup_steps=60",
    "training.max_steps=4",
    "training.validate_steps=2",
    "training.device=cpu",
    "training.patience=0",
    "search.beam=4",
]


def invented(n: int, seed: int = 5) -> list[str]:
    """Generate distinct trees of a small grammar, with function labels and traces."""
    rng = random.Random(seed)

    def noun_phrase(depth: int, label: str = "NP") -> str:
        simple = f"(NP (DT the) (NN {rng.choice(NOUNS)}))"
        if depth and rng.random() < 0.4:
            return f"({label} {simple} (PP (IN near) {noun_phrase(depth - 1)}))"
        return simple.replace("(NP", f"({label}", 1)

    trees: dict[str, None] = {}
    while len(trees) < n:
        verb = f"(VP (VBZ {rng.choice(VERBS)}) {noun_phrase(1)} (NP (-NONE- *T*-1)))"
        trees[f"((S {noun_phrase(1, 'NP-SBJ-1')} {verb} (. .)))"] = None
    return list(trees)


TREES = invented(120)


def recipe_for(folder: Path, *overrides: str) -> Recipe:
    train, dev = folder / "train.mrg", folder / "dev.mrg"
    train.write_text("\n".join(TREES[:100]) + "\n")
    dev.write_text("\n".join(TREES[100:]) + "\n")
    data = [f'run="{folder / "run"}"', f'data.train.trees="{train}"', f'data.dev.trees="{dev}"']
    return load_recipe("parse-small", [*data, *SIZES, *overrides])


def test_a_corpus_of_trees_yields_pairs_of_words_and_tree(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat)\n    (NP (-NONE- *)))) )\n")
    corpus = Corpus(trees=str(path))
    tree = "(S (NP (DT The) (NN cat)) (VP (VBD sat)))"
    assert list(read_pairs(corpus)) == [("The cat sat", tree)]
    assert corpus and corpus.files == (path,)


def test_prepare_keeps_the_reference_trees_of_the_dev_set_with_tags(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path)
    made = yakusu.prepare(recipe)
    assert (made.n_train, made.n_dev) == (100, 20)
    lines = (made.folder / "dev.tgt.txt").read_text().splitlines()
    assert lines == [tree_line(tree) for tree in read_trees([tmp_path / "dev.mrg"])]
    tokenizer, dev = Tokenizer.load(made.folder), Pairs.open(made.folder, "dev")
    said = tokenizer.decode_target([dev.tgt[0].tolist()[:-1]])[0]
    assert said.startswith("(S (NP") and said.endswith(". )S") and "XX" not in said
    n_tags = sum(not token.startswith(("(", ")")) for token in said.split())
    assert n_tags == len((made.folder / "dev.src.txt").read_text().split("\n")[0].split())


def test_positions_count_the_words_of_a_sentence_and_the_tags_of_its_tree(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, "model.positions=words")
    model = yakusu.train(recipe).model
    weights, tokenizer = load_tensors(model / "model.safetensors"), Tokenizer.load(model)
    sentence, tree = next(iter(read_pairs(Corpus(trees=str(tmp_path / "dev.mrg")))))
    source = tokenizer.encode_source([sentence])[0]
    target = tokenizer.encode_target([" ".join(linearise(tree))])[0]
    n_words = len(sentence.split())
    assert weights["src_words"][source].sum() == n_words + 1  # with eos
    assert weights["tgt_words"][target].sum() == n_words + 1
    assert weights["src_words"][-1] == weights["tgt_words"][-1] == 0
    for engine in ENGINES:
        config = EngineConfig(engine=engine, precision="float32")
        ((best, *_),) = yakusu.translate(model, [sentence], engine=config)
        assert best.text.startswith("(")
    for format_ in FORMATS:
        with pytest.raises(ModelError, match=f"{format_} has no .*positions that count words"):
            refuse(recipe.model, format_)


def test_the_constituents_of_trees_are_pairs_of_their_own(tmp_path: Path) -> None:
    path, verb = tmp_path / "a.mrg", "(VP (VBD saw) (NP (PRP it)) (ADVP (RB so) (RB far)))"
    unary = "(S (NP (-NONE- *)) (VP (TO to) (VP (VB go))))"  # of equal words
    path.write_text(f"(S (NP (DT the) (NN cat)) {verb})\n{unary}\n")
    assert list(read_pairs(Corpus(trees=str(path), subtrees=True))) == [
        ("the cat", "(NP (DT the) (NN cat))"),
        ("saw it so far", verb),
        ("so far", "(ADVP (RB so) (RB far))"),
    ]
    with pytest.raises(ValidationError, match="subtrees = true has no effect without trees"):
        Corpus(src="a", tgt="b", subtrees=True)
    with pytest.raises(ValidationError, match="subtrees = true needs dev trees"):
        DataConfig(train=Corpus(trees="a"), extra=ExtraCorpus(trees="a", subtrees=True))


def test_extra_trees_are_sampled_with_their_weight(tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    for name, trees in (("a", invented(40, seed=8)), ("b", invented(30, seed=9))):
        (extra / f"{name}.mrg").write_text("\n".join(trees) + "\n")
    given = f'data.extra={{trees = "{extra}", weight = 0.5}}'
    recipe = recipe_for(tmp_path, given, "filters.drop_duplicates=false")
    made = yakusu.prepare(recipe)
    pairs = Pairs.open(made.folder, "train")
    assert [(part.n_pairs, part.weight) for part in pairs.parts] == [(100, 1.0), (70, 0.5)]
    assert pairs.lines.tolist() == list(range(1, 171))
    assert set(read_json(made.folder / "data.json")["inputs"]) == {
        "train.trees.1",
        "extra.trees.1",
        "extra.trees.2",
        "dev.trees.1",
    }
    (extra / "b.mrg").write_text(TREES[0])
    with pytest.raises(RunError, match=r"b\.mrg has changed"):
        yakusu.prepare(recipe)


def test_a_run_resumes_after_its_trees_were_deleted(tmp_path: Path) -> None:
    trees = tmp_path / "trees"
    trees.mkdir()
    recipe = recipe_for(tmp_path, f'data.train.trees="{trees}"')
    (tmp_path / "train.mrg").rename(trees / "train.mrg")
    yakusu.prepare(recipe)
    (trees / "more.mrg").write_text(f"{TREES[0]}\n")
    with pytest.raises(RunError, match=r"more\.mrg was added after .* was made: remove it"):
        yakusu.prepare(recipe)
    (trees / "more.mrg").unlink()
    (trees / "train.mrg").unlink()
    assert yakusu.prepare(recipe).existed
    trees.rmdir()
    assert yakusu.prepare(recipe).existed


def test_a_recipe_without_trees_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no training trees: add --trees FILE, or data\.train"):
        yakusu.prepare(load_recipe("parse-small", [f'run="{tmp_path / "run"}"']))


def test_a_malformed_tree_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path)
    (tmp_path / "train.mrg").write_text("((S (NP (NN a))\n((S (NP (NN b))))\n")
    with pytest.raises(DataError, match=r"train\.mrg, line 1: the tree that begins here"):
        yakusu.prepare(recipe)
    assert not (tmp_path / "run" / "data").exists()


def test_a_parser_learns_a_small_grammar_and_scores_the_same_when_loaded(tmp_path: Path) -> None:
    recipe = recipe_for(
        tmp_path,
        "training.max_steps=220",
        "training.validate_steps=220",
        "training.lr_scale=1.5",
        "training.keep_last=1",
    )
    trained = yakusu.train(recipe)
    assert "evalb" in trained.dev_score
    scores = yakusu.evaluate_parser(trained.model, tmp_path / "dev.mrg")
    assert [score.name for score in scores] == ["F1", "precision", "recall", "exact match"]
    assert str(scores[0]) == trained.dev_score
    assert scores[0].value > 80  # 86 or more than 90: rounding depends on the threads
    log = (tmp_path / "run" / "log.jsonl").read_text()
    assert '"score": "F1"' in log and '"dev_f1": ' in log
    parser = Translator.load(trained.model)
    assert parser.translate(["the cat sees the boat ."]) == [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN boat))) (. .))"
    ]
    made = tmp_path / "made.txt"
    sentences = [" ".join(words_of(tree)) for tree in read_trees([tmp_path / "dev.mrg"])]
    made.write_text("".join(f"{tree}\n" for tree in parser.translate(sentences)))
    assert yakusu.evaluate_trees(made, tmp_path / "dev.mrg") == scores


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    recipe = recipe_for(tmp_path_factory.mktemp("parser"))
    tokenizer = Tokenizer.load(yakusu.prepare(recipe).folder)
    torch.manual_seed(0)
    model = build(
        recipe.model,
        src_vocab_size=tokenizer.src_vocab_size,
        tgt_vocab_size=tokenizer.tgt_vocab_size,
    )
    return Translator(
        TorchDecoder(model), tokenizer, languages=("", ""), search=recipe.search, task="parsing"
    )


def leaves(trees: list[str], folder: Path) -> list[list[str]]:
    path = folder / "trees.mrg"
    path.write_text("\n".join(trees))
    return [words_of(tree) for tree in read_trees([path])]


def test_every_output_is_a_tree_over_exactly_the_input_words(
    untrained: Translator, tmp_path: Path
) -> None:
    sentences = [
        "the cat",
        "x",
        "unknown  wörter 日本 🚢 \u200b here",
        "\u200b",
        "(both) brackets ( alone )",
        "-LRB- & # $ 3.5 % <unk> </s> XX (S )S ▁ \\/",
        " ".join(["the"] * 60),
    ]
    found = leaves(untrained.translate(sentences), tmp_path)
    written = [s.replace("(", "-LRB-").replace(")", "-RRB-").split() for s in sentences]
    assert found == written


def test_an_empty_line_has_an_empty_output(untrained: Translator) -> None:
    assert untrained.translate(["", "  "]) == ["", ""]


def test_a_flat_tree_is_returned_where_no_tree_fits(untrained: Translator) -> None:
    short = Translator(
        untrained.decoder,
        untrained.tokenizer,
        languages=("", ""),
        search=SearchConfig(beam=2, max_extra=0),
        task="parsing",
    )
    (best,) = short.stream(["the the the"])
    assert [(t.text, t.score) for t in best] == [("(TOP (XX the) (XX the) (XX the))", -math.inf)]


def test_a_flat_tree_scores_minus_infinity_and_an_empty_line_zero(untrained: Translator) -> None:
    ((unsaid,), (empty,)) = untrained.stream(["\u200b", ""])
    assert (unsaid.text, unsaid.score) == ("(TOP (XX \u200b))", -math.inf)
    assert (empty.text, empty.score) == ("", 0.0)


def test_a_sentence_that_is_too_long_gets_a_flat_tree_without_parsing(
    untrained: Translator, caplog: pytest.LogCaptureFixture
) -> None:
    limited = Translator(
        untrained.decoder,
        untrained.tokenizer,
        languages=("", ""),
        search=SearchConfig(beam=2, max_extra=300),
        task="parsing",
        max_source_tokens=9,
    )
    words = ["the"] * 30
    with caplog.at_level(logging.WARNING):
        (tree,) = limited.translate([" ".join(words)])
    assert tree == f"(TOP {' '.join('(XX the)' for _ in words)})"
    (record,) = caplog.records
    assert "tokens, more than 9, and gets a flat tree" in record.getMessage()


def test_every_n_best_output_is_a_tree(untrained: Translator, tmp_path: Path) -> None:
    search = SearchConfig(beam=6, n_best=6, max_extra=20)
    parser = Translator(
        untrained.decoder,
        untrained.tokenizer,
        languages=("", ""),
        search=search,
        task="parsing",
    )
    (best,) = parser.stream(["the cat sees"])
    assert leaves([t.text for t in best], tmp_path) == [["the", "cat", "sees"]] * len(best)
    assert len({t.text for t in best}) == len(best) > 1


def test_attention_maps_of_a_parser_contain_its_tree(untrained: Translator) -> None:
    maps = yakusu.view.attention_maps(untrained, "the cat sees the boat")
    assert maps.tgt == untrained.translate(["the cat sees the boat"])[0]
    again = yakusu.view.attention_maps(untrained, maps.src, maps.tgt)
    assert again.target == maps.target
    clean = "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN boat))))"
    own = f"( {clean.replace('(NP', '(NP-SBJ').replace('boat))', 'boat) (-NONE- *))')} )"
    assert yakusu.view.attention_maps(untrained, maps.src, own).tgt == clean
    for other in ("(S (DT the) (NN cat))", clean.replace("boat", "cat"), f"{clean} {clean}"):
        with pytest.raises(DataError, match="is not a tree over 'the cat sees the boat'"):
            yakusu.view.attention_maps(untrained, maps.src, other)
    with pytest.raises(DataError, match="is outside a tree"):
        yakusu.view.attention_maps(untrained, maps.src, f"{clean} so")


def test_the_source_of_a_tree_file_is_the_words_of_its_trees(tmp_path: Path) -> None:
    lines = [
        "( (S (NP-SBJ (DT The)\n   (NN cat)) (VP (VBZ sits))) )",
        "(S (NP (SYM \\)) (VP (VB go)))",
    ]
    for name in ("a.mrg", "trees.txt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        assert list(read_sources(tmp_path / name)) == ["The cat sits", "\\ go"]
    (tmp_path / "text").write_text("(so) it is\n")
    assert list(read_sources(tmp_path / "text")) == ["(so) it is"]


def test_a_file_without_trees_is_not_scored(tmp_path: Path) -> None:
    (tmp_path / "empty.mrg").touch()
    with pytest.raises(DataError, match=r"empty\.mrg contains no trees"):
        yakusu.evaluate_trees(tmp_path / "empty.mrg", tmp_path / "empty.mrg")


def test_trees_are_not_compared_with_translations(tmp_path: Path, untrained: Translator) -> None:
    trees = tmp_path / "a.mrg"
    trees.write_text(TREES[0])
    with pytest.raises(DataError, match="does not exist"):
        yakusu.evaluate_trees(tmp_path / "none.txt", trees)
    save(tmp_path / "translator", untrained, task="translation")
    with pytest.raises(ModelError, match="use a parser"):
        yakusu.evaluate_parser(tmp_path / "translator", trees)


def saved_parser(folder: Path, parser: Translator) -> Path:
    return save(folder, parser, search=SearchConfig(beam=1, max_extra=20))


def test_reference_trees_are_detected_by_suffix_folder_or_first_characters(
    tmp_path: Path, untrained: Translator
) -> None:
    parser = saved_parser(tmp_path / "run" / "model", untrained)
    named, folder, unnamed = tmp_path / "a.mrg", tmp_path / "trees", tmp_path / "dev.txt"
    folder.mkdir()
    for path in (named, folder / "B.MRG", unnamed):
        path.write_text("\n" + TREES[0].replace("((S ", "(\n (S\n  ") + "\n")
    expected = yakusu.evaluate_parser(parser, named)
    assert [score.name for score in expected] == ["F1", "precision", "recall", "exact match"]
    for truth in (folder, unnamed):
        assert yakusu.evaluate_parser(parser, truth) == expected
    for system in (named, folder, unnamed):
        assert [score.value for score in yakusu.evaluate_trees(system, folder)] == [100.0] * 4
    for truth in (named, folder, unnamed):
        with pytest.raises(ModelError, match="is a run folder: use its model, "):
            yakusu.evaluate_parser(tmp_path / "run", truth)


@pytest.mark.parametrize(
    "first",
    ["(Applause)", "(see (a) and (b)) .", "( (laughs) )", "(C(sp3) bonds) (2 of)", "((1) a b)"],
)
def test_a_parser_is_not_scored_as_a_translator(
    tmp_path: Path, untrained: Translator, first: str
) -> None:
    parser = saved_parser(tmp_path / "model", untrained)
    text = tmp_path / "dev.txt"
    text.write_text(f"{first}\n")
    with pytest.raises(ModelError, match="is a parser: use trees"):
        yakusu.evaluate_model(parser, text, text)
    scores = yakusu.evaluate(text, text, target_language="en")
    assert [score.name for score in scores] == ["BLEU", "chrF2", "TER"]


@pytest.mark.data
@pytest.mark.skipif("YAKUSU_DATA" not in os.environ, reason="YAKUSU_DATA is not set")
@pytest.mark.parametrize(("name", "n_trees"), [("treebank", 358), ("gum_const", 1575)])
def test_every_tree_of_a_corpus_round_trips_through_brackets(name: str, n_trees: int) -> None:
    trees = list(read_trees(tree_files(DATA / name / "dev.mrg")))
    assert len(trees) == n_trees
    for tree in trees:
        tokens = linearise(tree_line(tree))
        back = tree_of(delinearise(tokens, words_of(tree)))
        assert back == tree
