"""The verb `yakusu compress`: output, files and errors."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yakusu.compress.config import CompressConfig
from yakusu.folder import read_json
from yakusu.pipeline.compress import MemoryUse

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
RunYakusu = Callable[..., Any]


def test_a_translator_is_compressed_and_scored(
    run_yakusu: RunYakusu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {  # no new processes
        str(FILES / "transformer"): MemoryUse(4000, "float32"),
        str(tmp_path / "small"): MemoryUse(1000, "int8"),
    }
    monkeypatch.setattr("yakusu.pipeline.compress.memory_of", lambda path: sizes[str(path)])
    out = tmp_path / "small"
    texts = ("--src", FILES / "test.en", "--ref", FILES / "test.de")
    options = ("--method", "integers", "--set", "compress.step=0.4", "--int8")
    said = run_yakusu("compress", FILES / "transformer", out, *options, *texts)
    assert said.code == 0, said.err
    assert said.out.startswith(
        "src_table = tgt_table = output_table: 159 vectors x 16 dimensions as 16 "
    )
    assert re.search(r"^weights on disk: .* -> .* \(\d+%\)$", said.out, re.MULTILINE)
    assert "\nmemory to load and translate: 4.0 kB in float32 -> 1.0 kB in int8 (25%)\n" in said.out
    assert re.search(r"^before: BLEU = .*\nafter:  BLEU = ", said.out, re.MULTILINE)
    assert said.out.endswith(f"model: {out}\n")
    facts = read_json(out / "receipt.json")["compressed"]
    expected = CompressConfig(method="integers", step=0.4, int8=True)
    assert CompressConfig(**facts["settings"]) == expected


def test_a_large_loss_is_warned_of(
    run_yakusu: RunYakusu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "yakusu.pipeline.compress.memory_of", lambda path: MemoryUse(4000, "float32")
    )
    for step, warned in (("0.05", False), ("2", True)):
        options = ("--method", "integers", "--set", f"compress.step={step}")
        said = run_yakusu("compress", FILES / "transformer", tmp_path / step, *options)
        assert said.code == 0, said.err
        assert ("warning: a table loses more than 2% of its variance" in said.err) == warned


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--set compress.half=true",
            "compress.half has no effect on a translator: leave out compress",
        ),
        (
            "--ratio 4 --set compress.m=3",
            "--ratio and --set: compress.ratio chooses compress.m and",
        ),
        ("--set compress.kk=8", "--set: unknown key 'compress.kk': did you mean 'compress.k'?"),
        ("--set k=8", "--set: unknown key 'k': did you mean 'compress.k'?"),
        (
            "--method integers --set compress.k=8",
            "--set and --method: compress.k has no effect unless compress.method = 'codes': set "
            "compress.method or leave out compress.k",
        ),
        ("--src {files}/test.en", "--src and --ref belong together: provide both or neither"),
        ("--set compress.exact=158", "compress.exact = 158 leaves fewer than 2 of 159 vectors"),
    ],
)
def test_invalid_settings_are_rejected_before_writing(
    run_yakusu: RunYakusu, tmp_path: Path, options: str, message: str
) -> None:
    arguments = options.format(files=FILES).split()
    said = run_yakusu("compress", FILES / "transformer", tmp_path / "small", *arguments)
    assert said.error.startswith(message)
    assert not (tmp_path / "small").exists()
