"""Translate with a glossary drawn from the references, and without it.

A term is a word of a source sentence and the word of its reference that the attention of the model
links it to. One term is drawn from each sentence, if both words have at least four letters and the
source word occurs in at most three sentences. All sentences are translated with and without the
glossary. A term is honoured if the translation of a sentence with the source term contains the
target term. Case is ignored.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.data.files.text import read_lines
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.terms import Glossary, Term
from yakusu.metrics import score_translations
from yakusu.translator import Translator
from yakusu.translator.writing.links import Translated, word_links_of

benchmark = Benchmark(
    "glossary",
    __doc__,
    example="python -m benchmarks.reliability.glossary --model runs/en-de/model --src dev.en "
    "--tgt dev.de",
    needs=["data", "model"],
    quick={"sentences": 30},
)
benchmark.option("--src", type=Path, help="source sentences (default: tatoeba/en-de/dev.en)")
benchmark.option("--tgt", type=Path, help="references (default: tatoeba/en-de/dev.de)")
benchmark.option("--sentences", type=int, default=2000, help="at most this many (%(default)s)")


tables = Table(
    (
        ("Sentences", "{name}"),
        ("Terms", "{terms:,.0f}"),
        ("Occurrences", "{occurrences:,.0f}"),
        ("Honoured without", "{without.honoured:.1%}"),
        ("Honoured with", "{with.honoured:.1%}"),
        ("BLEU without", "{without.bleu:,.2f}"),
        ("BLEU with", "{with.bleu:,.2f}"),
    )
)

_LETTERS, _MOST = 4, 3


def terms(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> Iterator[Term]:
    """Draw a term from each sentence."""
    tokenizer = translator.tokenizer
    counts = Counter(word for source in sources for word in set(_words(source)))
    for source, reference in zip(sources, references, strict=True):
        (src,), (tgt,) = tokenizer.encode_source([source]), tokenizer.encode_target([reference])
        pieces = tokenizer.target_texts_of(tgt[:-1])
        pair = Translated(source, src, tuple(tgt[:-1]), pieces, "".join(pieces))
        (links,) = word_links_of(translator.decoder, tokenizer, [pair], batch=1)
        for i, j in links or ():
            term = Term(_words(source)[i], _words(reference)[j])
            long = min(len(term.source), len(term.target)) >= _LETTERS
            letters = term.source.isalpha() and term.target.isalpha()
            if long and letters and counts[term.source] <= _MOST:
                yield term
                break


def _words(text: str) -> list[str]:
    return [word.strip('.,;:!?"“”„()') for word in text.split()]


def main(args: argparse.Namespace) -> None:
    """Translate with both settings, and compare."""
    folder = args.data / "tatoeba" / "en-de"
    src, tgt = args.src or folder / "dev.en", args.tgt or folder / "dev.de"
    sources, references = (list(read_lines(path))[: args.sentences] for path in (src, tgt))
    plain = TextConfig(one_sentence_per_line=True)
    translator = Translator.load(args.model, text=plain)
    glossary = Glossary(terms(translator, sources, references))
    with TemporaryDirectory() as folder_name:
        path = Path(folder_name) / "terms.tsv"
        lines = [f"{term.source}\t{term.target}\n" for term in glossary.terms]
        path.write_text("".join(lines), encoding="utf-8")
        config = plain.model_copy(update={"glossary": str(path)})
        with_terms = Translator.load(args.model, text=config).translate(sources)
    wanted = [(i, term) for i, line in enumerate(sources) for term in glossary.find(line)]
    result = {"name": src.name, "terms": len(glossary.terms), "occurrences": len(wanted)}
    for name, output in (("without", translator.translate(sources)), ("with", with_terms)):
        kept = sum(term.target.casefold() in output[i].casefold() for i, term in wanted)
        (bleu,) = score_translations(
            output,
            references,
            metrics=("bleu",),
            lowercase=True,
            target_language=translator.languages[1],
        )
        result[name] = {"honoured": kept / max(1, len(wanted)), "bleu": bleu.value}
        print(f"{name} the glossary: {kept} of {len(wanted)} terms honoured, {bleu}")
    benchmark.record(result)


if __name__ == "__main__":
    benchmark.run(main)
