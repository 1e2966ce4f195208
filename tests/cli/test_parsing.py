"""The verbs with a parser."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Yakusu = Callable[..., Any]


def test_a_parser_is_trained_run_and_scored_with_the_same_verbs(
    run_yakusu: Yakusu, overrides: list[str], tmp_path: Path
) -> None:
    names = ("boat", "cat", "baker", "river", "cloud", "bridge")
    trees = [
        f"((S (NP-SBJ (DT the) (NN {one})) (VP (VBZ sees) (NP (NN {other}))) (. .)))\n"
        for one in names
        for other in names
    ]
    train, dev = tmp_path / "train.mrg", tmp_path / "dev.mrg"
    train.write_text("".join(trees[:30]))
    dev.write_text("".join(trees[30:]))
    files = ["--trees", train, "--dev-trees", dev, "--run", tmp_path / "run"]
    said = run_yakusu(
        "train", "parse-small", *files, *overrides, "--set", "training.warmup_steps=9"
    )
    assert said.code == 0, said
    assert "dev F1 = " in said.out
    assert "next: echo 'A sentence .' | " in said.out
    assert "training.max_steps = 6 ends before the learning rate has warmed up" in said.err
    assert re.search(r"step 3 of 6: F1 \d", said.err)
    model = tmp_path / "run" / "model"
    assert "a parser made with yakusu" in (model / "README.md").read_text()
    said = run_yakusu("translate", model, "--beam", "3", stdin=b"the (new) boat\n\n")
    tree, empty = said.out.split("\n")[:2]
    assert re.sub(r"\([^ ()]+ |\)", "", tree) == "the -LRB-new-RRB- boat" and empty == ""
    told = run_yakusu("translate", model, stdin=trees[0].encode()).error
    assert "is a tree, not a sentence" in told
    options_of_a_parser(run_yakusu, model, tmp_path)
    options = ("--src", dev, "--ref", dev)
    told = run_yakusu("compress", model, tmp_path / "small", *options).error
    assert told.startswith(f"{model} is a parser, which BLEU cannot score")
    said = run_yakusu("evaluate", model, dev)
    assert [line.split(" = ")[0] for line in said.out.splitlines()] == [
        "F1",
        "precision",
        "recall",
        "exact match",
    ]
    said = run_yakusu("score", model, dev, dev)
    assert said.code == 0 and said.out.count("\n") == len(trees[30:])
    assert said.err.startswith(f"{len(trees[30:])} pairs, ")
    words = tmp_path / "words"
    words.write_text("the boat sees the cat .\n")
    (tmp_path / "line").write_text("not a tree\n")
    told = run_yakusu("score", model, words, tmp_path / "line").error
    assert told.startswith("line 1: 'not a tree' is not a tree")
    said = run_yakusu("view", model, "--src-file", dev)
    assert said.code == 0 and f"{len(dev.read_text().splitlines())} pairs; 0 left out" in said.out
    told = run_yakusu("view", model, "--src-file", dev, "--tgt-file", train).error
    assert told.startswith("the statistics of a parser need trees, which include their words: pass")
    train.write_text(trees[0].replace("))", ")"))
    told = run_yakusu("evaluate", train, dev).error
    assert told.startswith(f"{train}, line 1: the tree that begins here has no end")


def options_of_a_parser(run_yakusu: Yakusu, model: Path, folder: Path) -> None:
    """Each option of `translate` has its effect on a parser, or is refused in one sentence."""
    line = b"the boat sees {name} .\n"
    tree = run_yakusu("translate", model, stdin=line).out
    for option in ("--no-protect", "--one-sentence-per-line"):  # as a parser does
        assert run_yakusu("translate", model, option, stdin=line).out == tree
    (folder / "terms.tsv").write_text("boat\tBoot\n")
    (folder / "prefix").write_text("(S\n")
    no_phrases = "sentence 1: a parser takes no prefix and no phrases to include or exclude"
    no_text = "a parser takes no glossary, no patterns and no memory"
    no_errors = f"{folder / 'dev.mrg'} contains trees, to which --errors does not apply: remove it"
    for options, message in {
        ("--prefix", folder / "prefix"): no_phrases,
        ("--include", "boat"): no_phrases,
        ("--exclude", "boat"): no_phrases,
        ("--glossary", folder / "terms.tsv"): no_text,
        ("--protect", "boat"): no_text,
        ("--max-repeats", "1"): "--max-repeats does not apply to a parser, because trees "
        "repeat brackets: remove it",
    }.items():
        assert run_yakusu("translate", model, *options, stdin=line).error == message
    told = run_yakusu("translate", model, folder / "dev.mrg", "--errors", "skip").error
    assert told == no_errors
    (folder / "a.txt").write_bytes(line)
    told = run_yakusu("translate", model, folder / "a.txt", "--out", folder / "b.txt").error
    assert told == "a parser cannot translate documents: use a translator"
