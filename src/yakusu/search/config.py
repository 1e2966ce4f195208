"""Settings of the search: section [search] of a recipe and of a model folder."""

from yakusu.config import Config, requirement
from yakusu.typed import setting

FAST_MARGIN = 2.0  # nats, of `--fast`: docs/search.md


class SamplingConfig(Config):
    """How tokens are drawn at random from the model's distribution.

    Attributes:
        temperature: Logits are divided by it; below 1, likely tokens become more likely.
        top_k: Draw only from the `top_k` most likely tokens; None: from all.
        top_p: Draw only from the smallest set of most likely tokens whose total probability is at
            least `top_p` (nucleus sampling, Holtzman et al. 2020).
        seed: Seed of the random numbers. Samples do not depend on other sentences.
        mbr: Draw this many samples, and return the `n_best` that are most like all of them in chrF
            (minimum Bayes risk); 0: return the samples.
    """

    temperature: float = setting(1.0, gt=0)
    top_k: int | None = setting(None, ge=1)
    top_p: float = setting(1.0, gt=0, le=1)
    seed: int = setting(1, ge=0)
    mbr: int = setting(0, ge=0, le=256)


class SearchConfig(Config):
    """Settings of the search; `beam`, `alpha` and `max_extra` default to the paper's values.

    Attributes:
        beam: Number of open hypotheses; 1: greedy search.
        alpha: Exponent of the length penalty.
        coverage: Weight of GNMT's coverage penalty, its beta; 0: no penalty. It needs a model with
            attention, and torch.
        max_extra: A translation may exceed its source, or its prefix, by this many tokens.
        max_length: Maximum number of tokens of a translation; None: no further limit.
        n_best: Number of translations per sentence; at most `beam`, unless they are sampled.
        margin: Drop open hypotheses whose log-probability is more than this many nats below that of
            the best; None: keep them. Not used if translations are sampled.
        shortlist: Generate only the tokens that may translate a token of the source, if the native
            engine runs a single model that has a lexicon. See `shortlist.py`.
        max_repeats: How often an n-gram may occur in a row, unless n-grams of the source occur more
            often in a row. 0: no limit.
        no_repeat_ngram: No sequence of this many tokens occurs twice; 0: no limit.
        include: Words or phrases that every translation must contain.
        exclude: Words or phrases that no translation may contain.
        sampling: Draw `n_best` translations at random instead of searching; None: search.
    """

    beam: int = setting(4, ge=1, le=256)
    alpha: float = setting(0.6, ge=0, le=10)
    coverage: float = setting(0.0, ge=0, le=10)
    max_extra: int = setting(50, ge=0)
    max_length: int | None = setting(None, ge=1)
    n_best: int = setting(1, ge=1, le=256)
    margin: float | None = setting(None, ge=0)
    shortlist: bool = False
    max_repeats: int = setting(4, ge=0)
    no_repeat_ngram: int = setting(0, ge=0)
    include: tuple[str, ...] = ()  # lists, too, as in TOML
    exclude: tuple[str, ...] = ()
    sampling: SamplingConfig | None = None

    @requirement
    def _beam_holds_n_best(self) -> None:
        if self.sampling is None and self.n_best > self.beam:
            raise ValueError(
                f"n_best = {self.n_best} exceeds beam = {self.beam}: increase beam or lower n_best"
            )
        if 0 < self.n_compared < self.n_best:
            raise ValueError(
                f"mbr = {self.n_compared} is less than n_best = {self.n_best}: draw more samples"
            )

    @property
    def n_compared(self) -> int:
        """The number of samples that are compared; 0: the hypotheses are those of the search."""
        return self.sampling.mbr if self.sampling else 0

    @property
    def n_slots(self) -> int:
        """K, the number of hypotheses per sentence that are extended together."""
        return self.beam if self.sampling is None else self.n_best
