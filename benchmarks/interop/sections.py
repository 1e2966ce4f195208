"""The page of interoperability."""

from collections.abc import Iterable
from typing import Any

from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record

TITLE = "Interoperability"
INTRODUCTION = """\
[Export](../../docs/export.md) and [import](../../docs/import.md) list the formats and what each of
them can hold. Here, models of all variants are written in each format and models of other toolkits
are read, and the libraries of the formats compute scores and translations with the same models."""


def formats(records: list[Record]) -> Iterable[Table]:
    """One table for each format of exports, and one for each format of imports."""
    for record in records:
        names = dict.fromkeys(row["format"] for row in record["rows"])
        cells = _exported if record["name"] == "exports" else _imported
        verb = "Export to" if record["name"] == "exports" else "Import from"
        for name in names:
            rows = [row for row in record["rows"] if row["format"] == name]
            head = [*_COMPARED, *_SIZES[record["name"]], _seconds(record)]
            yield Table(head, [cells(row) for row in rows], [record], f"{verb} {name}")


_COMPARED = ("Model", "Largest difference", "Identical, greedy", "Identical, beam 4")
_SIZES = {
    "exports": ("Model folder, kB", "Written, kB", "Same tensors after import"),
    "imports": ("Original, kB",),
}


def _seconds(record: Record) -> str:
    return f"Seconds, at a load of {fixed(record.load_before, 1)}"


def _exported(row: dict[str, Any]) -> list[str]:
    if "refused" in row:
        return [row["model"], _reason(row), *[NONE] * 6]
    same = f"{row['tensors'][0]} of {row['tensors'][1]}" if row["tensors"] else NONE
    sizes = [fixed(row[name] / 1000, 0) for name in ("model_bytes", "bytes")]
    return [*_compared(row), *sizes, same, fixed(row["seconds"], 1)]


def _imported(row: dict[str, Any]) -> list[str]:
    if "refused" in row:
        return [row["model"], _reason(row), *[NONE] * 4]
    return [*_compared(row), fixed(row["bytes"] / 1000, 0), fixed(row["seconds"], 1)]


def _compared(row: dict[str, Any]) -> list[str]:
    searches = [f"{row[name]['identical']} of {row['sentences']}" for name in ("greedy", "beam")]
    return [row["model"], f"{row['difference']:.1e}", *searches]


def _reason(row: dict[str, Any]) -> str:
    """What the format does not support, or the error, without what to do instead."""
    reason = row["refused"].partition(": ")[0]
    kind = "not supported" if reason.startswith("the format") else "error"
    return f"{kind}: {reason}"


def peers(records: list[Record]) -> Iterable[Table]:
    """The newest result of each peer."""
    head = ["Environment", "Libraries", "Passed", "Skipped", "Failed", "Seconds", "Load"]
    yield Table(head, [_peer(record) for record in records], records)


def _peer(record: Record) -> list[str]:
    if error := record.get("error"):
        return [record["name"], f"error: {error}", *[NONE] * 5]
    found = record["versions"]
    libraries = ", ".join(f"{name} {version}" for name, version in found.items())
    numbers = [str(record[name]) for name in ("passed", "skipped", "failed")]
    load = fixed(record.load_before, 1)
    return [record["name"], libraries, *numbers, fixed(record["seconds"], 0), load]


def adaptation(records: list[Record]) -> Iterable[Table]:
    """BLEU on captions and on the parent's test set, and the dev scores of each run."""
    rows = [[record["name"], _bleu(record["captions"]), _bleu(record["old"])] for record in records]
    yield Table(["Model", "BLEU, captions", "BLEU, Tatoeba"], rows, records)
    yield from _curves([record for record in records if record.get("curve")])


def transfer(records: list[Record]) -> Iterable[Table]:
    """The best dev score of each run, and BLEU on the test set of the chosen ones."""
    rows = [
        [
            record["name"],
            fixed(max(point["dev_bleu"] for point in record["curve"])),
            _bleu(record.get("test", NONE)),
        ]
        for record in records
    ]
    yield Table(["Model", "BLEU, dev set", "BLEU, test set"], rows, records)
    yield from _curves(records)


def directions(records: list[Record]) -> Iterable[Table]:
    """BLEU of each model on each test set."""
    tests = list(dict.fromkeys(name for record in records for name in record["scores"]))
    rows = [
        [record["name"], *(_bleu(record["scores"].get(name, NONE)) for name in tests)]
        for record in records
    ]
    yield Table(["Model", *tests], rows, records)
    yield from _curves(records)


def _curves(records: list[Record]) -> Iterable[Table]:
    """The dev scores of each run."""
    rows = [
        [
            record["name"],
            ", ".join(f"{p['step']}: {fixed(p['dev_bleu'], 1)}" for p in record["curve"]),
        ]
        for record in records
    ]
    yield Table(["Model", "BLEU on the dev set, by step"], rows, records, "Curves")


def _bleu(score: str) -> str:
    """The value of "BLEU = 30.12 (...)"."""
    return score.removeprefix("BLEU = ").partition(" ")[0]


SECTIONS = (
    Section(
        "formats",
        "Scores, translations and sizes",
        "Exported in float32, every model that a format can hold gives 100 of 100 identical "
        "translations, with greedy search and with beam 4. Imported models give 100 of 100 with "
        "greedy search, and at least 99 of 100 with beam 4. Values differ by at most 1.2e-05. With "
        "int8 weights, the trained model has 100 of 100, and those with random weights 19 to 76 "
        "with beam 4.",
        "python -m benchmarks.interop.formats --model demo=runs/demo-en-ja/model",
        formats,
        "Differences are those of all logits of given translations (Hugging Face, ONNX, Marian), "
        "or of the log-probability of each of their tokens (CTranslate2, Argos Translate). "
        "Of exports in float32, translations that are not identical are ties, whose probabilities "
        "are equal up to the tolerance of [the "
        "verification](../../docs/export.md#verification). Of exports to int8 and of imports, all "
        "that differ are counted.\n\n"
        "Exports: the models have random weights, two layers per stack, d_model 64 and 900 tokens, "
        "and differ from the paper's in what their names say; `demo` is the model of `make demo` "
        "before it had pre-norm. "
        "The seconds include the verification, and in the first row the start of the library; the "
        "load is the number of processes that used or awaited the two cores at the start. A "
        "tensor is the same after an import if all its numbers are; a compressed table counts as "
        "the matrix that it stands for. ONNX cannot be imported.\n\n"
        "Imports: the models have random weights, two layers per stack and d_model 32, in the form "
        "of Hugging Face; its padding gets no probability, because the imported model has none. "
        "The `.npz` form of the same weights is compared with `MarianMTModel`; the next section "
        "compares it with Marian itself. The models of CTranslate2 are "
        "made by its own converter, which needs one vocabulary and padding as its last token; "
        "`add_source_eos` is then set to true in `config.json`, because the converter leaves the "
        "end of a source to the tokenizer. The packages of Argos Translate contain the same "
        "models. The int8 models compute in float32 in both libraries. Where a beam search finds "
        "another translation, rounding chose between two candidates whose log-probabilities differ "
        "by less than 2e-5.",
    ),
    Section(
        "peers",
        "Tests with other libraries",
        "All tests pass with transformers 4.57.6 and 5.23.0, CTranslate2 4.8.5, onnxruntime "
        "1.32.0, Argos Translate 1.11.0 and Marian 1.12.42.",
        "python -m benchmarks.interop.peers",
        peers,
        "Each row is the newest run of those tests in `tests/export` that need the library, in an "
        "environment of its own; `make test-peers` does the same. Argos Translate installs a "
        "written package and translates offline. Marian translates 100 sentences with each of 11 "
        "models; the log-probabilities of the imported models differ from Marian's by less than "
        "5e-5, the tolerance of the test. For a twelfth, pre-norm model, only the first token is "
        "compared.",
    ),
    Section(
        "adaptation",
        "Further training",
        "1,000 captions raise BLEU on captions from 12.66 to 19.52, and lower it on Tatoeba from "
        "33.43 to 20.86; with pairs of Tatoeba mixed in, BLEU is 19.76 on captions and 32.54 on "
        "Tatoeba. From scratch, it is 13.89 on captions. With 29,000 captions and "
        "`training.lr_scale = 0.4`, further training reaches 36.20, and training from scratch "
        "34.66 in the same number of steps; the lower rate of the recipe `adapt` reaches 27.61 in "
        "fewer steps.",
        "python -m benchmarks.interop.adaptation --model runs/tatoeba-tiny/model --runs runs",
        adaptation,
        "The parent has 3 layers per stack and d_model 128, and was trained on 161,704 "
        "English-German pairs of Tatoeba (`recipes/tatoeba-tiny.toml`, stopped at step 2,000). "
        "Captions are from Multi30k: the first pairs of its training set, test2016 for the scores "
        "and the dev set for the curves. `mixed`: half of the training pairs of an epoch are from "
        "Tatoeba. `from scratch`: the same sizes, with a vocabulary learned from the captions. "
        "Scores are case-sensitive.",
    ),
    Section(
        "transfer",
        "A new language pair",
        "With 5,000 sentence pairs, an English-Japanese model reaches 22.78 BLEU on its dev set "
        "and 20.01 on its test set if it starts from an English-German model, and 20.64 and 19.54 "
        "from random weights.",
        "python -m benchmarks.interop.transfer --model runs/tatoeba-tiny/model --runs runs",
        transfer,
        "English-Japanese models are trained on the first 5,000 pairs of small_parallel_enja, from "
        "random weights (`from scratch`) and from the English-German parent of the previous "
        "section (`from the parent`). Both learn a vocabulary of 3,000 pieces from these pairs; "
        "pieces that the parent has keep their vectors. Each system is trained with two values of "
        "`training.lr_scale` (`rate`); the one with the better dev score is scored on the test "
        "set.",
    ),
    Section(
        "directions",
        "Several languages in one model",
        "German is as good as with a model of its own (35.59 on test2016, and 27.21 compared with "
        "26.84 on test2017), French is worse (51.43 compared with 53.04, and 43.55 compared with "
        "45.27).",
        "python -m benchmarks.interop.directions --runs runs",
        directions,
        "One model for English-German and English-French is compared with one model for each pair. "
        "Each pair has the 29,000 training captions of Multi30k "
        "(`recipes/multi30k-de-fr.toml`: 3 layers per stack, d_model 128, 8,000 pieces). Each "
        "model of one pair is trained for half as many steps, so that both together take as many "
        "steps as the model of both. BLEU is case-sensitive.",
    ),
)
