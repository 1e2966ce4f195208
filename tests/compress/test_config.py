"""Settings of compression: files, overrides, and combinations that are rejected."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from yakusu.compress.config import CompressConfig, load_compress_config
from yakusu.errors import RecipeError


def test_overrides_take_precedence_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[compress]\nm = 64\nk = 16\nstacks = ['encoder']\n")
    found = load_compress_config(file, ["compress.k=8", "compress.fit=closed"])
    assert found == CompressConfig(m=64, k=8, fit="closed", stacks=("encoder",))
    assert load_compress_config() == CompressConfig()


def test_settings_survive_json() -> None:
    config = CompressConfig(method="integers", max_loss=0.1, tiers=(5, 9), int8=True)
    assert CompressConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (CompressConfig(), 128),
        (CompressConfig(method="integers"), 0),
        (CompressConfig(exact=0), 0),
        (CompressConfig(method="integers", exact=7), 7),
    ],
)
def test_codes_keep_128_exact_vectors_by_default(config: CompressConfig, expected: int) -> None:
    assert config.n_exact == expected


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("compress.step=1", "compress.step has no effect unless compress.method = 'integers'"),
        ("compress.method=integers compress.k=4 compress.m=2", "compress.m and compress.k have no"),
        ("compress.bits=9 compress.ratio=4", "compress.ratio and compress.bits are given together"),
        ("compress.bits=9 compress.k=4", "compress.bits chooses compress.m and compress.k: leave"),
        (
            "compress.method=integers compress.bits=9 compress.step=1",
            "compress.bits chooses compress.step: leave out compress.step",
        ),
        ("compress.bits=9 compress.mean=folded", "compress.bits is measured with a stored mean"),
        ("compress.k=1", "compress.k = 1: input should be greater than or equal to 2"),
        ("compress.k=65537", "compress.k = 65537: input should be less than or equal to 65536"),
        ("compress.ratio=-1", "compress.ratio = -1: input should be greater than 0"),
        ("compress.max_loss=1", "compress.max_loss = 1: input should be less than 1"),
        ("compress.whiten=1", "unknown key 'compress.whiten': did you mean 'whitening'?"),
        ("compress.stacks=['left']", "compress.stacks.0 = 'left': input should be 'encoder' or"),
        ("k=3", "unknown key 'k': settings are in section [compress]"),
        ("compress.k", "--set compress.k: write it as key=value, as in --set compress.k=16"),
    ],
)
def test_contradictions_and_invalid_values_are_rejected_in_one_sentence(
    overrides: str, message: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        load_compress_config(overrides=overrides.split())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[compress]\nk = 1\n", r"c\.toml: compress\.k = 1: input should be"),
        (b"k = 1\n", r"c\.toml: unknown key 'k': settings are in section \[compress\]"),
        (b"[compress\n", r"c\.toml is not TOML: "),
        (b"\xff", r"c\.toml is not TOML: "),
        (None, r"c\.toml cannot be read: No such file or directory"),
    ],
)
def test_an_error_names_an_invalid_file(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "c.toml").write_bytes(content)
    with pytest.raises(RecipeError, match=message):
        load_compress_config(tmp_path / "c.toml")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        CompressConfig().k = 3  # type: ignore[misc]
