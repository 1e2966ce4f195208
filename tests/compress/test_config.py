"""Settings of compression: files, overrides, and combinations that are rejected."""

import json
from pathlib import Path

import pytest

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
    assert CompressConfig.model_validate_json(json.dumps(config.model_dump())) == config


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
        (
            "compress.step=1",
            "--set: compress.step has no effect unless compress.method = 'integers'",
        ),
        (
            "compress.method=integers compress.k=4 compress.m=2",
            "--set: compress.m and compress.k have no",
        ),
        (
            "compress.bits=9 compress.ratio=4",
            "--set: compress.ratio and compress.bits are given together",
        ),
        (
            "compress.bits=9 compress.k=4",
            "--set: compress.bits chooses compress.m and compress.k: leave",
        ),
        (
            "compress.method=integers compress.bits=9 compress.step=1",
            "--set: compress.bits chooses compress.step: leave out compress.step",
        ),
        (
            "compress.bits=9 compress.mean=folded",
            "--set: compress.bits is measured with a stored mean",
        ),
        ("compress.k=1", "--set: compress.k = 1: input should be greater than or equal to 2"),
        (
            "compress.k=65537",
            "--set: compress.k = 65537: input should be less than or equal to 65536",
        ),
        ("compress.ratio=-1", "--set: compress.ratio = -1: input should be greater than 0"),
        ("compress.max_loss=1", "--set: compress.max_loss = 1: input should be less than 1"),
        (
            "compress.whiten=1",
            "--set: unknown key 'compress.whiten': did you mean 'compress.whitening'?",
        ),
        (
            "compress.stacks=['left']",
            "--set: compress.stacks.0 = 'left': input should be 'encoder' or",
        ),
        ("compress.kk=8", "--set: unknown key 'compress.kk': did you mean 'compress.k'?"),
        ("k=8", "--set: unknown key 'k': did you mean 'compress.k'?"),
        (
            "compressed.fit=adam",
            "--set: unknown key 'compressed.fit': did you mean 'compress.fit'?",
        ),
        ("compress.no=1", "--set: unknown key 'compress.no': choose from compress.bits, compress."),
        ("compress=1", "--set: compress = 1 is a group of keys: write compress.KEY = VALUE"),
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
    ("content", "overrides", "options", "message"),
    [
        (
            "k = 8",
            [],
            {"ratio": 4.0},
            "--ratio and {file}: compress.ratio chooses compress.m and compress.k: leave out "
            "compress.k",
        ),
        (
            "method = 'integers'",
            ["compress.k=8", "compress.m=2"],
            {},
            "--set and {file}: compress.m and compress.k have no effect unless compress.method = "
            "'codes': set compress.method or leave out compress.m and compress.k",
        ),
        (
            "k = 8",
            ["compress.k=9"],
            {"method": "integers"},
            "--set and --method: compress.k has no effect unless compress.method = 'codes': set "
            "compress.method or leave out compress.k",
        ),
        (
            "k = 8\nbits = 9",
            [],
            {"int8": True},
            "{file}: compress.bits chooses compress.m and compress.k: leave out compress.k",
        ),
        ("k = 8", [], {"max_loss": 2.0}, "--max-loss: compress.max_loss = 2.0: input should be"),
        ("k = 1", ["compress.m=2"], {}, "{file}: compress.k = 1: input should be greater than or"),
        (
            "kk = 1",
            [],
            {"bits": 4.0},
            "{file}: unknown key 'compress.kk': did you mean 'compress.k'",
        ),
    ],
)
def test_a_contradiction_is_reported_where_the_keys_were_set(
    tmp_path: Path,
    content: str,
    overrides: list[str],
    options: dict[str, str | float | bool],
    message: str,
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f"[compress]\n{content}\n")
    with pytest.raises(RecipeError) as caught:
        load_compress_config(file, overrides, options=options)
    assert str(caught.value).startswith(message.format(file=file))


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
    with pytest.raises(AttributeError, match="frozen"):
        CompressConfig().k = 3  # type: ignore[misc]
