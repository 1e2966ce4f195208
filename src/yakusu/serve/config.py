"""The settings of the service."""

import re
import tomllib
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Literal

from yakusu.config import (
    Config,
    apply_override,
    did_you_mean,
    fault_keys,
    fault_message,
    fault_place,
    parsed_toml,
)
from yakusu.engine.config import Precision
from yakusu.errors import RecipeError
from yakusu.folder import read_utf8
from yakusu.typed import ValidationError, setting

ROUTES = (  # first parts of the paths of the service
    *("assets", "detect", "docs", "download_file", "frontend", "health", "languages", "metrics"),
    *("modernmt", "spec", "suggest", "translate", "translate_file", "v1", "v2", "v3"),
)
_PREFIX = re.compile(r"(/[\w.~-]+)*")


class Limits(Config):
    """What one request, one client and all clients together may use.

    Attributes:
        body: Maximum size of a request without a file, in bytes.
        file: Maximum size of a request with a document, in bytes.
        kept: Maximum number of translated documents that are kept; the oldest ones are removed.
        suggestions: Maximum size of the file of suggestions, in bytes.
        characters: Maximum number of characters in a text, or in all texts of a list.
        texts: Maximum number of texts in a list.
        lines: Maximum number of lines in a text, or in all texts of a list.
        depth: Maximum depth of nested JSON.
        values: Maximum number of values in JSON, keys included.
        alternatives: Maximum number of alternatives.
        terms: Maximum number of terms and phrases in a request, or in a glossary of a memory.
        created: Maximum number of memories that clients with an API key, or without one, create.
        glossaries: Maximum number of stored glossaries of an API key.
        entries: Maximum number of terms in a stored glossary.
        stored: Maximum size of all stored glossaries together, in bytes.
        segments: Size of all created memories together, in bytes, beyond which nothing is added.
        traced: Maximum number of characters of a text whose search is traced.
        detailed: Maximum number of characters of a text with `details`, times `n_best`.
        weights: Maximum number of attention weights in a response.
        waiting: Maximum number of requests that are being translated or waiting; further ones are
            refused.
        seconds: Maximum seconds for the translation of a request.
        file_seconds: Maximum seconds for the translation of a document.
        file_memory: Maximum memory for reading and writing a document, in bytes.
        file_cpu_seconds: Maximum processor time for reading and writing a document, in seconds.
        memory: Maximum memory that all requests together hold, in bytes, with that of their
            documents and without that of the models.
        body_seconds: Maximum seconds for the headers to arrive, and as many again for the body.
        write_seconds: Maximum seconds in which a client reads nothing of what is sent to it.
        connections: Maximum number of open connections.
        per_address: Maximum number of open connections from an address, or of requests from an
            address behind a trusted proxy; None: half of `connections`; 0: unlimited.
        per_minute: Requests per minute from an address, without a key; 0: unlimited.
    """

    body: int = setting(2_000_000, ge=1)
    file: int = setting(20_000_000, ge=1)
    kept: int = setting(100, ge=1)
    suggestions: int = setting(100_000_000, ge=1)
    characters: int = setting(100_000, ge=1)
    texts: int = setting(1_000, ge=1)
    lines: int = setting(5_000, ge=1)
    depth: int = setting(10, ge=1)
    values: int = setting(10_000, ge=1)
    alternatives: int = setting(10, ge=0)
    terms: int = setting(1_000, ge=0)
    created: int = setting(1_000, ge=0)
    glossaries: int = setting(1_000, ge=0)
    entries: int = setting(10_000, ge=1)
    stored: int = setting(100_000_000, ge=0)
    segments: int = setting(1_000_000_000, ge=0)
    traced: int = setting(2_000, ge=0)
    detailed: int = setting(100_000, ge=0)
    weights: int = setting(2_000_000, ge=0)
    waiting: int = setting(128, ge=1)
    seconds: float = setting(60.0, gt=0)
    file_seconds: float = setting(600.0, gt=0)
    file_memory: int = setting(512_000_000, ge=1)
    file_cpu_seconds: int = setting(60, ge=1)
    memory: int = setting(1_000_000_000, ge=1)
    body_seconds: float = setting(20.0, gt=0)
    write_seconds: float = setting(20.0, gt=0)
    connections: int = setting(500, ge=1)
    per_address: int | None = setting(None, ge=0)
    per_minute: int = setting(0, ge=0)

    @property
    def most_per_address(self) -> int:
        """`per_address`, or half of `connections`; 0: unlimited."""
        return -(-self.connections // 2) if self.per_address is None else self.per_address


def _refuse_names(networks: tuple[str, ...]) -> tuple[str, ...]:
    for each in networks:
        try:
            ip_network(each)
        except ValueError as error:
            raise ValueError(
                f"trusted_proxies has '{each}', which is not an address or a network: write "
                "10.0.0.1 or 10.0.0.0/8"
            ) from error
    return networks


def _check_prefix(path: str) -> str:
    if not _PREFIX.fullmatch(path):
        raise ValueError(
            f"root_path = '{path}': begin with a slash and do not end with one, as in /mt; "
            "between slashes, use only letters, digits and - . _ ~"
        )
    if (first := path.split("/")[1:2]) and first[0] in ROUTES:
        raise ValueError(f"root_path = '{path}' begins like a path of the service: use /mt")
    return path


class ServeConfig(Config):
    """The service.

    Attributes:
        host: Address to listen on.
        port: Port to listen on; 0: a free one.
        root_path: Path prefix under which a reverse proxy publishes the service, such as
            "/mt"; "": none.
        threads: Number of threads that decode; None: one per processor core.
        precision: Precision of the engine, as in `EngineConfig`.
        keys: Path of a file of API keys; "": none. See `access.py`.
        require_key: Refuse requests without a key.
        data: Path of a folder for the memories and glossaries of clients, and for the characters
            that keys have translated; "": these are lost when the service ends.
        memory: Paths of translation memories, each for the direction of its languages; (): those
            that the models name.
        memory_writable: Let everybody who may call the service add to its memories. Otherwise,
            clients with an API key may, and if there are no keys, those of this computer.
        min_quality: Lowest estimated quality of the translation of a sentence, from 0 to 100; a
            sentence whose translation is worse is kept. 0: none is.
        suggestions: Path of a file to which suggested translations are appended; "": suggestions
            are refused.
        trusted_proxies: Addresses or networks of proxies whose X-Forwarded-For header is used.
        allow_origins: Origins whose pages may call the service (CORS), or "*".
        shutdown_seconds: Seconds for which requests may finish after SIGTERM or SIGINT.
        reload_seconds: Seconds between two checks of the model folders; 0: they are read once.
        log_text: Write the texts of requests to the log.
        log_format: "text", or "json": an object on each line.
        limits: What requests may use.
    """

    host: str = "127.0.0.1"
    port: int = setting(5000, ge=0, le=65535)
    root_path: str = setting("", then=_check_prefix)
    threads: int | None = setting(None, ge=1)
    precision: Precision = "auto"
    keys: str = ""
    require_key: bool = False
    data: str = ""
    memory: tuple[str, ...] = ()
    memory_writable: bool = False
    min_quality: int = setting(0, ge=0, le=100)
    suggestions: str = ""
    trusted_proxies: tuple[str, ...] = setting((), then=_refuse_names)
    allow_origins: tuple[str, ...] = ()
    shutdown_seconds: float = setting(20.0, ge=0)
    reload_seconds: float = setting(2.0, ge=0)
    log_text: bool = False
    log_format: Literal["text", "json"] = "text"
    limits: Limits = Limits()

    @property
    def is_local(self) -> bool:
        """Whether only programs of this computer, and no proxy that is known, send requests."""
        return not self.trusted_proxies and is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a name or an address is that of this computer for itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def load_config(path: str | Path | None = None, overrides: Sequence[str] = ()) -> ServeConfig:
    """Read the settings of the service from a TOML file, and override some.

    Args:
        path: The file; None: the defaults.
        overrides: Settings as KEY=VALUE, such as "limits.characters=5000".

    Raises:
        RecipeError: The file cannot be read, or a setting is unknown or invalid.
    """
    text = "" if path is None else _read(path)
    try:
        values = parsed_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path} is not a TOML file: {error}") from error
    for override in overrides:
        apply_override(values, override, example="limits.characters=5000")
    try:
        return ServeConfig.model_validate(values)
    except ValidationError as error:
        keys = fault_keys(error, values)
        where = fault_place(keys, text, str(path or "the settings"), overrides)
        raise RecipeError(f"{where}: {_problem(error, keys)}") from error


def _read(path: str | Path) -> str:
    try:
        return read_utf8(Path(path))
    except OSError as error:
        raise RecipeError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is not UTF-8: save it as UTF-8") from error


def _problem(fault: ValidationError, keys: Sequence[str]) -> str:
    if fault.kind != "unknown":
        return fault_message(fault, keys)
    *groups, key = keys
    owner: type[Config] = Limits if groups else ServeConfig
    section = "".join(f"{group}." for group in groups)
    hint = did_you_mean(key, [*owner.model_fields()], section=section)
    return f"unknown key '{section}{key}': {hint}"
