"""Translation metrics: BLEU (section 6.1, Table 2), chrF and TER with signatures.

sacreBLEU computes all scores. This module selects its tokenizer, checks that the texts are aligned
and keeps each value with its signature.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import cast

import numpy as np
from sacrebleu.metrics.base import Metric, Signature
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from yakusu.config import Registry, did_you_mean
from yakusu.errors import DataError, RecipeError, unequal


@dataclass(frozen=True)
class Score:
    """A metric value with the signature of its computation: `BLEU = 34.52 (nrefs:1|...)`."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature})"


@dataclass(frozen=True)
class Estimate:
    """Score of a system and its 95% confidence interval, `mean` ± `half_width`."""

    score: Score
    mean: float
    half_width: float

    def __str__(self) -> str:
        interval = f"95% confidence interval {self.mean:.2f} ± {self.half_width:.2f}"
        return f"{self.score.name} = {self.score.value:.2f} ({interval})"


@dataclass(frozen=True)
class BootstrapResult:
    """Comparison of two systems on the same lines; `p_value` is two-sided.

    Attributes:
        baseline: Score of the first system.
        system: Score of the second system.
        p_value: How probable a difference as large is by chance.
        interval: 95% confidence interval of the difference, `system` minus `baseline`.
    """

    baseline: Estimate
    system: Estimate
    p_value: float
    interval: tuple[float, float]

    @property
    def difference(self) -> float:
        """Score of the second system minus that of the first."""
        return self.system.score.value - self.baseline.score.value

    def __str__(self) -> str:
        test = f"paired bootstrap: p-value = {self.p_value:.4f} ({self.system.score.signature})"
        return f"baseline: {self.baseline}\nsystem:   {self.system}\n{test}"


@dataclass(frozen=True)
class MetricOptions:
    """Options of all metrics; a metric ignores those that do not apply to it.

    Attributes:
        tokenize: sacreBLEU's name of a BLEU tokenizer; None: the default of the target language.
        lowercase: Ignore case in BLEU and chrF. TER always ignores case, as originally published.
        target_language: A language code such as "ja", "jpn", "pt-BR" or "zh_CN".
    """

    tokenize: str | None = None
    lowercase: bool = False
    target_language: str | None = None


_LIBRARIES = {"ja-mecab": "MeCab", "ko-mecab": "mecab_ko"}  # of sacreBLEU's tokenizers
METRICS: Registry[Callable[[MetricOptions], Metric]] = Registry("metric")


@METRICS.register("bleu")
def _bleu(options: MetricOptions) -> Metric:
    if options.tokenize is not None and options.tokenize not in BLEU.TOKENIZERS:
        fix = did_you_mean(options.tokenize, list(BLEU.TOKENIZERS))
        raise RecipeError(f"there is no BLEU tokenizer '{options.tokenize}': {fix}")
    language = _sacrebleu_language(options.target_language or "")
    if library := _LIBRARIES.get(options.tokenize or f"{language}-mecab"):
        import_module(library)  # sacreBLEU would name its own extra
    return BLEU(lowercase=options.lowercase, tokenize=options.tokenize, trg_lang=language)


def _sacrebleu_language(code: str) -> str:
    """sacreBLEU's code of a language; for others, such as zh-CN, jpn and yue, it would use 13a."""
    if len(code) == 2:
        return code.lower()
    from langcodes import Language, tag_is_valid  # 0.04 s

    if not tag_is_valid(code):
        return code
    language = Language.get(code).prefer_macrolanguage()
    if language.maximize().script in ("Hans", "Hant"):
        return "zh"
    return language.language or code


@METRICS.register("chrf")
def _chrf(options: MetricOptions) -> Metric:
    return CHRF(lowercase=options.lowercase)


@METRICS.register("ter")
def _ter(_: MetricOptions) -> Metric:
    return TER()


def score_translations(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    tokenize: str | None = None,
    lowercase: bool = False,
    target_language: str | None = None,
) -> list[Score]:
    """Score detokenised translations against one reference each, like the `sacrebleu` command.

    The default BLEU tokenizer is ja-mecab for Japanese, ko-mecab for Korean, zh for Chinese and 13a
    for all other languages. TER splits words at spaces only, so a Japanese or Chinese sentence
    counts as one word: prefer chrF for these languages.

    Args:
        hypotheses: Translations, one per line.
        references: Reference translations, line by line.
        metrics: Names in `METRICS`.
        tokenize, lowercase, target_language: See `MetricOptions`.

    Returns:
        One score per metric, in the same order, in percent. Lower TER is better.

    Raises:
        DataError: The texts have different numbers of lines, or are empty.
        RecipeError: A metric or the tokenizer is unknown.
        ModuleNotFoundError: The tokenizer needs a library of the extra `mecab`.
    """
    _check_aligned("hypotheses", hypotheses, references)
    options = MetricOptions(tokenize, lowercase, target_language)
    return [_measure(METRICS[name](options), hypotheses, references) for name in metrics]


def sentence_scorer(name: str, target_language: str = "") -> Callable[[str, str], float]:
    """Return a function that scores a translation of one sentence against its reference.

    Args:
        name: A name in `METRICS`.
        target_language: Code of the language of both, which chooses BLEU's tokenizer.

    Raises:
        RecipeError: The metric is unknown.
        ModuleNotFoundError: The tokenizer needs a library of the extra `mecab`.
    """
    metric = METRICS[name](MetricOptions(target_language=target_language))
    if isinstance(metric, BLEU):
        metric.effective_order = True  # without the n-grams that a sentence is too short for
    return lambda hypothesis, reference: metric.sentence_score(hypothesis, [reference]).score


def tokenized_compound_bleu(
    hypotheses: Sequence[str], references: Sequence[str], language: str, *, lowercase: bool = False
) -> Score:
    """Compute BLEU as in the paper (Table 2): on Moses tokens, with hyphenated compounds split.

    The steps are those of tensor2tensor's get_ende_bleu.sh: tokenizer.perl, "rich-text" to
    "rich ##AT##-##AT## text", multi-bleu.perl. The result is usually higher than that of
    `score_translations`; compare it only with scores computed in the same way.

    Args:
        hypotheses: Detokenised translations, one per line.
        references: Detokenised reference translations, line by line.
        language: Code of the target language in Moses, such as "de" or "fr".
        lowercase: Ignore case.

    Raises:
        DataError: The texts have different numbers of lines or are empty, or Moses has no rules
            for the language.
    """
    import sacremoses

    _check_aligned("hypotheses", hypotheses, references)
    _check_moses(language, set(sacremoses.NonbreakingPrefixes().available_langs.values()))
    moses = sacremoses.MosesTokenizer(language)

    def prepare(line: str) -> str:
        tokens: str = moses.tokenize(line, return_str=True)
        return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokens)

    # `force` turns off the warning about tokenised text.
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
    """Test whether two systems differ significantly: paired bootstrap resampling (Koehn 2004).

    The same lines and seed give the same p-value. Not thread-safe: sacreBLEU reads its seed from an
    environment variable of the process.

    Args:
        baseline: Translations of the first system, one per line.
        system: Translations of the second system, line by line.
        references: Reference translations, line by line.
        n_samples: Number of resamples.
        seed: Seed of the resampling, 1 or more.
        metric: A name in `METRICS`.
        tokenize, lowercase, target_language: See `MetricOptions`.

    Raises:
        DataError: The texts have different numbers of lines, or fewer than two.
        RecipeError: `seed` or `n_samples` is below 1, or the metric or tokenizer is unknown.
    """
    _check_aligned("baseline's translations", baseline, references)
    _check_aligned("system's translations", system, references)
    _check_sampling(len(references), n_samples, seed)
    scorer = METRICS[metric](MetricOptions(tokenize, lowercase, target_language))
    systems = [("baseline", baseline), ("system", system)]
    with _sacrebleu_seed(seed):
        signatures, table = PairedTest(systems, {metric: scorer}, [references], "bs", n_samples)()
    interval = _difference_interval(scorer, (baseline, system), references, n_samples, seed)
    return _bootstrap_result(signatures, table, interval)


def _measure(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    result = metric.corpus_score(hypotheses, [references])
    return Score(result.name, result.score, str(metric.get_signature()))


def _difference_interval(
    metric: Metric,
    systems: tuple[Sequence[str], Sequence[str]],
    references: Sequence[str],
    n_samples: int,
    seed: int,
) -> tuple[float, float]:
    """The middle 95% of the differences in the resamples, which are those of sacreBLEU."""
    rng, n = np.random.default_rng(seed), len(references)
    chosen = rng.choice(n, size=(n_samples, n), replace=True)
    scores = []
    for hypotheses in systems:
        counts = np.array(metric._extract_corpus_statistics(hypotheses, [references]), np.float32)
        found = (metric._compute_score_from_stats(counts[rows].sum(0).tolist()) for rows in chosen)
        scores.append(np.array([each.score for each in found]))
    differences, outside = np.sort(scores[1] - scores[0]), n_samples // 40  # as sacreBLEU does
    return float(differences[outside]), float(differences[-1 - outside])


def _bootstrap_result(
    signatures: Mapping[str, Signature],
    table: Mapping[str, list[str | Result]],
    interval: tuple[float, float],
) -> BootstrapResult:
    [(name, signature)] = signatures.items()

    def estimate(result: Result) -> Estimate:
        value = Score(name, result.score, str(signature))
        return Estimate(value, float(cast(float, result.mean)), float(cast(float, result.ci)))

    before, after = cast(list[Result], table[name])
    # sacreBLEU counts only resamples strictly above the observed difference, so two equal systems
    # would differ significantly; their p-value is 1 by definition.
    p_value = 1.0 if before.score == after.score else cast(float, after.p_value)
    return BootstrapResult(estimate(before), estimate(after), p_value, interval)


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """Set SACREBLEU_SEED, the only way to pass sacreBLEU a seed, and restore it afterwards."""
    previous = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if previous is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = previous


def _check_aligned(name: str, lines: Sequence[str], references: Sequence[str]) -> None:
    if len(lines) != len(references):
        raise unequal(f"the {name}", len(lines), "the references", len(references))
    if not references:
        raise DataError(
            f"the {name} and the references are empty: provide at least one line of each"
        )


def _check_moses(language: str, known: set[str]) -> None:
    # Moses does not split Chinese, and sacremoses uses English rules for unknown languages.
    if language not in known - {"zh", "yue"}:
        raise DataError(
            f"the paper's BLEU needs Moses, which has no tokenisation rules for '{language}': "
            "omit --paper"
        )


def _check_sampling(n_lines: int, n_samples: int, seed: int) -> None:
    if n_lines < 2:
        raise DataError(f"the bootstrap has {n_lines} line to resample: provide two or more")
    if n_samples < 1:
        raise RecipeError(f"n_samples is {n_samples}: set it to 1 or more (usually 1000)")
    if seed < 1:  # PairedTest treats 0 as "no seed"
        raise RecipeError(f"the seed of the bootstrap is {seed}: set it to 1 or more")
