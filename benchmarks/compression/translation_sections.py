"""The section of compressed translators on the page of compression."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.pages import NONE, Section, Table, fixed, scores
from benchmarks.records import Record

_SAME = {"auto": "int8", "int8": "int8", "float32": "float32"}  # precision of compressed models


def translation(records: list[Record]) -> Iterable[Table]:
    """Table 3: what each size costs, and the sizes that are chosen, two tables per translator.

    Older records have one size per method, translated by torch.
    """
    for record in records:
        if record.get("choices") is None:
            yield _in_torch(record)
        else:
            yield _choices(record)
            yield _sizes(record)


def _choices(record: Record) -> Table:
    head = ["Tables", "Method", "Size", "Table ratio", "BLEU before", "BLEU after"]
    head += ["Difference", "95% interval"]
    before = fixed(_bleu(record["test"]))
    rows = []
    for choice in record["choices"]:
        value, low, high = (choice["difference"][key] for key in ("value", "low", "high"))
        row = [choice["side"], choice["method"], choice["size"], fixed(choice["ratio"], 1), before]
        row += [fixed(_bleu(choice["test"])), f"{value:+.2f}", f"{low:+.2f} to {high:+.2f}"]
        rows.append(row)
    sentences = f"{record['sentences']['test']:,} sentences"
    title = f"{record['name']}: largest ratio within {record['loss']} BLEU on the development set"
    return Table(head, rows, [record], f"{title}; test set, {sentences}")


def _sizes(record: Record) -> Table:
    head = ["Tables", "Method", "Size", "Table ratio", "Model, MB", "Memory, MiB"]
    same = _SAME[record["precision"]]
    head += ["Tokens per second", f"Speed-up over uncompressed, {same}", "Dev BLEU"]
    references = [
        [NONE, name, NONE, NONE, *_costs(point)] for name, point in record["references"].items()
    ]
    base = record["references"][f"uncompressed, {same}"]["tokens_per_second"]
    for row, point in zip(references, record["references"].values(), strict=True):
        row[-2] = fixed(point["tokens_per_second"] / base)
    rows = [
        [point["side"], point["method"], point["size"], fixed(point["ratio"], 1), *_costs(point)]
        for point in record["points"]
    ]
    sentences = f"development set, {record['sentences']['dev']:,} sentences"
    return Table(head, [*references, *rows], [record], f"{record['name']}: {sentences}")


def _costs(point: Mapping[str, Any]) -> list[str]:
    return [
        fixed(point["model_bytes"] / 1e6),
        fixed(point["memory"] / 2**20, 1),
        fixed(point["tokens_per_second"], 0),
        fixed(point["times as fast"]["value"]),
        fixed(_bleu(point["dev"])),
    ]


def _bleu(text: str) -> float:
    return scores(text)["BLEU"]


def _in_torch(record: Record) -> Table:
    head = ["Table", "Method", "Ratio", "Size", "BLEU before", "BLEU after"]
    before = fixed(_bleu(record["score"]))
    rows = []
    for key, found in record["table 3"].items():
        side, method = key.split(", ", 1)
        ours = found["ours"]
        own = [NONE, NONE, before, NONE]
        if ours:
            own = [fixed(ours["ratio"], 1), ours["size"], before, fixed(ours["bleu"])]
        rows.append([side, method.replace("whole numbers", "integers"), *own])
    return Table(head, rows, [record], f"{record['name']}: translated and chosen with torch")


SECTIONS = (
    Section(
        "embedding_translation",
        "Table 3 and Figure 2: translation against the ratio",
        "With sizes chosen on the development set, integers make all tables of the Tatoeba models "
        "9.8 and 10.2 times smaller, for 0.32 and 0.49 BLEU on the test set, and the models 6.38 "
        "instead of 13.74 MB and 7.15 instead of 21.93 MB; the paper's codes reach 5.0 and 5.2. "
        "With the 6,000 pieces of Multi30k, integers reach 8.7, for 0.67 BLEU, and codes 4.5, for "
        "0.29.",
        "python -m benchmarks.compression.embedding_translation --model runs/multi30k/model --name "
        "'Multi30k en-de' --lowercase",
        translation,
        "The CPU engine translates, in 8-bit integers unless a row says float32; torch translated "
        "for the older records of Multi30k test2016, whose sizes were chosen on the test set. The "
        "newer model of Multi30k was trained with the recipe multi30k in bf16. The Tatoeba models "
        "have 3 layers and d_model 128 (recipe tatoeba-tiny with 16,000 and 32,000 pieces, bf16), "
        "and were measured at the same time, with one thread each. Translations of a model that "
        "has lost much are of other lengths, which changes its speed. A size is chosen on the "
        "development set: the largest ratio that loses at most 0.5 BLEU compared with the "
        "uncompressed model in float32, if no smaller ratio loses more. The interval is that of "
        'the difference, by paired bootstrap resampling (1,000 samples). "128 exact" keeps the '
        "vectors of the 128 most frequent tokens as floats. A model grows if only one side of "
        "tied tables is compressed, because the other side keeps the dense table. The paper "
        "(Transformer, WMT16 en-de, embeddings eight times as wide, by its numbers of parameters) "
        "reports 26.9 for the encoder and 27.0 for the decoder at a ratio of 13, and 27.3 before.",
        (
            (
                "embedding_translation-tatoeba-en-de-16-000-pieces.png",
                "BLEU against the ratio, Tatoeba, 16,000 pieces",
            ),
            (
                "embedding_translation-tatoeba-en-de-32-000-pieces.png",
                "BLEU against the ratio, Tatoeba, 32,000 pieces",
            ),
            (
                "embedding_translation-multi30k-en-de.png",
                "BLEU against the ratio, Multi30k, 6,000 pieces",
            ),
            (
                "embedding_translation-multi30k-en-de-test2016.png",
                "BLEU against the ratio, Transformer",
            ),
            (
                "embedding_translation-multi30k-en-de-lstm-test2016.png",
                "BLEU against the ratio, LSTM",
            ),
        ),
    ),
)
