"""Who may call the service, and how often: API keys, and limits per minute.

A file of keys is TOML:

    [[keys]]
    key = "a long random text"
    per_minute = 120           # 0: unlimited
    per_month = 1_000_000      # characters; 0: unlimited
    name = "Anna"
    memory = ["anna.db"]
"""

import hmac
import ipaddress
import time
import tomllib
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from yakusu.config import Config, parsed_toml
from yakusu.errors import RecipeError
from yakusu.folder import read_utf8
from yakusu.serve.config import ServeConfig
from yakusu.serve.errors import RefusedError, over_limit
from yakusu.typed import ValidationError, setting

_MOST_CLIENTS = 10_000  # whose recent requests are counted


class Key(Config):
    """An API key.

    Attributes:
        key: The text that requests give.
        per_minute: Requests per minute; 0: unlimited.
        per_month: Characters of texts to translate in a calendar month (UTC); 0: unlimited.
        name: Who uses it; stored with what they confirm.
        memory: Paths of translation memories that only requests with this key use, before those of
            the service. What they confirm is stored in the first one of its languages.
    """

    key: Annotated[str, setting(min_length=8)]
    per_minute: int = setting(0, ge=0)
    per_month: int = setting(0, ge=0)
    name: str = ""
    memory: tuple[str, ...] = ()


class _Keys(Config):
    keys: tuple[Key, ...]


def read_keys(path: str | Path) -> tuple[Key, ...]:
    """Read a file of keys.

    Raises:
        RecipeError: The file cannot be read, or an entry is not valid. No key is in the message.
    """
    try:
        return _Keys.model_validate(parsed_toml(read_utf8(Path(path)))).keys
    except OSError as error:
        raise RecipeError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path} is not a TOML file: {error}") from error
    except ValidationError as error:
        raise RecipeError(
            f"{path}: {error}: write [[keys]] with key = (8 characters or more) and per_minute = N"
        ) from error


class Access:
    """Decides whether a client may call the service now.

    A client may send as many requests at once as its limit per minute allows; the allowance is
    refilled at an even rate.

    Args:
        config: The settings.
        clock: Returns the time in seconds.
    """

    def __init__(self, config: ServeConfig, clock: Callable[[], float] = time.monotonic) -> None:
        if config.require_key and not config.keys:
            raise RecipeError("require_key = true needs a file of keys: set keys")
        self.keys = read_keys(config.keys) if config.keys else ()
        self._may_all_write = config.memory_writable
        self._required, self._per_minute = config.require_key, config.limits.per_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests, and time

    @property
    def has_keys(self) -> bool:
        """Whether there are keys."""
        return bool(self.keys)

    def check(self, key: str, address: str) -> None:
        """Count a request of a client.

        Args:
            key: Its API key; "": none.
            address: Its address, whose requests are counted if it has no valid key. IPv6 addresses
                are counted together if their first 64 bits are equal: a client may have all of
                them. An IPv4 address that is mapped to IPv6 is that IPv4 address.

        Raises:
            RefusedError: The key is unknown (403), or there were too many requests (429).
        """
        known = self.known(key) if key else None
        limit = self._per_minute if known is None else known.per_minute
        if known and limit:
            self._take(f"key {known.key}", limit, "per_minute of the key")
        elif limit:
            self._take(f"address {_subnet(address)}", limit, "limits.per_minute")
        if known is None and key and self.keys:
            raise RefusedError(403, "Invalid API key")
        if known is None and self._required:
            raise RefusedError(403, "Please contact the server operator to get an API key")

    def check_writer(self, key: str, *, is_local: bool) -> None:
        """Refuse a client that may not add to a memory.

        Args:
            key: Its API key, which `check` has accepted; "": none.
            is_local: Whether it is a program or a page of this computer.

        Raises:
            RefusedError: It may not (403).
        """
        if self._may_all_write or (self.known(key) if self.keys else is_local):
            return
        needed = (
            "an API key"
            if self.keys
            else "memory_writable = true, which the operator sets, or a file of keys"
        )
        raise RefusedError(403, f"Storing translations needs {needed}", reason="memory_writable")

    def known(self, key: str) -> Key | None:
        """The key with a text; None: there is none."""
        given = key.encode()
        found = [each for each in self.keys if hmac.compare_digest(each.key.encode(), given)]
        return found[0] if found else None

    def _take(self, client: str, limit: int, setting: str) -> None:
        now, rate = self._clock(), limit / 60
        left, since = self._left.pop(client, (float(limit), now))
        left = min(limit, left + (now - since) * rate)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        while len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        if not allowed:
            wait = int((1 - left) / rate) + 1
            raise RefusedError(
                429,
                f"Slowdown: {limit} per 1 minute: try again in {wait} s ({setting} = {limit})",
                retry_after=wait,
                reason="limits.per_minute",
            )


class ByAddress:
    """Counts what is open for each address, connections or requests.

    IPv6 addresses count as for `Access`. Those of trusted proxies are not limited.

    Args:
        what: "connections" or "requests".
        config: The settings.
    """

    def __init__(self, what: str, config: ServeConfig) -> None:
        self._what, self._most = what, config.limits.most_per_address
        self._trusted = [ipaddress.ip_network(each) for each in config.trusted_proxies]
        self._open: Counter[str] = Counter()

    def enter(self, address: str) -> None:
        """Count one more; `leave` ends it.

        Raises:
            RefusedError: There are too many (429).
        """
        client = _subnet(address)
        if self._most and self._open[client] >= self._most and not self._trusts(address):
            raise over_limit(
                *("per_address", self._most, 429),
                f"Too many {self._what} from your address: try again later",
                retry_after=1,
            )
        self._open[client] += 1

    def leave(self, address: str) -> None:
        """Count one less."""
        client = _subnet(address)
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]

    def _trusts(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)


def _subnet(address: str) -> str:
    """An IPv4 address, also one that is mapped to IPv6; the subnet of other IPv6 addresses."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # such as that of a test
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
