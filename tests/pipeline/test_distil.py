"""Distillation: the student's corpus is what the teachers wrote, whatever interrupts it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU

import yakusu
from tests.pipeline.synthetic import (
    KEPT,
    LINES,
    contents,
    interrupt_at,
    lines_of,
    pairs_of,
    whole_lines,
    write,
)
from tests.translators import save, untrained
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import read_json, sha256
from yakusu.memory.memory import TranslationMemory
from yakusu.pipeline.receipts.receipt import Receipt
from yakusu.pipeline.synthetic import corpus as synthetic
from yakusu.pipeline.synthetic import models as synthetic_models
from yakusu.pipeline.synthetic.distil import DistilConfig, Distilled
from yakusu.pipeline.synthetic.models import ShardModels
from yakusu.recipe import load_recipe
from yakusu.translator.folder.folder import model_hash

REFERENCES = [f"reference {number}" if line else "" for number, line in enumerate(LINES)]
SMALL = [
    "tokenizer.vocab_size=60",
    "tokenizer.byte_fallback=false",
    "tokenizer.placeholder_share=0",
    "batches.step_tokens=100",
    "model.n_encoder_layers=2",
    "model.n_decoder_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    "training.max_steps=4",
    "training.validate_steps=2",
    "training.keep_last=2",
    "training.device=cpu",
    "search.max_extra=2",
    "filters.max_ratio=100",
]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("teacher") / "model", untrained("bytes"))


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "SHARD_LINES", 3)


Distil = Callable[..., Distilled]


@pytest.fixture
def distil(teacher: Path, tmp_path: Path) -> Distil:
    """Writes a corpus: distil(run=..., options=..., references=..., **fields of DistilConfig)."""
    src, tgt = write(tmp_path / "a.de", LINES), write(tmp_path / "a.en", REFERENCES)

    def run(
        teachers: Any = teacher,
        *,
        run: str = "run",
        options: yakusu.SearchConfig | None = None,
        with_references: bool = True,
        overrides: tuple[str, ...] = (),
        **config: Any,
    ) -> Distilled:
        return yakusu.distil(
            teachers,
            overrides=[*SMALL, *overrides],
            options=options,
            config=DistilConfig(**{"corpus_only": True, **config}),
            src=src,
            tgt=tgt if with_references else None,
            run=tmp_path / run,
        )

    return run


PAIRS = [pair for pair in zip(LINES, REFERENCES, strict=True) if pair[0]]


def test_each_text_has_its_best_translation_and_its_reference(
    distil: Distil, teacher: Path
) -> None:
    made = distil()
    best = whole_lines(teacher).translate([line for line, _ in PAIRS])
    assert pairs_of(made.corpus) == [
        pair
        for (line, reference), own in zip(PAIRS, best, strict=True)
        for pair in ((line, own), (line, reference))
    ]
    counts = {"read": 9, "empty": 1, "duplicate": 0, "translations": 8, "references": 8}
    assert made.facts.counts == counts


def test_a_text_that_the_teacher_does_not_translate_is_counted_and_not_its_own_translation(
    distil: Distil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(models: ShardModels, shards: Path, out: Path) -> Iterator[list[str]]:
        return ([text] for text, _ in synthetic.read_texts(shards))

    monkeypatch.setattr(ShardModels, "read", kept)
    made = distil()
    assert pairs_of(made.corpus) == PAIRS
    counts = {"translations": 0, "untranslated": 8, "references": 8}
    assert made.facts.counts == {"read": 9, "empty": 1, "duplicate": 0, **counts}


@pytest.mark.parametrize(
    ("best", "chosen"),
    [(["X .", "{}"], ["X .", "{}"]), (["{}", "X ."], []), (["", "X ."], [])],
    ids=str,
)
def test_the_best_translation_decides_whether_a_text_is_translated(
    distil: Distil, monkeypatch: pytest.MonkeyPatch, best: list[str], chosen: list[str]
) -> None:
    def read(models: ShardModels, shards: Path, out: Path) -> Iterator[list[str]]:
        return ([each.format(text) for each in best] for text, _ in synthetic.read_texts(shards))

    monkeypatch.setattr(ShardModels, "read", read)
    made = distil(options=yakusu.SearchConfig(n_best=2))
    assert pairs_of(made.corpus) == [
        pair
        for text, reference in PAIRS
        for pair in (*((text, each.format(text)) for each in chosen), (text, reference))
    ]
    assert made.facts.counts.get("untranslated", 0) == (0 if chosen else len(PAIRS))


def test_references_can_be_left_out(distil: Distil, teacher: Path) -> None:
    sources = [line for line, _ in PAIRS]
    best = whole_lines(teacher).translate(sources)
    assert pairs_of(distil(references=False).corpus) == list(zip(sources, best, strict=True))


def test_text_without_references_is_translated_once(distil: Distil, teacher: Path) -> None:
    made = distil(with_references=False)
    best = whole_lines(teacher).translate(KEPT)
    assert pairs_of(made.corpus) == list(zip(KEPT, best, strict=True))
    assert made.facts.counts == {"read": 9, "empty": 1, "duplicate": 1, "translations": 7}


def test_the_n_best_translations_are_all_used(distil: Distil, teacher: Path) -> None:
    options = yakusu.SearchConfig(beam=4, n_best=3)
    made = distil(options=options, with_references=False)
    translator = whole_lines(teacher)
    search = translator.search.model_copy(update={"beam": 4, "n_best": 3})
    translator = translator.with_settings(search=search)
    found = pairs_of(made.corpus)
    assert found == [
        (line, text)
        for line, best in zip(KEPT, translator.stream(KEPT), strict=True)
        for text in dict.fromkeys(each.text for each in best)
        if text
    ]
    assert len(found) > 2 * len(KEPT)


def test_closest_uses_the_translation_most_similar_to_the_reference(
    distil: Distil, teacher: Path, tmp_path: Path
) -> None:
    translator = whole_lines(teacher)
    search = translator.search.model_copy(update={"beam": 4, "n_best": 3})
    translator = translator.with_settings(search=search)
    found = dict(zip(KEPT, translator.stream(KEPT), strict=True))
    third = {line: best[2].text.strip() for line, best in found.items()}
    write(tmp_path / "a.en", [third.get(line, "") for line in LINES])
    options = yakusu.SearchConfig(beam=4, n_best=3)
    made = distil(options=options, closest=True, references=False)
    bleu, chosen = BLEU(effective_order=True), dict(pairs_of(made.corpus))
    for line, best in found.items():
        scores = [bleu.sentence_score(each.text, [third[line]]).score for each in best]
        assert chosen[line] == best[scores.index(max(scores))].text
    assert sum(chosen[line] != best[0].text for line, best in found.items()) >= 3


def test_an_ensemble_translates_as_the_command_translate_does(
    distil: Distil, teacher: Path, tmp_path: Path
) -> None:
    """But without the memory that a teacher names."""
    other = save(tmp_path / "other", untrained("bytes", beam=3))
    TranslationMemory.open(tmp_path / "team.db", ("de", "en"), writable=True).close()
    yakusu.card(other, memory=tmp_path / "team.db")
    made = distil([other, teacher], with_references=False)
    text = yakusu.TextConfig(one_sentence_per_line=True, own_memory=False)
    best = yakusu.translate(other, KEPT, text=text, ensemble=[teacher])
    assert [tgt for _, tgt in pairs_of(made.corpus)] == [each[0].text for each in best]
    assert [*made.facts.making.models] == ["teacher 1", "teacher 2"]


@pytest.mark.parametrize("number", range(0, 26, 3))
def test_an_interrupted_command_is_resumed_with_the_same_bytes(
    distil: Distil, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    options = yakusu.SearchConfig(beam=3, n_best=2)
    distil(options=options)
    (tmp_path / "run").rename(tmp_path / "whole")
    interrupted = interrupt_at(number, monkeypatch, lambda: distil(options=options))
    assert interrupted
    distil(options=options)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_finished_shards_are_not_translated_again(
    distil: Distil, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = distil()
    before = contents(made.corpus)
    for path in made.corpus.iterdir():
        path.unlink()
    made.corpus.rmdir()
    (tmp_path / "run" / "parts" / "teacher" / "000002.src").unlink()
    translated = []
    read_parts = synthetic_models.read_parts
    monkeypatch.setattr(
        synthetic_models,
        "read_parts",
        lambda job, config: [translated.append(job.source.name), *read_parts(job, config)][1:],
    )
    assert contents(distil().corpus) == before
    assert translated == ["000002.src"]


def test_other_settings_are_refused_with_both_values(
    distil: Distil, teacher: Path, tmp_path: Path
) -> None:
    distil()
    other = save(tmp_path / "other", untrained("bytes", beam=3))
    for change, message in (
        ({"references": False}, "options.references: true, now false"),
        ({"options": yakusu.SearchConfig(beam=1)}, "translations.teacher.search.beam: 2, now 1"),
        ({"teachers": other}, "translations.teacher.models: "),
        ({"with_references": False}, "inputs.tgt: "),
    ):
        with pytest.raises(RunError, match=rf"run/corpus was made with other settings \({message}"):
            distil(**change)


def test_the_receipt_names_the_teachers_and_the_files(distil: Distil, teacher: Path) -> None:
    making = distil().facts.making
    assert making.models == {"teacher 1": sha256(teacher / "model.safetensors")}
    folder = Path(distil().recipe).parent.parent
    assert making.inputs == {"src": sha256(folder / "a.de"), "tgt": sha256(folder / "a.en")}


# ---- held-out text


def test_held_out_text_is_refused_with_its_place_and_count(distil: Distil, tmp_path: Path) -> None:
    test = write(tmp_path / "test.de", ["Nothing.", "three OLD trains!", "the end"])
    with pytest.raises(DataError) as error:
        distil(held_out=(str(test),))
    assert str(error.value) == (
        f"{tmp_path}/a.de, line 5, is also in {test}, line 2 (2 such lines): remove held-out "
        "text, or leave it out with --drop-held-out"
    )
    assert not (tmp_path / "run" / "parts").exists()


def test_a_held_out_reference_is_refused(distil: Distil, tmp_path: Path) -> None:
    test = write(tmp_path / "test.en", ["Reference 4."])
    with pytest.raises(
        DataError, match=r"a.en, line 5, is also in .*test.en, line 1 \(1 such line\): remove"
    ):
        distil(held_out=(str(test),))


def test_held_out_lines_can_be_left_out(distil: Distil, tmp_path: Path) -> None:
    test = write(tmp_path / "test.de", ["three OLD trains!", "the end"])
    made = distil(held_out=(str(test),), drop_held_out=True)
    sources = {src for src, _ in pairs_of(made.corpus)}
    assert sources == set(LINES) - {"", "Three old trains", "The end."}
    assert made.facts.counts["held out"] == 2


def test_what_the_choice_of_texts_depends_on_cannot_change_after_an_interruption(
    distil: Distil, teacher: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    test = write(tmp_path / "test.de", ["The end"])
    held_out = {"held_out": (str(test),), "drop_held_out": True}
    assert interrupt_at(12, monkeypatch, lambda: distil(**held_out))
    parts = tmp_path / "run" / "parts"
    assert (parts / "texts").exists() and not [*parts.glob("teacher/*.src")]
    other = save(tmp_path / "other", untrained("bytes", beam=3))
    hashes = [model_hash(model) for model in (teacher, other)]
    for change, message in (
        ({"drop_held_out": False}, "drop_held_out: true, now false"),
        ({"held_out": ()}, f'inputs.held out 1: "{sha256(test)}", now null'),
        ({"teachers": other}, f'models.1: "{hashes[0]}", now "{hashes[1]}"'),
        ({"teachers": [teacher, other]}, f'models.2: null, now "{hashes[1]}"'),
    ):
        with pytest.raises(
            RunError, match=rf"parts/texts was made with other settings \({message}"
        ):
            distil(**{**held_out, **change})
    distil(**held_out)


def test_other_columns_of_the_same_file_are_refused(teacher: Path, tmp_path: Path) -> None:
    table = write(tmp_path / "a.tsv", [f"{src}\t{tgt}\t{tgt} too" for src, tgt in PAIRS])

    def distil(column: int) -> Distilled:
        overrides = [*SMALL, f'data.train={{pairs="{table}", tgt_column={column}}}']
        config = DistilConfig(corpus_only=True)
        return yakusu.distil(teacher, overrides=overrides, config=config, run=tmp_path / "run")

    assert pairs_of(distil(3).corpus)[1] == (PAIRS[0][0], f"{PAIRS[0][1]} too")
    with pytest.raises(RunError, match=r"options.train tgt_column: 3, now null"):
        distil(2)
    shutil.rmtree(tmp_path / "run" / "corpus")
    with pytest.raises(RunError, match=r"train tgt_column: 3, now null"):
        distil(2)


@pytest.mark.parametrize("one_file", [False, True])
def test_the_dev_set_of_the_recipe_is_held_out(
    distil: Distil, tmp_path: Path, one_file: bool
) -> None:
    files = {"src": write(tmp_path / "dev.de", ["The end"]), "tgt": write(tmp_path / "d.en", ["x"])}
    if one_file:
        files = {"pairs": write(tmp_path / "dev.tsv", ["The end\tx"])}
    overrides = tuple(f'data.dev.{key}="{path}"' for key, path in files.items())
    with pytest.raises(DataError, match=r"a.de, line 9, is also in .*dev.*, line 1 \(1 such"):
        distil(overrides=overrides)


def test_the_dev_set_in_the_run_folder_of_a_teacher_is_held_out(
    distil: Distil, tmp_path: Path
) -> None:
    teacher = save(tmp_path / "earlier" / "model", untrained("bytes"))
    (tmp_path / "earlier" / "data").mkdir()
    write(tmp_path / "earlier" / "data" / "dev.src.txt", ["?"])
    write(tmp_path / "earlier" / "data" / "dev.tgt.txt", ["reference 8"])
    with pytest.raises(DataError, match=r"a.en, line 9, is also in .*data/dev.tgt.txt, line 1"):
        distil(teacher)


# ---- the student


def test_the_student_is_trained_on_the_corpus(
    distil: Distil, teacher: Path, tmp_path: Path
) -> None:
    dev = write(tmp_path / "dev.de", ["A blue boat."]), write(tmp_path / "dev.en", ["blue"])
    overrides = tuple(f'data.dev.{side}="{p}"' for side, p in zip(("src", "tgt"), dev, strict=True))
    assert distil(overrides=overrides).trained is None
    made = distil(corpus_only=False, overrides=overrides)
    assert made.trained is not None and made.trained.steps == 4
    receipt = read_json(made.trained.model / "receipt.json")
    assert receipt["inputs"]["train.teacher 1"] == sha256(teacher / "model.safetensors")
    assert receipt["inputs"]["train.tgt"] == sha256(made.corpus / "train.tgt")
    assert receipt["languages"] == ["de", "en"]
    config = read_json(made.trained.model / "config.json")["model"]
    assert (config["n_encoder_layers"], config["n_decoder_layers"]) == (2, 1)
    weights = sha256(made.trained.model / "model.safetensors")
    assert yakusu.train(made.recipe) == made.trained
    assert sha256(made.trained.model / "model.safetensors") == weights


def test_without_a_dev_set_no_student_is_trained(distil: Distil, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"dev set of the teachers is not available, .*--dev"):
        distil(corpus_only=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": ""}, "the student has no run folder: add --run FOLDER"),
        ({"data.train.src": ""}, "there is no text to translate: add --src FILE"),
        ({"model": "parse-small"}, "a student is a translator of one pair of languages"),
    ],
)
def test_recipes_that_cannot_be_distilled_are_refused(
    teacher: Path, tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    name = changes.pop("model", "fast")
    source = "data.train.trees" if name != "fast" else "data.train.src"
    values = {"run": str(tmp_path / "run"), source: "a.de"} | changes
    recipe = load_recipe(name, [f'{key}="{value}"' for key, value in values.items()])
    with pytest.raises(RecipeError, match=message):
        yakusu.distil(teacher, recipe)


def test_closest_without_references_is_refused(distil: Distil) -> None:
    with pytest.raises(RecipeError, match="--closest compares translations with references"):
        distil(closest=True, with_references=False)


def test_closest_of_one_translation_is_refused(distil: Distil) -> None:
    with pytest.raises(RecipeError, match=r"--closest chooses among several .*: add --n-best N"):
        distil(closest=True)


def test_another_run_is_not_replaced(distil: Distil, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write(tmp_path / "run" / "mine", ["text"])
    with pytest.raises(RunError, match="run is not empty and not a run folder"):
        distil()


def test_torchrun_is_refused_with_the_two_commands(
    distil: Distil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    with pytest.raises(RunError, match=r"--corpus-only' without it, then 'yakusu train .*toml"):
        distil()


def test_the_number_of_translations_in_a_teacher_is_not_used(
    distil: Distil, tmp_path: Path
) -> None:
    search = yakusu.SearchConfig(n_best=2, max_extra=3)
    teacher = save(tmp_path / "several", untrained("bytes"), search=search)
    assert distil(teacher).facts.counts["translations"] == len(PAIRS)


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        ("a.fr", None, "the source language of .*a.fr is 'fr', but .*model translates de-en"),
        ("a.de", "a.ja", "the target language of .*a.de is 'ja', but .*model translates de-en"),
    ],
)
def test_a_teacher_of_other_languages_is_refused(
    teacher: Path, tmp_path: Path, src: str, tgt: str | None, message: str
) -> None:
    files = {"src": write(tmp_path / src, LINES)}
    if tgt:
        files["tgt"] = write(tmp_path / tgt, REFERENCES)
    with pytest.raises(ModelError, match=message):
        yakusu.distil(teacher, overrides=SMALL, run=tmp_path / "run", **files)
    assert not (tmp_path / "run").exists()


def test_the_header_of_a_table_counts_as_a_line(teacher: Path, tmp_path: Path) -> None:
    table = write(tmp_path / "a.tsv", ["source\ttarget", *("\t".join(pair) for pair in PAIRS)])
    test = write(tmp_path / "test.de", ["Two cats, one dog"])
    config = DistilConfig(corpus_only=True, held_out=(str(test),))
    with pytest.raises(DataError, match=r"a.tsv, line 3, is also in .*test.de, line 1"):
        yakusu.distil(teacher, overrides=SMALL, config=config, pairs=table, run=tmp_path / "run")


@pytest.mark.parametrize("name", ["missing.de", "memory.tmx"])
def test_a_text_that_cannot_be_read_is_refused_before_anything_is_written(
    teacher: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(DataError, match=r"missing.de does not exist|memory.tmx contains both"):
        yakusu.distil(
            teacher,
            overrides=SMALL,
            config=DistilConfig(corpus_only=True),
            src=tmp_path / name,
            run=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_the_dev_set_of_a_teacher_is_that_of_the_student(distil: Distil, tmp_path: Path) -> None:
    teacher = save(tmp_path / "earlier" / "model", untrained("bytes"))
    (tmp_path / "earlier" / "data").mkdir()
    for side, line in (("src", "A blue boat."), ("tgt", "blue")):
        write(tmp_path / "earlier" / "data" / f"dev.{side}.txt", [line])
    receipt = Receipt.model_construct(recipe=load_recipe("tiny"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yakusu.pipeline.synthetic.distil.read_facts", lambda model: receipt)
        made = distil(teacher)
    assert lines_of(made.corpus / "dev.src") == ["A blue boat."]
    assert lines_of(made.corpus / "dev.tgt") == ["blue"]
