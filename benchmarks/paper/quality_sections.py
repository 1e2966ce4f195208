"""The sections on translation quality and on the gains of training techniques."""

from collections.abc import Iterable

from benchmarks.pages import Section, Table, fixed, scores
from benchmarks.records import Record

TESTED = "test sets"  # the record of the scores on the test sets
FIRST = "6,000 steps, 10 checkpoints averaged"  # the row that the others are compared with


def translators(records: list[Record]) -> Iterable[Table]:
    """The scores of finished runs."""
    rows = []
    for record in records:
        found, last = scores("; ".join(record["scores"])), record["curve"][-1]
        numbers = [fixed(found[name]) for name in ("BLEU", "chrF2", "TER")]
        run = [fixed(last["step"], 0), fixed(last["minutes"], 0), fixed(last["dev_bleu"])]
        rows.append([record["name"], *numbers, *run, record["paper"]])
    head = ["Test set", "BLEU", "chrF2", "TER", "Steps", "Minutes", "Dev BLEU at the end"]
    yield Table([*head, "Published BLEU"], rows, records)


def corpora(records: list[Record]) -> Iterable[Table]:
    """The results on each corpus with the recipe that is chosen for its size."""
    rows = [
        [
            record["name"],
            fixed(record["pairs"], 0),
            f"`{record['chosen']}`",
            fixed(record["steps"], 0),
            fixed(record["minutes"], 0),
            fixed(scores(record["dev_score"]).get("BLEU")),
            fixed(scores(record["score"]).get("BLEU")),
            ", ".join(record["settings"]),
        ]
        for record in records
    ]
    sizes = ["Corpus", "Pairs", "Recipe", "Steps", "Minutes"]
    yield Table([*sizes, "Dev BLEU", "Test BLEU", "Other settings"], rows, records)


def techniques(records: list[Record]) -> Iterable[Table]:
    """What each technique gains, and its cost: one table for each run of the first row."""
    groups: dict[float | None, dict[str, Record]] = {}
    for record in records:
        groups.setdefault(record.get("first_bleu"), {})[record["name"]] = record
    tested = groups.get(None, {}).pop(TESTED, None)
    yield from map(_gains, filter(None, groups.values()))
    if tested:
        found = [fixed(scores(each)["BLEU"]) for each in tested["tests"].values()]
        row = [tested["model"], *found]
        yield Table(["Model", *tested["tests"]], [row], [tested], title="Test sets, BLEU")


def _gains(by_name: dict[str, Record]) -> Table:
    """The rows that are compared with the same run of the first row."""
    first = by_name.get(FIRST)
    flops = first["flops"] if first else None
    rows = [
        [
            record["name"],
            fixed(record["dev_bleu"]),
            f"{record['gain'][0]:+.2f}",
            "{:+.2f} to {:+.2f}".format(*record["gain"][1:]),
            record.get("device") or record.machine.cpu,
            fixed(record["minutes"], 0),
            fixed(record["flops"] / flops if flops else None),
        ]
        for record in by_name.values()
    ]
    head = ["Model", "Dev BLEU", "Gain", "95% interval", "Trained on", "Minutes"]
    title = f"Compared with the run of {fixed(first['dev_bleu'])} BLEU" if first else ""
    return Table([*head, "FLOPs of training, relative"], rows, [*by_name.values()], title)


def students(records: list[Record]) -> Iterable[Table]:
    """BLEU and speed of students: a table for each set and model they are compared with."""
    head = ["Model", "Beam", "Parameters", "BLEU", "Difference, 95% interval"]
    head += ["Sentences per second", "Relative speed"]
    groups: dict[tuple[str | None, str | None], list[Record]] = {}
    for record in records:
        key = record.get("compared_with"), record.get("test_set")
        groups.setdefault(key, []).append(record)
    for (name, test_set), same in groups.items():
        title = f"Compared with the {name}" if name else "A student with d_model 128"
        title += f", {test_set}" if test_set else ""
        yield Table(head, [_student(record) for record in same], same, title)


def _student(record: Record) -> list[str]:
    return [
        record["name"],
        str(record["beam"]),
        fixed(record["parameters"], 0),
        fixed(scores(record["score"])["BLEU"]),
        "{:+.2f}, {:+.2f} to {:+.2f}".format(*record["difference"]),
        fixed(record["sentences_per_second"], 1),
        fixed(record["ratio"]["value"]),
    ]


def rivals(records: list[Record]) -> Iterable[Table]:
    """The scores of yakusu and JoeyNMT."""
    rows = [
        [
            record["name"],
            fixed(record["parameters"], 0),
            fixed(record["epochs"], 0),
            fixed(record["steps"], 0),
            fixed(record["minutes"], 0),
            *(fixed(scores(record.get(part, "")).get("BLEU")) for part in ("dev", "test")),
        ]
        for record in records
    ]
    sizes = ["Parameters", "Epochs", "Steps", "Minutes"]
    yield Table(["System", *sizes, "Dev BLEU", "Test BLEU"], rows, records)


SECTIONS = (
    Section(
        "translation_quality",
        "Translation quality of finished runs",
        "A small Transformer reaches 39.66 BLEU on Multi30k, compared with a published 41.02 for a "
        "model of this size on tokenised text, and 38.63 and 38.08 BLEU on small_parallel_enja. On "
        "koen (Korean-English), it reaches only 2.93 and 2.15.",
        "python -m benchmarks.paper.translation_quality --runs runs",
        translators,
        "The recipes are in [recipes](../recipes). The published 41.02 is the text-only "
        "Transformer-Tiny of Wu et al. 2021 (arXiv:2105.14462). The models of small_parallel_enja "
        "and koen were trained in bfloat16 on one core (`--set training.engine=native "
        "training.precision=bf16 --threads 1`), that of Multi30k in float32 on two, with two "
        "batches per step. The test sets of small_parallel_enja and koen were translated once by "
        "these models, after their recipes were fixed; the recipes of koen were not tuned. Three "
        "quarters of the training pairs of koen are Bible verses, and its development and test "
        "sentences come from another corpus. Dev BLEU at the end is that of the last checkpoint. "
        "The model that is tested is the average of the last checkpoints; for koen, it is the best "
        "single checkpoint, whose dev BLEU is higher than that of the average: 2.99 (ko-en) and "
        "2.94 (en-ko).",
    ),
    Section(
        "corpora",
        "Results with the recipe that is chosen for each corpus",
        "With `tiny` and the first 5,000 pairs of small_parallel_enja, English-Japanese, test BLEU "
        "is 20.68; with 8,627 pairs of TED talks, German-English, 11.79; with 11,020 pairs of "
        "English-German news, only 2.36. With `small`, it is 39.32 on Multi30k, English-German, "
        "59.99 on Multi30k, English-French, and 22.45 on the Bible, English-German. The other "
        "corpora have not been measured yet.",
        "python -m benchmarks.paper.corpora --runs runs/corpora --set training.engine=native "
        "training.precision=bf16",
        corpora,
        "`yakusu train` chooses the recipe by the number of pairs. Minutes are those of training "
        "with one thread, while other programs used the machine, or on a GPU with up to eighteen "
        "other training runs; those of the news corpora, IWSLT and the Bible include "
        "interruptions. Training on the Bible was ended at half of the steps of `small`, for lack "
        "of time. The models of Multi30k were trained on the GPU, without the settings of the "
        "command above. Each model translates its test set once. Values of `tiny` and `small` "
        "come from earlier runs on small_parallel_enja and Multi30k, so these corpora are not "
        "independent of the recipes. The text of small_parallel_enja and IWSLT 2014 is already "
        "tokenised: their test BLEU is computed without a tokenizer, and their dev BLEU with "
        "sacreBLEU's tokenizer for the language.",
    ),
    Section(
        "techniques",
        "Better translators from the same text",
        "Five runs of the first row have 39.74 to 41.08 dev BLEU. Twice the width has 41.70, and "
        "distilled from two models 42.41; with a length penalty of 1.4 and a beam of 8, it has "
        "42.69, and 41.47 on test2016. A length penalty of 1.4 instead of 0.6 raises dev BLEU by "
        "0.58; with a beam of 8 instead of 4 as well, by 0.70. An ensemble of three seeds has "
        "41.48, and one of two models with different settings 41.27. Twice the steps, smaller "
        "steps at a higher rate, a model distilled from the ensemble of two and a moving average "
        "have intervals that include 0. A fast student of twice the width has 41.11 with greedy "
        "search. At 6,000 steps, dropout of attention weights (39.33), "
        "BPE-dropout (38.02) and R-Drop (38.03) are worse than each of the five runs.",
        "python -m benchmarks.paper.techniques --runs runs/techniques --set training.engine=native "
        "training.precision=bf16",
        techniques,
        "Multi30k English-German, development set, lower-cased. A gain is the difference in BLEU "
        "from the first row of the same table, with its interval by paired bootstrap resampling "
        "over sentences, which does not include the spread between runs. The first row of the "
        "first table is the best of its three seeds. Those of the second and the third table have "
        "the same seed and settings, but were trained with later versions on other machines. Six "
        "models of the second table were trained on a GPU and are compared with its first row, "
        "which was trained on a CPU, so their gains include any effect of the machine. The "
        "records of the GPU were made by a script that is not part of the repository: it runs "
        "several rows at once and does not record the load. Records of commit 37208d8+ used code "
        "that was committed later, as c39f413. The search settings were chosen on the same set, so "
        "their gains are probably too high. Minutes are those of training with one thread, while "
        "other programs used the machine: on the GPU, up to eighteen other training runs. Minutes "
        "and FLOPs do not include those of teachers, of the reverse model or of translating the "
        "training text. The "
        "test sets were translated once, by the model with the highest dev BLEU.",
        (("techniques.png", "Dev BLEU of each technique, with the interval of its gain"),),
    ),
    Section(
        "fast_student",
        "A fast student",
        "A student with 6 encoder layers, 2 decoder layers and d_model 256 is 5.17 times as fast "
        "as the ensemble of two that it was distilled from, with 0.16 BLEU less (-1.04 to +0.70); "
        "with a beam of 2, it is 3.61 times as fast, with 0.30 BLEU more (-0.50 to +1.11). "
        "Compared with one of the two teachers, greedy search has 0.80 BLEU more (-0.16 to +1.71) "
        "at 1.26 times the speed. A student with d_model 128 is faster, but 1.34 BLEU worse than "
        "that teacher.",
        "python -m benchmarks.paper.fast_student --model runs/first/model --ensemble "
        "runs/second/model --student runs/student/model --beams 2 --rounds 7",
        students,
        "Multi30k English-German, development set, lower-cased; native engine in float32 with one "
        "thread. The model is the first row of the second table in the section above. The ensemble "
        "consists of it and of the model with smaller steps; both students were distilled from its "
        "translations, found with a beam of 8 and a length penalty of 1.4. Models have "
        "a beam of 4, students 1, unless the row says otherwise. The student with d_model 128 was "
        "measured in an earlier run, which has a table of its own. The beam of 2 was tried on the "
        "same set, among beams of 1 to 4.",
    ),
    Section(
        "joeynmt",
        "Tatoeba English-German, compared with JoeyNMT",
        "After 5 epochs of each, yakusu has 38.41 dev BLEU and JoeyNMT 28.31. JoeyNMT's recipe is "
        "made for longer training (its published model was trained for up to 100 epochs), so this "
        "compares two recipes after short training, not what they reach in the end.",
        "python -m benchmarks.paper.joeynmt --runs runs/joeynmt --peer-python PYTHON",
        rivals,
        "Both systems are trained on the same pairs for the same number of epochs and search with "
        "a beam of 5. JoeyNMT counts padding as tokens, so its steps of 4,096 tokens have fewer "
        "real tokens than yakusu's steps of 4,000, and an epoch has more of them. The other "
        "settings are those of their recipes, except that JoeyNMT's text is not lower-cased and "
        "is segmented by SentencePiece, that its learning rate has no minimum, and that yakusu is "
        "validated more often. JoeyNMT's score is that of its best checkpoint, at step 4,000. The "
        "test set has not been translated. Both were trained on a GPU, JoeyNMT in float32 and "
        "yakusu in bfloat16, which are their defaults. Minutes were measured with up to eighteen "
        "other training runs on that GPU; those of JoeyNMT include starting a process and loading "
        "the data for each epoch, but not learning the vocabulary.",
    ),
)
