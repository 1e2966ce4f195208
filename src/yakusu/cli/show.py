"""Printing of translations, and of what was done."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING

from yakusu.cli.console import ConsoleProgress, say

if TYPE_CHECKING:
    from yakusu.data.files.long_lines import StoredLines
    from yakusu.translator import Translation
    from yakusu.translator.tally import Tally


STORED = "\ufdd0"  # in place of the text of a stored line; never a character of a text


def as_text(n_best: int) -> "Callable[[int, list[Translation]], list[str]]":
    """How translations are printed as text: alone, or numbered with score and log-probability."""

    def lines(number: int, best: "list[Translation]") -> list[str]:
        if n_best == 1:
            return [best[0].text]
        return [f"{number}\t{t.score:.4f}\t{t.log_prob:.4f}\t{t.text}" for t in best]

    return lines


def as_json(number: int, best: "list[Translation]") -> list[str]:
    """A JSON object with the translations of a sentence."""
    from yakusu.translator.writing.objects import objects

    return [json.dumps({"number": number, **objects(best)}, ensure_ascii=False)]


def _links(translation: "Translation") -> str:
    """The word alignment; "" for an empty sentence."""
    return translation.details.pharaoh if translation.details else ""


def print_all(
    found: "Iterable[list[Translation]]",
    total: int | None,
    *,
    show: "Callable[[int, list[Translation]], list[str]]",
    links: IO[str] | None,
    stored: "StoredLines",
    start: float,
) -> None:
    """Print translations as they are found, then the speed since `start`.

    The text of a stored line is printed part by part.
    """
    n_lines = n_tokens = 0
    progress = ConsoleProgress(bars=not sys.stdout.isatty())
    with progress.track("translating", "lines", total) as tracker:
        for number, best in enumerate(found, start=1):
            n_lines, n_tokens = number, n_tokens + best[0].n_tokens
            shown = "\n".join(show(number, best))
            if stored.size(number):
                before, _, shown = shown.partition(STORED)
                print(before, end="")
                in_json = before.startswith("{")
                for part in stored.take(number):
                    print(json.dumps(part, ensure_ascii=False)[1:-1] if in_json else part, end="")
            print(shown, flush=True)
            if links:
                links.writelines(_links(translation) + "\n" for translation in best)
            tracker.advance()
    print_speed(n_lines, n_tokens, time.monotonic() - start)


def print_speed(n_lines: int, n_tokens: int, seconds: float) -> None:
    """Print the number of lines and the speed."""
    say(
        f"{counted(n_lines, 'line')} in {seconds:.1f} s: {n_lines / seconds:.1f} lines/s, "
        f"{n_tokens / seconds:,.0f} target tokens/s"
    )


def report(tally: "Tally") -> None:
    """Print the counts of what was kept, copied or truncated."""
    parts = [
        (tally.matched, "text", "translated from a memory"),
        (tally.spans, "protected span", "kept"),
        (
            tally.unseen,
            "unseen word",
            "copied (very long, or with characters that the training text lacks)",
        ),
        (tally.terms, "term", "translated as in the glossary"),
        (tally.kept, "line", "kept (without text to translate)"),
        (tally.truncated, "long sentence", "truncated"),
        (tally.invisible, "invisible character", "removed"),
        (tally.untranslated, "sentence", "kept (the model generated no translation)"),
        (tally.differing, "sentence", "kept (numbers or code-like tokens would change)"),
        (tally.doubted, "sentence", "kept (the quality of the translation is too low)"),
    ]
    said = [f"{counted(n, noun)} {done}" for n, noun, done in parts if n]
    if said:
        say("; ".join(said))
    classes = {
        "100%": tally.words_100,
        "repetitions": tally.words_repeated,
        "95-99%": tally.words_95,
        "85-94%": tally.words_85,
        "75-84%": tally.words_75,
        "new": tally.words_new,
    }
    if any(classes.values()):
        say("words by match: " + ", ".join(f"{name}: {n:,}" for name, n in classes.items()))


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"
