"""How good a translation is: BLEU (section 6.1, Table 2), chrF and TER, each with its signature.

sacreBLEU computes every number. This module picks the tokenizer, refuses texts that do not line
up, and keeps value and signature together.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from sacrebleu.metrics.base import Metric, Signature
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from yakusu.config import Registry, nearest
from yakusu.errors import DataError, RecipeError


@dataclass(frozen=True)
class Score:
    """A number and how it was made: `BLEU = 34.52 (nrefs:1|case:mixed|...)`."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature})"


@dataclass(frozen=True)
class Estimate:
    """One system under the bootstrap: its score, and `mean` ± `half_width` with 95% confidence."""

    score: Score
    mean: float
    half_width: float

    def __str__(self) -> str:
        interval = f"mean {self.mean:.2f} ± {self.half_width:.2f}"
        return f"{self.score.name} = {self.score.value:.2f} ({interval})"


@dataclass(frozen=True)
class BootstrapResult:
    """Two systems on the same lines; `p_value` is two-sided."""

    baseline: Estimate
    system: Estimate
    p_value: float

    def __str__(self) -> str:
        test = f"p = {self.p_value:.4f} ({self.system.score.signature})"
        return f"baseline: {self.baseline}\nsystem:   {self.system}\n{test}"


@dataclass(frozen=True)
class MetricOptions:
    """What every metric is built from; a metric ignores what has no meaning for it.

    Attributes:
        tokenize: sacreBLEU's name of a tokenizer for BLEU; None takes the target language's own.
        lowercase: Ignore case in BLEU and chrF. TER always does: that is its published form.
        target_language: A language code such as "ja", "pt-BR" or "zh_CN".
    """

    tokenize: str | None = None
    lowercase: bool = False
    target_language: str | None = None


METRICS: Registry[Callable[[MetricOptions], Metric]] = Registry("metric")


@METRICS.register("bleu")
def _bleu(options: MetricOptions) -> Metric:
    if options.tokenize is not None and options.tokenize not in BLEU.TOKENIZERS:
        remedy = nearest(options.tokenize, list(BLEU.TOKENIZERS))
        raise RecipeError(f"there is no BLEU tokenizer '{options.tokenize}': {remedy}")
    # sacreBLEU knows bare codes: with "zh-CN" it would quietly fall back to 13a.
    language = re.split("[-_]", options.target_language or "")[0].lower()
    return BLEU(lowercase=options.lowercase, tokenize=options.tokenize, trg_lang=language)


@METRICS.register("chrf")
def _chrf(options: MetricOptions) -> Metric:
    return CHRF(lowercase=options.lowercase)


@METRICS.register("ter")
def _ter(_: MetricOptions) -> Metric:
    return TER()


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    tokenize: str | None = None,
    lowercase: bool = False,
    target_language: str | None = None,
) -> list[Score]:
    """Score detokenised translations against one reference each, as sacreBLEU's command does.

    BLEU's tokenizer is ja-mecab for Japanese, ko-mecab for Korean, zh for Chinese, else 13a. TER
    counts words between spaces: in Japanese and Chinese a whole sentence is one, so read chrF.

    Args:
        hypotheses: The translations, one a line.
        references: What they should be, line by line.
        metrics: Names in `METRICS`; the scores come in this order.
        tokenize, lowercase, target_language: As in `MetricOptions`.

    Returns:
        One score a metric, in per cent. Of TER less is better.

    Raises:
        DataError: The two texts differ in length, or are empty.
        RecipeError: There is no such metric or tokenizer.
    """
    _check_aligned("hypotheses", hypotheses, references)
    options = MetricOptions(tokenize, lowercase, target_language)
    return [_measure(METRICS[name](options), hypotheses, references) for name in metrics]


def tokenized_compound_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    lowercase: bool = False,
) -> Score:
    """The paper's own BLEU (Table 2): of Moses tokens, with hyphenated compounds split.

    These are the steps of tensor2tensor's get_ende_bleu.sh: tokenizer.perl, "rich-text" to
    "rich ##AT##-##AT## text", multi-bleu.perl. It is usually higher than the BLEU of
    `score`: compare it only with numbers made in the same way.

    Args:
        hypotheses: The translations, one a line, detokenised.
        references: What they should be, line by line, detokenised too.
        language: The target language's code as Moses writes it: "de", "fr".
        lowercase: Ignore case.

    Raises:
        DataError: The texts do not line up, or Moses has no rules for the language.
    """
    import sacremoses

    _check_aligned("hypotheses", hypotheses, references)
    _check_moses(language, set(sacremoses.NonbreakingPrefixes().available_langs.values()))
    moses = sacremoses.MosesTokenizer(language)

    def prepare(line: str) -> str:
        tokens: str = moses.tokenize(line, return_str=True)
        return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokens)

    # `force` says that tokenised text is no accident here.
    metric = BLEU(tokenize="none", smooth_method="none", force=True, lowercase=lowercase)
    value = metric.corpus_score(
        [prepare(line) for line in hypotheses], [[prepare(line) for line in references]]
    ).score
    signature = metric.get_signature()
    signature.update("tok", f"moses-{language}+compound-split")
    signature.update("sacremoses", sacremoses.__version__)
    return Score("BLEU (tokenised, compound-split)", value, str(signature))


def paired_bootstrap(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    *,
    n_samples: int = 1000,
    seed: int = 12345,
    metric: str = "bleu",
    tokenize: str | None = None,
    lowercase: bool = False,
    target_language: str | None = None,
) -> BootstrapResult:
    """Do two systems differ by more than chance? Paired bootstrap resampling (Koehn 2004).

    The same lines and seed give the same p-value. Call it from one thread at a time: sacreBLEU
    reads its seed from the environment of the process.

    Args:
        baseline, system, references: Translations by either system and the truth, line by line.
        n_samples: How many times the lines are drawn anew.
        seed: From 1 up.
        metric: A name in `METRICS`.
        tokenize, lowercase, target_language: As in `MetricOptions`.

    Raises:
        DataError: The three texts differ in length, or hold fewer than two lines.
        RecipeError: `seed` or `n_samples` is below 1, or there is no such metric or tokenizer.
    """
    _check_aligned("baseline's translations", baseline, references)
    _check_aligned("system's translations", system, references)
    _check_sampling(len(references), n_samples, seed)
    scorer = METRICS[metric](MetricOptions(tokenize, lowercase, target_language))
    systems = [("baseline", baseline), ("system", system)]
    with _sacrebleu_seed(seed):
        signatures, table = PairedTest(systems, {metric: scorer}, [references], "bs", n_samples)()
    return _bootstrap_result(signatures, table)


def _measure(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    result = metric.corpus_score(hypotheses, [references])
    return Score(result.name, result.score, str(metric.get_signature()))


def _bootstrap_result(
    signatures: Mapping[str, Signature], table: Mapping[str, list[str | Result]]
) -> BootstrapResult:
    [(name, signature)] = signatures.items()

    def estimate(result: Result) -> Estimate:
        value = Score(name, result.score, str(signature))
        return Estimate(value, float(cast(float, result.mean)), float(cast(float, result.ci)))

    before, after = cast(list[Result], table[name])
    # sacreBLEU counts only the resamples strictly above the difference found, so two systems
    # without any difference would come out as significant; by definition their p is 1.
    p_value = 1.0 if before.score == after.score else cast(float, after.p_value)
    return BootstrapResult(estimate(before), estimate(after), p_value)


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """The one way to hand sacreBLEU a seed is SACREBLEU_SEED; leave it as it was found."""
    found = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if found is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = found


def _check_aligned(name: str, lines: Sequence[str], references: Sequence[str]) -> None:
    if len(lines) != len(references):
        raise DataError(
            f"the {name} have {len(lines)} lines and the references {len(references)}: "
            "align them line by line"
        )
    if not references:
        raise DataError(f"the {name} and the references are empty: give at least one line of each")


def _check_moses(language: str, known: set[str]) -> None:
    # Moses leaves Chinese unsplit, and sacremoses takes English rules for what it does not know.
    if language not in known - {"zh", "yue"}:
        raise DataError(
            f"Moses has no rules to tokenise '{language}', so there is no paper's BLEU: "
            "leave out --paper"
        )


def _check_sampling(n_lines: int, n_samples: int, seed: int) -> None:
    if n_lines < 2:
        raise DataError(f"a bootstrap of {n_lines} line tells nothing: give two or more")
    if n_samples < 1:
        raise RecipeError(f"n_samples is {n_samples}: draw at least one sample (1000 is usual)")
    if seed < 1:  # PairedTest takes 0 for "no seed", and the p-value would vary
        raise RecipeError(f"the bootstrap's seed is {seed}: choose one from 1 up")
