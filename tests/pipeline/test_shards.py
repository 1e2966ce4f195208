"""Shards are translated in blocks, each completely or not at all, and finished ones are kept."""

import gzip
import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import yakusu
from tests.translators import save, untrained
from yakusu.data.lines.config import TextConfig
from yakusu.data.segments import MemorySegment
from yakusu.engine.config import EngineConfig
from yakusu.errors import DataError, RunError
from yakusu.folder import locked
from yakusu.memory.memory import TranslationMemory
from yakusu.pipeline.shards.parts import (
    PartTranslator,
    ShardConfig,
    ShardPart,
    from_line,
    read_parts,
)
from yakusu.pipeline.shards.plan import ShardJob, plan_shards
from yakusu.pipeline.shards.receipt import RECEIPT, ShardSettings
from yakusu.pipeline.shards.shards import TranslatedShards, translate_shards
from yakusu.progress import Silent
from yakusu.search.config import SearchConfig

TEXT = "# Der alte Hund\n\nKaffee, bitte!\n```\nkein Text\n\n```\n1. Wo ist das?\n2. Am {ort}.\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("shards") / "model", untrained("bytes"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with three shards."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT * 2)
    (folder / "b.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "c.txt").write_text("Drei.\n")
    (folder / ".hidden").write_text("Vier.\n")
    return folder


def config_of(model: Path, **changes: object) -> ShardConfig:
    engine = EngineConfig(threads=1)
    options = SearchConfig.model_construct()
    config = ShardConfig((str(model),), options, TextConfig(), engine, window=2)
    return replace(config, **changes)  # type: ignore[arg-type]


@dataclass
class Here:
    """Translates parts in this process, and records what it was asked for."""

    asked: list[str] = field(default_factory=list)
    change: Callable[[ShardPart], ShardPart] | None = None

    def __call__(
        self, jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings
    ) -> Generator[ShardPart, None, None]:
        translate = PartTranslator(config, settings)
        for job in jobs:
            self.asked.append(job.source.name)
            for part in read_parts(job, config):
                done = translate(part)
                yield self.change(done) if self.change else done


def translated(
    config: ShardConfig, source: Path, out: Path, here: Here | None = None
) -> TranslatedShards:
    translator = config.open()
    given = [str(source)]
    return translate_shards(translator, config, given, str(out), here or Here(), progress=Silent())


def expected(model: Path, path: Path) -> str:
    best = yakusu.translate(str(model), path, engine=EngineConfig(threads=1))
    return "".join(f"{each[0].text}\n" for each in best)


@pytest.mark.parametrize("window", [1, 2, 5, None])
def test_blocks_give_the_bytes_of_the_whole_file(
    model: Path, source: Path, tmp_path: Path, window: int | None
) -> None:
    out = tmp_path / "out"
    done = translated(config_of(model, window=window), source, out)
    assert (done.translated, done.skipped, done.texts) == (3, 0, 28)
    assert (out / "a.txt").read_text() == expected(model, source / "a.txt")
    assert gzip.decompress((out / "b.gz").read_bytes()).decode() == expected(model, source / "b.gz")
    assert (out / "c.txt").read_text() == expected(model, source / "c.txt")
    assert done.tally.spans == 3  # {ort}
    assert sorted(path.name for path in out.iterdir()) == [
        ".lock",
        RECEIPT,
        "a.txt",
        "b.gz",
        "c.txt",
    ]


def test_finished_shards_are_skipped_and_deleted_ones_translated_again(
    model: Path, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    translated(config_of(model), source, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "b.gz").unlink()
    (out / ".saving-1234").write_text("left by a process that was killed")
    here = Here()
    done = translated(config_of(model, window=3), source, out, here)
    assert (done.translated, done.skipped) == (1, 2)
    assert here.asked == ["b.gz"]
    after = {path.name: path.read_bytes() for path in out.iterdir() if path.name != RECEIPT}
    assert after.items() < before.items()


def test_with_n_best_a_line_is_a_list_of_the_best_translations(
    model: Path, source: Path, tmp_path: Path
) -> None:
    options = SearchConfig.model_construct(beam=3, n_best=3)
    translated(config_of(model, options=options), source, tmp_path / "out")
    best = list(yakusu.translate(str(model), source / "a.txt", SearchConfig(beam=3, n_best=3)))
    lines = (tmp_path / "out" / "a.txt").read_text().splitlines()
    assert [from_line(line, 3) for line in lines] == [[each.text for each in all_] for all_ in best]
    assert any(len(from_line(line, 3)) == 3 for line in lines)


@pytest.mark.parametrize("stop_at", [0, 1, 3, 8, 14])
def test_an_interrupted_run_leaves_whole_shards_and_is_resumed(
    model: Path, source: Path, tmp_path: Path, stop_at: int
) -> None:
    parts_seen = iter(range(100))

    def interrupt(part: ShardPart) -> ShardPart:
        if next(parts_seen) == stop_at:
            raise KeyboardInterrupt
        return part

    whole, out = tmp_path / "whole", tmp_path / "out"
    translated(config_of(model), source, whole)
    with pytest.raises(KeyboardInterrupt):
        translated(config_of(model), source, out, Here(change=interrupt))
    for path in out.iterdir():
        if path.name not in (".lock", RECEIPT):
            assert path.read_bytes() == (whole / path.name).read_bytes()
    translated(config_of(model), source, out)
    for name in ("a.txt", "b.gz", "c.txt"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\n", b'{"version": 1}\n{}\n', b"1\n1\n"])
def test_a_damaged_receipt_is_an_error(
    model: Path, source: Path, tmp_path: Path, content: bytes
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / RECEIPT).write_bytes(content)
    with pytest.raises(DataError, match=r"receipt.jsonl is not a valid receipt of translated"):
        translated(config_of(model), source, out)


@pytest.mark.parametrize("torn", ['{"name":"c.t', "\x00"])
def test_an_incomplete_last_line_of_the_receipt_is_not_read(
    model: Path, source: Path, tmp_path: Path, torn: str
) -> None:
    out = tmp_path / "out"
    translated(config_of(model), source, out)
    (out / "c.txt").unlink()
    *lines, _ = (out / RECEIPT).read_text().splitlines(keepends=True)
    (out / RECEIPT).write_text("".join([*lines, torn]))
    assert translated(config_of(model), source, out).skipped == 2
    names = [json.loads(line).get("name") for line in (out / RECEIPT).read_text().splitlines()]
    assert names == [None, "a.txt", "b.gz", "c.txt"]


def test_other_settings_do_not_mix_with_earlier_shards(
    model: Path, source: Path, tmp_path: Path
) -> None:
    out, glossary = tmp_path / "out", tmp_path / "glossary"
    glossary.write_text("Hund\tdog\n")
    translated(config_of(model), source, out)
    other = save(tmp_path / "other", untrained("bytes", beam=3))
    for config, difference in (
        (config_of(model, options=SearchConfig.model_construct(beam=1)), "search.beam: 2, now 1"),
        (config_of(model, text=TextConfig(glossary=str(glossary))), "the glossary differs"),
        (config_of(model, text=TextConfig(protect=("a",))), r'text.protect: \[\], now \["a"\]'),
        (config_of(model, engine=EngineConfig(precision="float32")), "engine: .*float32"),
        (config_of(model, errors="skip"), 'errors: "replace", now "skip"'),
        (config_of(other), "the model differs"),
    ):
        message = rf"out contains shards that were translated with other settings \({difference}"
        with pytest.raises(DataError, match=message):
            translated(config, source, out)
    for number_of_threads in (2, 3):  # has no influence
        engine = EngineConfig(threads=number_of_threads)
        assert translated(config_of(model, engine=engine, batch=7), source, out).skipped == 3


def test_a_model_with_another_receipt_is_the_same_model(
    model: Path, source: Path, tmp_path: Path
) -> None:
    out, documents = tmp_path / "out", {"receipt.json": "{}\n", "README.md": "# Averaged again\n"}
    translated(config_of(model), source, out)
    again = save(tmp_path / "again", untrained("bytes"), documents=documents)
    assert translated(config_of(again), source, out).skipped == 3


def test_a_source_that_has_changed_is_not_skipped(
    model: Path, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    translated(config_of(model), source, out)
    (source / "c.txt").write_text("Vier.\n")  # of the same size
    with pytest.raises(
        DataError, match=r"out/c.txt was translated from a file other than .*: delete"
    ):
        translated(config_of(model), source, out)
    (out / "c.txt").unlink()
    assert translated(config_of(model), source, out).translated == 1
    assert (out / "c.txt").read_text() == expected(model, source / "c.txt")


def test_a_source_that_changes_after_it_was_read_is_not_skipped(
    model: Path, source: Path, tmp_path: Path
) -> None:
    def change(part: ShardPart) -> ShardPart:
        if part.job.source.name == "c.txt" and part.end:
            (source / "c.txt").write_text("Vier.\n")
        return part

    translated(config_of(model), source, tmp_path / "out", Here(change=change))
    with pytest.raises(DataError, match=r"out/c.txt was translated from a file other than"):
        translated(config_of(model), source, tmp_path / "out")


def test_files_of_others_are_never_replaced(model: Path, source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "c.txt").write_text("mine")
    with pytest.raises(DataError, match=r"out/c.txt exists, but was not written by --ray: move it"):
        translated(config_of(model), source, tmp_path / "out")
    assert (tmp_path / "out" / "c.txt").read_text() == "mine"


def test_a_shard_that_cannot_be_read_does_not_stop_the_others(
    model: Path, source: Path, tmp_path: Path
) -> None:
    damaged = gzip.compress(TEXT.encode() * 100)[:-20]
    (source / "b.gz").write_bytes(damaged)
    done = translated(config_of(model), source, tmp_path / "out")
    (sentence,) = done.failed
    assert sentence.startswith(f"{source}/b.gz is not a valid gzip file after line ")
    assert done.translated == 2
    assert not (tmp_path / "out" / "b.gz").exists()
    (source / "b.gz").write_bytes(gzip.compress(TEXT.encode()))
    done = translated(config_of(model), source, tmp_path / "out")
    assert (done.translated, done.skipped) == (1, 2)


@pytest.mark.parametrize(
    ("errors", "line"), [("replace", "\ufffd\ufffd Hund\n"), ("skip", "\n"), ("strict", None)]
)
def test_lines_that_are_not_utf8_are_kept_and_counted(
    model: Path, tmp_path: Path, errors: str, line: str | None
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"Eins.\n\xff\xfe Hund\nZwei.\n")
    done = translated(config_of(model, errors=errors), path, tmp_path / "out")
    if line is None:
        (sentence,) = done.failed
        assert sentence.startswith(f"{path}, line 2, byte 1: 0xff is not UTF-8")
        return
    assert (done.texts, done.invalid) == (3, 1)
    same = tmp_path / "same.txt"
    same.write_text(f"Eins.\n{line}Zwei.\n")
    assert (tmp_path / "out" / "a.txt").read_text() == expected(model, same)


def test_a_part_that_was_lost_is_an_error_and_not_a_gap(
    model: Path, source: Path, tmp_path: Path
) -> None:
    class Losing(Here):
        def __call__(
            self, jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings
        ) -> Generator[ShardPart, None, None]:
            for part in super().__call__(jobs, config, settings):
                if part.block is None or part.block.start != 4:
                    yield part

    with pytest.raises(RunError, match=r"a part of .*/a.txt after line 4 was lost: rerun"):
        translated(config_of(model), source, tmp_path / "out", Losing())
    assert not (tmp_path / "out" / "a.txt").exists()


@pytest.mark.parametrize(
    "difference", [{"models": ("0" * 64,)}, {"glossary": "0" * 64}, {"yakusu": "0.1"}]
)
def test_a_worker_with_another_model_glossary_or_version_is_an_error(
    model: Path, source: Path, tmp_path: Path, difference: dict[str, object]
) -> None:
    class Elsewhere(Here):
        def __call__(
            self, jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings
        ) -> Generator[ShardPart, None, None]:
            return super().__call__(jobs, config, settings.model_copy(update=difference))

    message = r"model, the glossary, a memory or the version of yakusu was changed, or differs"
    with pytest.raises(RunError, match=message):
        translated(config_of(model), source, tmp_path / "out", Elsewhere())


def test_all_shards_are_translated_with_one_revision_of_a_memory(
    model: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of the memory is relative to the folder of the command, not to that of a worker."""
    monkeypatch.chdir(tmp_path)
    with TranslationMemory.open(Path("team.db"), ("de", "en"), writable=True) as memory:
        memory.add([MemorySegment("Kaffee, bitte!", "Coffee!")])
    text = TextConfig(memory="team.db", learning=False)

    def elsewhere(part: ShardPart) -> ShardPart:
        monkeypatch.chdir("/")
        with TranslationMemory.open(tmp_path / "team.db", writable=True) as memory:
            memory.confirm(MemorySegment("Kaffee, bitte!", "Tea!", time="2099"))
        return part

    translated(config_of(model, text=text), source, tmp_path / "out", Here(change=elsewhere))
    assert (tmp_path / "out" / "a.txt").read_text().count("\nCoffee!\n") == 2
    first = json.loads((tmp_path / "out" / RECEIPT).read_text().splitlines()[0])
    assert first["memories"] == {str(tmp_path / "team.db"): 1}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="memories"):
        translated(config_of(model, text=text), source, tmp_path / "out")


def test_two_runs_cannot_write_the_same_folder(model: Path, source: Path, tmp_path: Path) -> None:
    message = r"out is in use by another yakusu process: .* another folder with --out"
    with locked(tmp_path / "out"), pytest.raises(RunError, match=message):
        _in_another_process(model, source, tmp_path / "out")


def _in_another_process(model: Path, source: Path, out: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(translated, config_of(model), source, out).result()


def test_trees_are_refused(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("(S (NP (NN Hund)) (VP (VB lacht)))\n")
    done = translated(config_of(model), path, tmp_path / "out")
    assert done.failed == [f"{path} contains trees: translate it without --ray"]


def test_files_and_the_files_of_folders_are_planned(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "d.txt"
    other.touch()
    jobs = plan_shards([other, source], tmp_path / "out")
    assert [job.source for job in jobs] == [
        other,
        *(source / n for n in ("a.txt", "b.gz", "c.txt")),
    ]
    assert [job.out.name for job in jobs] == ["d.txt", "a.txt", "b.gz", "c.txt"]


def test_inputs_that_cannot_be_shards_are_refused(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "a.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    for sources, to, message in (
        ([tmp_path / "none"], out, "none does not exist: check the path"),
        ([tmp_path / "empty"], out, "empty contains no files: check the path"),
        ([tmp_path / "folder"], out, "is not a file: name the files, as in"),
        ([source, tmp_path / "a.txt"], out, "in/a.txt and .*/a.txt have the same name"),
        ([source], source, "in/a.txt is an input: choose another folder"),
        ([source], tmp_path / "a.txt", "a.txt is a file: name a folder for the output"),
        ([source], source / "x" / "out", "out is in the input .*/in: choose another folder"),
        ([source / ".hidden"], out, "in/.hidden is a hidden file: rename it"),
        (["-"], out, "translates files, not standard input"),
        (["/dev/null"], out, "is a pipe or a device"),
    ):
        with pytest.raises(DataError, match=message):
            plan_shards(sources, to)


def test_workers_do_not_repeat_the_warning_about_a_precision_that_torch_does_not_have(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_of(model, engine=EngineConfig(engine="torch", precision="int8"))
    translator = config.open()
    assert len(caplog.messages) == 1
    of_workers = config.for_workers(translator)
    again = of_workers.open()
    assert len(caplog.messages) == 1
    assert of_workers.settings(again) == config.settings(translator)
