"""The page of reliability."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record

TITLE = "Reliability"
INTRODUCTION = """\
[Reliability](../../docs/reliability.md) lists what a training run promises and the test of each
promise. These benchmarks check more thoroughly than the tests that killed runs can be resumed, that
[scoring](../../docs/score.md) and search compute the same probabilities, that translations do not
depend on their batch, that [documents](../../docs/documents.md) lose nothing, and which parts of a
line that is hard to translate are kept."""

HARD_LINES = {  # check -> column
    "spans": "Spans kept",
    "numbers": "Numbers kept",
    "tags": "Tags nested",
    "sentences": "Same number of sentences",
    "layout": "Same layout",
    "unknown": "Unknown tokens",
    "loops": "Loops",
    "empty": "Empty outputs",
}


def kills(records: list[Record]) -> Iterable[Table]:
    """Kills by number of processes, and by system call."""
    rows = []
    for record in records:
        random = [kill for kill in record["kills"] if kill["at"].endswith(" s")]
        same = sum(kill["same"] for kill in record["kills"])
        rows.append(
            [
                record["name"].rsplit(", ", 1)[1],
                str(len(random)),
                str(len(record["kills"]) - len(random)),
                f"{same} of {len(record['kills'])}",
            ]
        )
    head = ["Run", "Kills at random moments", "Kills in system calls of two saves", "Same bytes"]
    yield Table(head, rows, records)
    calls = [
        Counter(kill["at"] for kill in record["kills"] if not kill["at"].endswith(" s"))
        for record in records
    ]
    names = [record["name"].rsplit(", ", 1)[1] for record in records]
    rows = [
        [f"`{call}`", *(str(counts[call]) for counts in calls)]
        for call in sorted(set().union(*calls))
    ]
    yield Table(["System call", *names], rows, records, "Kills by system call")


def scoring(records: list[Record]) -> Iterable[Table]:
    """Differences between the log-probabilities of scoring and those of search."""
    rows = [
        [
            f"{record['model']}, {record['name']}",
            fixed(record["sentences"], 0),
            *(f"{record['log_prob'][key]:.1e}" for key in ("largest", "median")),
            *(f"{record['score'][key]:.1e}" for key in ("largest", "median")),
            fixed(record["split_otherwise"], 0),
            fixed(record["search_us_per_token"], 0),
            fixed(record["scoring_us_per_token"], 0),
        ]
        for record in records
    ]
    head = ["Model and sentences", "Translations"]
    head += ["log P(Y given X), largest difference", "Median", "Score, largest difference"]
    head += ["Median", "Split into other tokens", "Search, us per token", "Scoring, us per token"]
    yield Table(head, rows, records)


def batches(records: list[Record]) -> Iterable[Table]:
    """The differences of each architecture, and the speed."""
    record = records[-1]
    rows = [
        [row["name"], str(row["lengths"]), ", ".join(map(str, row["different"])) or "none"]
        for row in record["models"]
    ]
    yield Table(["Model", "Lengths, 1 to 1,024 tokens", "Different results"], rows, [record])
    rows = [
        [batch, *(fixed(rates[name]) for name in ("this version", "baseline", "ratio"))]
        for batch, rates in record["speed"].items()
    ]
    head = ["Sentences per batch", "Tokens per second", "Previous version", "Ratio"]
    yield Table(head, rows, [record], "Speed")


def documents(records: list[Record]) -> Iterable[Table]:
    """What changes when documents are read and written."""
    rows = [
        [
            record["format"],
            f"{record['where']}, `{record['pattern'].removeprefix('**/')}`",
            fixed(record["files"], 0),
            fixed(record["texts"], 0),
            fixed(record["same"], 0),
            fixed(record["read_again"], 0),
            fixed(record["refused"], 0),
        ]
        for record in records
    ]
    head = ["Format", "Files of", "Files", "Texts", "Same bytes", "Same texts", "Refused"]
    yield Table(head, rows, records)


def hard_lines(records: list[Record]) -> Iterable[Table]:
    """What translations of hard lines keep, without and with protection, for each model."""
    for record in records:
        rows = [
            [category, *(_before_and_after(record, category, name) for name in HARD_LINES)]
            for category in record["counts"]["with"]
        ]
        yield Table(["Category", *HARD_LINES.values()], rows, [record], record["name"])


def _before_and_after(record: Record, category: str, name: str) -> str:
    """A share of what could be kept in percent, or a number of faults, in both modes."""
    cells = []
    for mode in ("without", "with"):
        found, of = record["counts"][mode][category].get(name, (0, 0))
        is_share = name in ("spans", "numbers", "tags", "sentences", "layout")
        cells.append(f"{100 * found / of:.0f} %" if is_share and of else str(found))
    return NONE if is_share and not of else ", ".join(cells)


def special_tokens(records: list[Record]) -> Iterable[Table]:
    """Tokens per sentence of each vocabulary."""
    names = ("neither", "placeholders", "bytes", "bytes and placeholders")
    rows = [
        [record["name"], *(fixed(record["tokens"][name], 2) for name in names)]
        for record in records
    ]
    yield Table(["Vocabulary", *(name.capitalize() for name in names)], rows, records)


def glossary(records: list[Record]) -> Iterable[Table]:
    """Terms and BLEU with and without a glossary."""
    rows = [
        [
            record["name"],
            fixed(record["terms"], 0),
            fixed(record["occurrences"], 0),
            *(f"{record[side]['honoured']:.1%}" for side in ("without", "with")),
            *(fixed(record[side]["bleu"], 2) for side in ("without", "with")),
        ]
        for record in records
    ]
    head = ["Sentences", "Terms", "Occurrences", "Honoured without", "Honoured with"]
    yield Table([*head, "BLEU without", "BLEU with"], rows, records)


def _in_order(record: Record) -> tuple[Any, ...]:
    return record["changes"], record["target"], record["demo_seed"]


def _of_new(record: Record) -> str:
    n = record.get("new_with_digits")
    return f"{record['new_right']:,} of {n:,}" if n else NONE


def digits(records: list[Record]) -> Iterable[Table]:
    """Share of sentences with the right digits, by settings, target language and seed."""
    rows = [
        [
            ", ".join(f"`{change}`" for change in record["changes"]) or NONE,
            record["target"],
            str(record["demo_seed"]),
            f"{record['right']} of {record['with_digits']}",
            f"{record['further_right']:,} of {record['further_with_digits']:,}",
            f"{record['further_right'] / record['further_with_digits']:.1%}",
            _of_new(record),
            fixed(record["bleu"]),
            str(record.machine.threads),
            fixed(record["training_seconds"] / 60, 1),
        ]
        for record in sorted(records, key=_in_order)
        if record.get("further_right")
    ]
    head = [
        "Settings",
        "Target",
        "Seed",
        "Digits right, test set",
        "Other test sets",
        "Share",
        "Of which with new numbers",
        "BLEU",
        "Threads",
        "Minutes",
    ]
    yield Table(head, rows, records)


SECTIONS = (
    Section(
        "digits",
        "Digits in the demo's translations",
        "With every target language and seed, the digits are right in at least 142 of the 144 test "
        "sentences that contain digits, in 99.2% to 99.9% of 1,193 sentences of other test sets, "
        "and in at least 918 of the 927 whose numbers no training sentence has in the same order.",
        "python -m benchmarks.reliability.digits --runs runs/digits",
        digits,
        "No date, time, number, price or measure of the 200 test sentences, and of the other test "
        "sets, occurs in a training sentence, but parts of them do, such as the 7 of 7 April. The "
        "digits of a translation are right if they are those of the reference, in the same order. "
        "The 56 test sentences without digits have none in any translation, so at least 198 of 200 "
        "are right. The other test sets are those of ten "
        "phrasebooks with other seeds; the number of pairs, the moving average and other settings "
        "were chosen with some of their sentences (docs/decisions/0047). Minutes are those of "
        "training: with one thread, while two or three other runs used the two cores; with two "
        "threads, on an otherwise idle machine.",
    ),
    Section(
        "kills",
        "Runs that are killed and resumed",
        "After resuming, every killed run ends with the bytes of an uninterrupted run: 109 of 109 "
        "with one process and with two, wherever they were killed.",
        "python -m benchmarks.reliability.kills --kills 50",
        kills,
        "A run is killed (SIGKILL) at a random moment, or by strace on entry to each system "
        "call of a checkpoint and of the replacement of a model, and resumed by the same "
        "command. The model, its vocabulary, settings and card, and the last weights and "
        "moments are compared.",
    ),
    Section(
        "scoring",
        "Scores of the search's own translations",
        "Scoring gives the log-probabilities that the search computed: they differ by at most "
        "8.4e-06 nats on 1,014 translations. It is about five times as fast.",
        "python -m benchmarks.reliability.scoring --model runs/multi30k/model",
        scoring,
        "The best translations with beam 4 are scored with the tokens that the search chose. "
        '"Split into other tokens" counts the translations whose text the tokenizer splits into '
        "other tokens than the search chose.",
    ),
    Section(
        "batches",
        "Translations do not depend on their batch",
        "No result of any architecture depends on the batch, for sentences of 1 to 1,024 tokens. "
        "The search is slower than before, at 0.74 of the speed in batches of 64 and 0.76 one "
        "sentence at a time: a part of this is the wider search.",
        "python -m benchmarks.reliability.batches --speed-of runs/multi30k/model --src "
        "multi30k/val.en --baseline PREVIOUS/src",
        batches,
        "Sentences are translated by torch with beam 4: alone, together with one other sentence, "
        "and all in one batch, in two orders. Their hypotheses and scores are compared bit by "
        "bit.",
    ),
    Section(
        "documents",
        "Documents keep everything that is not text",
        "All files are written with the same bytes. All texts that were written are read again, up "
        "to 88,795 texts per row, except one in a JSON file: a formula for plural forms, which "
        "looks like code once its words are in reverse order.",
        "python -m benchmarks.reliability.documents --folders /usr/share/doc/nodejs",
        documents,
        '"Same bytes": the file, written with its own texts, has the same bytes. "Same texts": the '
        "file, written with the words of each text in reverse order, has these texts when it is "
        "read again. PO and XLIFF files contain translations next to their sources: the file, "
        "written twice with reversed words, has the same bytes both times, and the same sources. "
        '"Refused": not a valid file; the error names the place.',
    ),
    Section(
        "hard_lines",
        "Lines that are hard to translate",
        "The 200 lines hold placeholders, tags, several sentences, emoji, other scripts, code, "
        "addresses, numbers, capitals and lists, or are very long.",
        "python -m benchmarks.reliability.hard_lines --model multi30k=runs/multi30k/model",
        hard_lines,
        "Two values are given, without and with protection. Without: each of the 200 lines is one "
        "sentence for the model, truncated to its maximum length. With: `Translator.translate`. "
        '"Spans kept": protected spans, and characters that training has not seen, that the output '
        'has as often as the input. "Numbers kept": other numbers, without their separators. "Tags '
        'nested": lines with tags whose output has the same tags, and no others without a partner. '
        '"Same layout": the same line breaks, indentation, bullets and code blocks. "Loops": '
        "outputs that repeat words more than three times in a row, where the input does not. The "
        "record lists each output with protection that fails a check.",
    ),
    Section(
        "special_tokens",
        "Tokens per sentence with bytes and placeholder tokens",
        "In a vocabulary of 1,500 tokens, bytes and placeholder tokens take sentences from 20.77 "
        "to 21.69 tokens.",
        "python -m benchmarks.reliability.special_tokens",
        special_tokens,
        "Vocabularies of English and German are learned from the training set and applied to both "
        "sides of the dev set.",
    ),
    Section(
        "glossary",
        "Terms of a glossary",
        "The translations of up to 2,000 sentences contain every target term.",
        "python -m benchmarks.reliability.glossary --model runs/en-de/model",
        glossary,
        "Terms are words of the sources that occur in at most three of at most 2,000 sentences, "
        "and the words of the references that the attention of the model links them to. The higher "
        "BLEU is therefore expected, and does not show that the translations are better. The first "
        "row has 300 sentences, the second 2,000.",
    ),
)
