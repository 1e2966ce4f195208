"""What the receipts of the package's models say about them."""

from dataclasses import dataclass
from pathlib import Path

from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.shipped import model_path, shipped_names


@dataclass(frozen=True)
class ShippedModel:
    """A translator that the package contains.

    Attributes:
        name: Its name, which stands for its folder.
        languages: Codes of the source and target language.
        parameters: Number of weights.
        bytes: Size of its folder.
        scores: BLEU, chrF and the like on the development set, with signatures.
        attribution: The training text, its authors and its licence.
        path: Its folder.
    """

    name: str
    languages: tuple[str, str]
    parameters: int
    bytes: int
    scores: tuple[str, ...]
    attribution: str
    path: Path


def models() -> list[ShippedModel]:
    """Return the translators that the package contains, sorted by name.

    Raises:
        ModelError: A file of one is missing or damaged.

    Example:
        `[model.name for model in yakusu.models()]`
    """
    return [_described(name) for name in shipped_names()]


def _described(name: str) -> ShippedModel:
    path = model_path(name)
    receipt = read_receipt(path)
    return ShippedModel(
        name=name,
        languages=receipt.languages,
        parameters=receipt.parameters,
        bytes=sum(file.stat().st_size for file in path.iterdir()),
        scores=receipt.scores,
        attribution=receipt.recipe.data.attribution,
        path=path,
    )
