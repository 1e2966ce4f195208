"""Further training: a run that starts from the weights of another model.

The sizes of the model are those of the parent. With `parent.vocabulary = "keep"`, so are the
vocabularies; with "learn", they are learned from the corpus, and the pieces that the parent has
keep their vectors.
"""

from yakusu.data.config import DataConfig
from yakusu.data.corpus import Corpus, ExtraCorpus
from yakusu.data.coverage import Coverage
from yakusu.data.languages import listed_codes, same_language
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError, RecipeError
from yakusu.folder import sha256
from yakusu.model.config import DROPOUTS, TransformerConfig
from yakusu.pipeline.receipts.receipt import Receipt, read_facts
from yakusu.recipe import Recipe
from yakusu.shipped import model_path
from yakusu.translator.folder.folder import ModelFolder, weights_hash


class Parent:
    """The model that a run starts from.

    Args:
        folder: Its folder.

    Attributes:
        weights: Its weights as float32, with dense tables.
        tokenizer: Its vocabularies.

    Raises:
        ModelError: The folder is incomplete, corrupt, or not of a Transformer.
    """

    def __init__(self, folder: str) -> None:
        self._folder = ModelFolder.open(model_path(folder))
        config = self._folder.config
        if not isinstance(config.model, TransformerConfig):
            raise ModelError(f"{folder} is a {config.model.name} model: start from a Transformer")
        self.weights = DenseWeights(
            config.model, self._folder.weights, config.compressed, **config.vocab_sizes
        )
        self.tokenizer = self._folder.tokenizer

    @property
    def sha256(self) -> str:
        """The hash of its weights."""
        return weights_hash(self._folder.path)

    def resolve(self, recipe: Recipe) -> Recipe:
        """Put the parent's hash, sizes and vocabulary sizes into a recipe.

        Raises:
            RecipeError: The parent is not the one that the run started from, or its vocabulary is
                kept and has no token for a target language.
        """
        expected, found = recipe.parent.sha256, self.sha256
        if expected not in ("", found):
            raise RecipeError(
                f"{recipe.parent.model} has changed since the run started: restore the model with "
                f"the hash {expected}, or start a new run"
            )
        wanted = recipe.model
        rates = {key: getattr(wanted, key) for key in DROPOUTS if hasattr(wanted, key)}
        sizes = self.weights.config.model_copy(update=rates)
        mix, data = recipe.parent.mix, recipe.data
        languages = zip(("source_language", "target_language"), recipe.languages, strict=True)
        own_languages = {key: code or getattr(self._folder.config, key) for key, code in languages}
        data = data.model_copy(update=own_languages)
        data = self._with_corpus(data, mix) if mix else data
        values = recipe.model_dump() | {
            "model": sizes.model_dump(),
            "data": data.model_dump(),
            "parent": recipe.parent.model_dump() | {"sha256": found},
        }
        if recipe.parent.vocabulary == "keep":
            own = {"joint": self.tokenizer.joint, "vocab_size": self.tokenizer.src_vocab_size}
            values["tokenizer"] = recipe.tokenizer.model_dump() | own
        resolved = Recipe.model_validate(values)
        if recipe.parent.vocabulary == "keep":
            self._require_languages(resolved)
        return resolved

    def _require_languages(self, recipe: Recipe) -> None:
        """Refuse target languages for which the vocabulary has no token, unless it needs none."""
        tokens = self.tokenizer.src.language_tokens
        for code in recipe.target_languages or ([recipe.languages[1]] if tokens else []):
            if not code:
                raise RecipeError(
                    "the target language is unknown, and the parent has several: set "
                    "data.target_language"
                )
            found = self.tokenizer.languages_like(code)
            if len(found) > 1:
                raise RecipeError(
                    f"the parent has several target languages '{code}': set the target language to "
                    f"one of {listed_codes(found)}"
                )
            if not found:
                own = f", only for {listed_codes(tokens)}" if tokens else ""
                raise RecipeError(
                    f"the vocabulary of the parent has no token for the target language '{code}'"
                    f"{own}: set parent.vocabulary = 'learn', and list the corpora of the "
                    "languages to keep as [[data.others]]"
                )

    def coverage(self, new: Coverage) -> Coverage | None:
        """Add what the parent's training text covers to what that of the run covers.

        None if the former is unknown, as for imported models: everything then counts as covered.
        """
        if (old := self.tokenizer.coverage) is None:
            return None
        return Coverage(
            source_characters=_union(old.source_characters, new.source_characters),
            target_characters=_union(old.target_characters, new.target_characters),
            longest_source=max(old.longest_source, new.longest_source),
        )

    def _with_corpus(self, data: DataConfig, share: float) -> DataConfig:
        """Add the parent's training corpus to that of the run, unless there is another one.

        Raises:
            RecipeError: The receipt of the parent does not name its corpus, or this is of other
                languages, or has changed.
        """
        corpus: Corpus = data.extra
        if not corpus:
            facts = read_facts(self._folder.path)
            if not isinstance(facts, Receipt):
                raise RecipeError(
                    f"{self._folder.path} was imported, so its training corpus is unknown: set "
                    "data.extra to a corpus to mix in"
                )
            corpus = _corpus_of(facts, data.languages)
        extra = ExtraCorpus.model_validate(
            {**{key: getattr(corpus, key) for key in Corpus.model_fields()}, "share": share}
        )
        return data.model_copy(update={"extra": extra})


def _corpus_of(parent: Receipt, languages: tuple[str, str]) -> Corpus:
    """Return the training corpus of a parent; of several, that of these languages.

    Raises:
        RecipeError: There is none of these languages, or a file is missing or has changed.
    """
    found = [each for each in parent.recipe.directions if _same(each.languages, languages)]
    if not found:
        own = ", ".join("-".join(each.languages) for each in parent.recipe.directions)
        raise RecipeError(
            f"the parent has no corpus of {'-'.join(languages)}, only of {own}: set data.extra to "
            "a corpus to mix in, or remove parent.mix (--mix)"
        )
    corpus = found[0].data.train
    for path in corpus.files:
        if not path.exists():
            raise RecipeError(
                f"the corpus of the parent, {path}, does not exist: run the command in the folder "
                "in which the parent was trained, or set data.extra to a corpus to mix in"
            )
        if sha256(path) not in parent.inputs.values():
            raise RecipeError(
                f"the corpus of the parent, {path}, has changed since the parent was trained: "
                "restore it, or set data.extra to a corpus to mix in"
            )
    return corpus


def _same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two pairs of languages are the same, as far as they are known."""
    codes = zip(one, other, strict=True)
    return all(not a or not b or same_language(a, b) for a, b in codes)


def with_parent_sizes(recipe: Recipe) -> Recipe:
    """Return a recipe with the sizes of its parent, if it has one.

    Raises:
        ModelError: The parent is incomplete, corrupt, or not a Transformer.
        RecipeError: The parent has changed since the run started, or `parent.mix` has no corpus.
    """
    return Parent(recipe.parent.model).resolve(recipe) if recipe.parent.model else recipe


def _union(one: str, other: str) -> str:
    return "".join(sorted({*one, *other}))
