"""How many characters each API key has translated this month (UTC), and how many it may."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock

from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError
from yakusu.serve.store import ServiceStore, owner_of

QUOTA_EXCEEDED = 456  # DeepL's status


def _now() -> datetime:
    return datetime.now(UTC)


class Usage:
    """Counts the characters of source texts; any number of threads may use it.

    Counts are kept in memory, and stored by `save`: the last ones are lost if the process is
    killed. Requests without a key of the service share one count, which has no limit.

    Args:
        store: Where the counts are stored.
        now: Returns the time.
    """

    def __init__(self, store: ServiceStore, now: Callable[[], datetime] = _now) -> None:
        self._store, self._now, self._lock = store, now, Lock()
        self._month, self._counts, self._new = "", Counter[str](), Counter[str]()

    def count(self, key: Key | None) -> int:
        """The characters of a key in this month."""
        with self._lock:
            return self._counts_now()[_owner(key)]

    def check(self, key: Key | None) -> None:
        """Refuse a key that has no characters left.

        Raises:
            RefusedError: It has none (456).
        """
        if key and key.per_month and self.count(key) >= key.per_month:
            raise _exceeded(key.per_month)

    def take(self, key: Key | None, n: int) -> None:
        """Count characters; fewer than 0: they were not translated.

        Raises:
            RefusedError: They exceed the limit of the key (456), and are not counted.
        """
        owner = _owner(key)
        with self._lock:
            counts = self._counts_now()
            if n > 0 and key and key.per_month and counts[owner] + n > key.per_month:
                raise _exceeded(key.per_month)
            counts[owner] += n
            self._new[owner] += n

    def save(self) -> None:
        """Store what was counted since the last time.

        Raises:
            RefusedError: It cannot be stored now; it is stored the next time.
        """
        with self._lock:
            month, new, self._new = self._month, self._new, Counter()
        try:
            if new:
                with self._store.transaction() as db:
                    db.executemany(
                        "INSERT INTO usage VALUES (?, ?, ?) ON CONFLICT DO UPDATE "
                        "SET characters = characters + excluded.characters",
                        [(owner, month, n) for owner, n in new.items()],
                    )
        except RefusedError:
            with self._lock:
                if month == self._month:
                    self._new.update(new)
            raise

    def _counts_now(self) -> Counter[str]:
        """The counts of this month, which a new month sets to 0."""
        month = self._now().strftime("%Y-%m")
        if month != self._month:
            with self._store.transaction(writes=False) as db:
                rows = db.execute("SELECT owner, characters FROM usage WHERE month = ?", (month,))
                self._counts = Counter(dict(rows.fetchall()))
            self._month, self._new = month, Counter()
        return self._counts


def _owner(key: Key | None) -> str:
    return owner_of(key.key) if key else ""


def _exceeded(limit: int) -> RefusedError:
    message = (
        f"Quota exceeded: the key may translate {limit} characters a month (per_month = {limit})"
    )
    return RefusedError(QUOTA_EXCEEDED, message, reason="per_month")
