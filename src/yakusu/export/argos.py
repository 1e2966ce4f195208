"""Packages of Argos Translate: zip files with the suffix .argosmodel.

NAME/metadata.json          languages
NAME/model/                 a model of CTranslate2
NAME/sentencepiece.model    one SentencePiece model for both sides
NAME/README.md              the model card
NAME/spacy/                 a sentence splitter, spaCy's rules for any language

Argos Translate uses the splitter if ARGOS_CHUNK_TYPE=SPACY is set; otherwise it downloads one at
the first translation.
"""

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pydantic import BaseModel

from yakusu.data.pieces import read_segmenter
from yakusu.errors import ModelError
from yakusu.export.ctranslate2.reader import read_ctranslate2
from yakusu.export.foreign import ForeignModel
from yakusu.export.origin import Origin, licence_of
from yakusu.export.reading import read_json_as
from yakusu.folder import create_private, downloaded, json_text, sha256

SUFFIX = ".argosmodel"
VERSION = "1.0"  # of a package
_ARGOS = "1.9"  # the oldest version that reads it
_DATE = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal models give equal packages
# spaCy ends a sentence at a token that is a full stop, so its tokenizer must separate them.
_SUFFIX = r"""[.!?…。！？।॥؟۔"')\]»”’」』]$"""
_INFIX = "[。！？」』]"
_SPLITTER = """[nlp]
lang = "xx"
pipeline = []
disabled = []
before_creation = null
after_creation = null
after_pipeline_creation = null
batch_size = 1000

[nlp.tokenizer]
@tokenizers = "spacy.Tokenizer.v1"
"""
_MEMBERS = re.compile(r"[^/]+/(metadata\.json|README\.md|sentencepiece\.model|model/[^/]+)")
_MOST_BYTES = 16 * 2**30  # of the files of a package
_MOST_FOLD = 200  # how many times larger they are than the package


class _Metadata(BaseModel):
    """What is needed of metadata.json."""

    from_code: str
    to_code: str
    type: str = "translate"
    target_prefix: str = ""
    package_version: str = ""


# ---- writing -------------------------------------------------------------------------------------


def write_argos(
    folder: Path, model: Path, *, sentencepiece: bytes, languages: tuple[str, str], card: str
) -> Path:
    """Write a package.

    Args:
        folder: Where it is written.
        model: A folder with a model of CTranslate2.
        sentencepiece: The SentencePiece model of both sides.
        languages: Codes of source and target.
        card: The model card.

    Returns:
        The file.
    """
    name = f"translate-{languages[0]}_{languages[1]}-{VERSION.replace('.', '_')}"
    path = folder / f"{name}{SUFFIX}"
    texts = {"metadata.json": json_text(_metadata(languages)), "README.md": card}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for inner, text in texts.items():
            package.writestr(_member(name, inner), text)
        for inner, data in splitter().items():
            package.writestr(_member(name, f"spacy/{inner}"), data)
        package.writestr(_member(name, "sentencepiece.model"), sentencepiece)
        for file in sorted(model.iterdir()):
            with (
                file.open("rb") as source,
                package.open(_member(name, f"model/{file.name}"), "w", force_zip64=True) as target,
            ):
                shutil.copyfileobj(source, target)
    return path


def splitter() -> dict[str, bytes]:
    """Return the files of a pipeline of spaCy, which finds the ends of sentences by rules."""
    meta = {"lang": "xx", "name": "sentences", "version": "0.0.0"}
    return {
        "config.cfg": _SPLITTER.encode(),
        "meta.json": json_text(meta).encode(),
        "tokenizer": _packed({"suffix_search": _SUFFIX, "infix_finditer": _INFIX}),
    }


def _packed(values: Mapping[str, str]) -> bytes:
    """Return a map of fewer than 16 short strings in the format MessagePack."""
    strings = [text.encode() for pair in values.items() for text in pair]
    encoded = b"".join(b"\xd9" + bytes([len(each)]) + each for each in strings)
    return bytes([0x80 | len(values)]) + encoded


def _member(name: str, inner: str) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(f"{name}/{inner}", _DATE)
    found.compress_type = zipfile.ZIP_DEFLATED
    return found


def _metadata(languages: tuple[str, str]) -> Mapping[str, object]:
    source, target = languages
    return {
        "package_version": VERSION,
        "argos_version": _ARGOS,
        "from_code": source,
        "from_name": source,
        "to_code": target,
        "to_name": target,
        "links": [],
    }


# ---- reading -------------------------------------------------------------------------------------


def read_argos(path: Path) -> ForeignModel:
    """Read a package, or the folder of an installed one.

    Raises:
        ModelError: It is not a package of a translator, it is inconsistent, or it has no
            SentencePiece model.
    """
    if path.is_dir():
        return _read_installed(path)
    with unpacked(path) as folder:
        foreign = _read_installed(folder)
        licence = licence_of(folder)
    files = {path.name: sha256(path)}
    origin = foreign.origin.model_copy(
        update={"licence": licence, "files": files, "name": path.stem}
    )
    return replace(foreign, origin=origin)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield a temporary folder with the files of a package that a translator needs.

    Raises:
        ModelError: The file is not a package, or its files are too large.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            with zipfile.ZipFile(downloaded(path)) as package:
                _unpack(package, folder, limit=min(_MOST_BYTES, _MOST_FOLD * path.stat().st_size))
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise ModelError(
                f"{path} is not a valid package of Argos Translate: {error}"
            ) from error
        yield folder


def _unpack(package: zipfile.ZipFile, folder: Path, *, limit: int) -> None:
    """Copy files with known names."""
    (folder / "model").mkdir()
    members = [each for each in package.infolist() if _MEMBERS.fullmatch(each.filename)]
    if sum(member.file_size for member in members) > limit:
        raise zipfile.BadZipFile("its files are too large")
    for member in members:
        inner = PurePosixPath(member.filename).relative_to(member.filename.partition("/")[0])
        if ".." in inner.parts:
            raise zipfile.BadZipFile(f"the name of a file is {member.filename}")
        with package.open(member) as source, create_private(folder / inner) as target:
            shutil.copyfileobj(source, target)  # stops at `file_size`


def _read_installed(folder: Path) -> ForeignModel:
    metadata = read_json_as(_Metadata, folder / "metadata.json")
    if metadata.type != "translate":
        raise ModelError(f"{folder} is a package of the kind '{metadata.type}', not 'translate'")
    if metadata.target_prefix:
        raise ModelError(
            f"every translation begins with '{metadata.target_prefix}', which is not supported"
        )
    if not (folder / "sentencepiece.model").exists():
        raise ModelError(
            f"{folder} has no sentencepiece.model: only packages with SentencePiece are supported"
        )
    segmenter = read_segmenter(folder / "sentencepiece.model")
    foreign = read_ctranslate2(folder / "model", (segmenter, segmenter))
    origin = Origin.of(folder, format="Argos Translate", name=folder.name)
    files = origin.files | {f"model/{name}": own for name, own in foreign.origin.files.items()}
    languages = metadata.from_code, metadata.to_code
    origin = origin.model_copy(update={"files": files})
    return replace(foreign, languages=languages, origin=origin)
