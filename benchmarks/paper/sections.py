"""The page of the tables of "Attention Is All You Need"."""

import statistics
from collections.abc import Iterable

from benchmarks.pages import NONE, Section, Table, fixed, scores
from benchmarks.paper import parsing_sections, quality_sections
from benchmarks.paper.table2_rows import NOT_REPRODUCED
from benchmarks.paper.table2_sections import lengths, systems
from benchmarks.paper.table3_rows import (
    NOISE,
    ROWS,
    Base,
    best,
    comparable,
    row_of,
    trained_as,
    verdict,
)
from benchmarks.records import Record

TITLE = 'The tables of "Attention Is All You Need"'
INTRODUCTION = """\
Each table is repeated on corpora that fit a CPU. Compare the scores with each other, not with the
paper's, which are from WMT 2014. Training runs are kept under `--runs`; rerun the same command to
resume."""


def layers(records: list[Record]) -> Iterable[Table]:
    """Table 1."""
    rows = []
    for record in records:
        paper = record["paper"].partition(";")[0].split(", ")
        stated = [each.split(" ", 1)[-1] if each[0] != "O" else each for each in paper]
        stated = stated if len(stated) == 3 else [NONE] * 3
        exponents, last = record["exponents"], record["dependence"][-1]
        flops = " ".join(f"{size}^{found['flops']:.2f}" for size, found in exponents.items())
        own = [flops, *(fixed(exponents["n"][cost]) for cost in ("seconds", "bytes"))]
        chain = [str(last["chain"]), str(last["layers"] or "never")]
        rows.append([record["name"], *stated, *own, *chain])
    head = ["Layer", "Complexity", "Sequential operations", "Maximum path length"]
    head += ["FLOPs grow with", "Time, exponent of n", "Memory, exponent of n"]
    head += ["Longest chain, n = 64", "Layers to connect the ends, n = 64"]
    yield Table(head, rows, records)


def costs(records: list[Record]) -> Iterable[Table]:
    """The training cost of Table 2."""
    rows = []
    for record in records:
        paper = float(record["paper"].split()[0]) if record.get("paper") else None
        share = f"{record['counted'] / paper:.0%}" if paper else NONE
        hours = record.get("hours on 8 P100, at least")
        rows.append(
            [
                record["name"],
                *(fixed(record[field], 0) for field in ("parameters", "steps")),
                *(f"{record[f'FLOPs a {unit}']:.3g}" for unit in ("target token", "step")),
                f"{record['counted']:.2e}",
                f"{paper:.1e}" if paper else NONE,
                share,
                fixed(hours, 1),
            ]
        )
    head = ["Recipe", "Parameters", "Steps", "FLOPs per target token", "FLOPs per step"]
    head += [
        "FLOPs counted",
        "Paper, by its formula",
        "Counted / paper",
        "Hours on 8 P100, at least",
    ]
    yield Table(head, rows, records)


def variations(records: list[Record]) -> Iterable[Table]:
    """Table 3, and the models that were trained for it."""
    found = comparable(records)
    results = best(record.model_extra or {} for record in found)
    bases = {measure: Base.of(results, measure) for measure in NOISE}
    rows = []
    for name, result in results.items():
        paper, cells = ROWS[row_of(name)], [trained_as(result, results["base"]) or NONE]
        for measure, digits in (("perplexity", 2), ("bleu", 1)):
            effect = verdict(name, measure, result[measure], bases[measure]) or NONE
            cells += [fixed(result[measure]), fixed(getattr(paper, measure), digits), effect]
        rows.append([name, *cells, fixed(result["parameters"], 0)])
    head = ["Row", "Trained as", "Perplexity", "Paper", "Effect", "BLEU", "Paper", "Effect"]
    base = results["base"]["recipe"]["model"]
    title = "Effects; base has N = {n_layers}, d_model = {d_model}, d_ff = {d_ff}, h = {n_heads}"
    yield Table([*head, "Parameters"], rows, found, title.format_map(base))
    runs = [record for record in found if record.get("curve")]
    if runs:
        yield _variant_runs(runs)


def _variant_runs(records: list[Record]) -> Table:
    """The training runs of Table 3, including those at rates that were not chosen."""
    rows = [
        [
            record["name"],
            *(fixed(record[measure]) for measure in NOISE),
            *(fixed(record[steps], 0) for steps in ("best_step", "steps")),
            record["limit"].partition(" ")[0],
            fixed(record["minutes"], 0),
            f"{record['flops']['counted']:.1e}",
        ]
        for record in records
    ]
    head = ["Model", "Perplexity", "BLEU", "Best at step", "Steps", "Ended by", "Minutes"]
    return Table([*head, "FLOPs counted"], rows, records, "Training runs")


def alignments(records: list[Record]) -> Iterable[Table]:
    """Alignment error rates of methods, of other aligners, and of each layer and head."""
    for record in records:
        bleu = fixed(scores(record["score"])["BLEU"])
        trained = f"{record['name']}, {record['steps']:,} steps, dev BLEU {bleu}"
        rows = [[f"attention: {name}", fixed(aer, 1)] for name, aer in record["methods"].items()]
        for name, rounds in record["others"].items():
            rows.append([name, fixed(statistics.mean(rounds), 1)])
        yield Table(["Links", "AER, %"], rows, [record], trained)
        rows = [
            [row["weights"], *(fixed(row[position], 1) for position in ("aer", "shifted"))]
            for row in record["rows"]
        ]
        yield Table(["Weights", "AER, %", "AER, %, next position"], rows, [record])


def searches(records: list[Record]) -> Iterable[Table]:
    """The search and its settings, one table per dev set."""
    head = ["Search", "BLEU", "Mean score", "Better", "Worse", "Identical", "Rows per token"]
    head += ["Speed"]
    for record in records:
        rows = [
            [
                row["name"],
                fixed(row["bleu"]),
                fixed(row["score"], 4),
                *(str(row[count]) for count in ("better", "worse")),
                f"{row['identical']:.1%}",
                *(fixed(row[number]) for number in ("rows_per_token", "speed")),
            ]
            for row in record["settings"]
        ]
        title = f"{record['name']}, {record['sentences']:,} sentences, beam {record['beam']}"
        yield Table(head, rows, [record], title)
    found = records[-1]["random_models"]
    rows = [[str(found[count]) for count in ("sentences", "better", "worse")]]
    head = ["Sentences", "2K candidates better", "Worse"]
    yield Table(head, rows, records[-1:], "Untrained models")


SECTIONS = (
    Section(
        "table1",
        "Table 1: complexity per layer type",
        "FLOPs grow as the paper states for every type of layer. Self-attention connects all "
        "positions in one layer by a chain of 13 operations, whereas the LSTM needs 519 at n = 64.",
        "python -m benchmarks.paper.table1",
        layers,
        "Exponents are fitted to the largest sizes, for the forward and backward pass of one "
        "sequence. Memory is what is kept for the backward pass. Chain and layers are read from "
        "the autograd graph, with "
        'k = 3 and r = 5. "The same, as written" computes Eq. 1 with its n x n matrix; '
        "self-attention uses the fused kernel. The first two convolutions and the LSTM look back "
        "only.",
        (("table1.png", "Time, memory, chain and path of each layer type against n"),),
    ),
    Section(
        "table2",
        "Table 2: systems within one budget",
        "With one seed each and 8e+13 counted FLOPs, the Transformer (39.52 BLEU) and ConvS2S "
        "(38.66) are ahead of GNMT (34.98) and ByteNet (29.94), as in the paper. The LSTM with "
        "attention has 37.92. Within 3.2e+14, the means of three seeds are 40.76 (Transformer) "
        "and 39.57 (ConvS2S). Within 2e+13, about three epochs and also with one seed, ConvS2S "
        "(34.94) and the LSTM with attention (32.83) are ahead of the Transformer (30.38), and "
        "two models with half of the budget each are worse than one: 31.19 for ConvS2S and 24.80 "
        "for the Transformer.",
        "python -m benchmarks.paper.table2 --runs runs/table2 --set training.engine=native "
        "training.precision=bf16",
        systems,
        "Multi30k English-German, test2016, lower-cased. Each model of a column is trained with "
        "the same number of counted FLOPs, or with half as many where the row says so; 2e+13 are "
        "about three epochs. A table contains only runs with the same step size, batch size, "
        "averaging and precision. p is the p-value of a paired bootstrap test against the "
        "Transformer of the same column, the largest over the seeds; spread is the difference "
        "between the best and the worst of n seeds. All systems have batches of 500 tokens, a "
        "moving average of the weights, and the setting with the lowest dev perplexity of those "
        "tried within 2e+13 FLOPs. All warm up for a fifth of the steps. The models of 3.2e+14 "
        "FLOPs were trained on a GPU, by a script that is not part of the repository: it runs "
        "several rows at once and does not record the load (ConvS2S with training.compile=no). "
        "Earlier records, with the settings of the recipes and one or two batches per step, are "
        "not shown. Not reproduced: "
        + "; ".join(f"{name}, because {reason}" for name, reason in NOT_REPRODUCED.items())
        + ".",
        (("table2.png", "Test BLEU of each system, and dev BLEU in training"),),
    ),
    Section(
        "cost",
        "Table 2: training cost in FLOPs",
        "The counted matrix products are 29% of the paper's figure for the base model and 42% for "
        "the big model. The paper's figures are the training time, times the number of GPUs, times "
        "an estimated sustained rate, so they include everything else that takes time.",
        "python -m benchmarks.paper.cost base",
        costs,
    ),
    Section(
        "table3",
        "Table 3: variations of the Transformer",
        "Measured by perplexity, models with smaller keys (5.75 and 5.98), without dropout (9.78) "
        "or with a third of the layers (6.63) are worse than base (5.55 to 5.66), as in the "
        "paper, and big with its dropout of 0.3 is better (4.62). big with a dropout of 0.1 is "
        "worse than base (5.92 and 6.33); base with a dropout of 0.2 has 4.83. Label smoothing of "
        "0.0 (6.13), a dropout of 0.2, learned positions (5.99), two heads (5.43) and eight "
        "(5.90) have other effects than in the paper. Each of these rows has one seed. Most of "
        "the rows (C) have not been trained at this size yet.",
        "python -m benchmarks.paper.table3 --runs runs/table3 --set training.engine=native",
        variations,
        "Multi30k English-German, dev set; the paper's columns are from newstest2013 at full size. "
        "Lower perplexity is better. A row has an effect if it differs from the mean of the base "
        "model by more than the spread of its three seeds; if seeds are normally distributed, a "
        "row without an effect does so in 24% of cases. The sizes of effects are not compared. "
        "Each run ends after five validations without a lower perplexity, and its best validation "
        "counts. Minutes were measured with up to eighteen other training runs on the GPU. The "
        "records were made by a script that is not part of the repository: it runs several rows "
        "at once and does not record the load. Records of commit 37208d8+ used code that was "
        "committed later, as c39f413. "
        "Earlier records, at an eighth of the paper's width and for 2,000 steps (big: 6,000), are "
        "not shown.",
        (("table3.png", "Effect of each row on the base model, ours and the paper's"),),
    ),
    *parsing_sections.SECTIONS,
    Section(
        "length",
        "Sentence length, with and without attention",
        "Within the same budget, the LSTM with attention has the highest BLEU at every length "
        "(36.28 at 7.3 words, 30.42 at 50.8), before the Transformer (34.24 and 20.53). With a "
        "fixed vector, the LSTM has 8.48 and 5.91, and 10.97 and 7.18 with the source reversed.",
        "python -m benchmarks.paper.length --runs runs/length",
        lengths,
        "Multi30k captions are short, so up to three neighbouring captions are joined for training "
        "and up to four for the test (test2016, lower-cased). In brackets: the number of words of "
        "the translations, divided by that of the references. Each system has one seed. The peak "
        "rate of the LSTM with a fixed vector is the best of three by dev perplexity, and that of "
        "the others is the rate of their recipe. Minutes are those of training next to one to "
        "three other runs on two cores.",
        (("length.png", "BLEU against the number of source words"),),
    ),
    *quality_sections.SECTIONS,
    Section(
        "alignment",
        "Word alignments from cross-attention",
        "A Transformer (39.74 dev BLEU) aligns words with an error rate of 17.7%, "
        "compared with 12.7% for eflomal, a dedicated word aligner. The upper layers align best at "
        "the position that predicts a token, the first layer at the position that reads it: there, "
        "one head reaches 14.6%.",
        "python -m benchmarks.paper.alignment --model runs/multi30k/model",
        alignments,
        "Alignment error rate (AER, lower is better) on 50 sentence pairs written and aligned by "
        "hand ([fixtures](../../tests/fixtures/alignment/README.md)); 23 of their 464 English and "
        "49 of their 429 German words are not in the training text. Attention is computed for the "
        "given target sentence. The second table of each model evaluates single layers and heads "
        'with the method "largest share", at the position that predicts a target token and at the '
        "next position, which reads it; the default combines both. The default was chosen on these "
        "sentences, so its error rate may be higher on other text. eflomal 2.0.0 learns from the "
        "29,000 training pairs and the 50 test pairs; its numbers are means of three runs. "
        '"diagonal" links words at the same relative position. The convolutional model and the '
        "LSTM were trained for a few hundred steps only.",
    ),
    Section(
        "search",
        "Beam search with 2K candidates",
        "With 2K candidates, no translation gets a lower score, and some get a higher one: 3 of "
        "1,014 on Multi30k, and 37 of 200 with untrained models. BLEU changes little (39.72, "
        "30.91), and the speed is 0.88 and 0.90 of that with K candidates.",
        "python -m benchmarks.paper.search --model runs/enja-en-ja/model --src enja/dev.en --ref "
        "enja/dev.ja --tokenize none",
        searches,
        "The searches named K candidates are the previous one: a hypothesis that ends keeps its "
        "place in the beam, so the beam shrinks. All others take 2K candidates per step and keep K "
        'hypotheses open. "Better", "worse" and "identical" compare the best translation of each '
        "sentence, by its score, with that of the first search; for margins and limits on "
        "repetition, with that of the second search. Rows are open hypotheses. Speed is relative "
        "to the first search.",
    ),
)
