"""How many characters each API key has translated this month (UTC), and how many it may."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from sqlite3 import Connection
from threading import Lock

from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError
from yakusu.serve.store import ServiceStore, owner_of

QUOTA_EXCEEDED = 456  # DeepL's status


def _now() -> datetime:
    return datetime.now(UTC)


class Usage:
    """Counts the characters of source texts; any number of threads may use it.

    Counts are kept in memory, and stored by `save`, which reads those of other processes, too: a
    process that is killed loses what it has counted since. Requests without a key of the service
    share one count, which has no limit.

    Args:
        store: Where the counts are stored.
        now: Returns the time.
    """

    def __init__(self, store: ServiceStore, now: Callable[[], datetime] = _now) -> None:
        self._store, self._now = store, now
        self._lock, self._saving = Lock(), Lock()  # of the counts; of what is being stored
        self._month, self._counts, self._new = "", Counter[str](), Counter[str]()

    def count(self, key: Key | None) -> int:
        """The characters of a key in this month."""
        with self._lock:
            return self._counts_now()[owner_of(key)]

    def check(self, key: Key | None, n: int = 1) -> None:
        """Refuse a key that has fewer characters left.

        Raises:
            RefusedError: It has fewer (456).
        """
        _check_limit(key, self.count(key), n)

    def take(self, key: Key | None, n: int) -> str:
        """Count characters, and return the month.

        Raises:
            RefusedError: They exceed the limit of the key (456), and are not counted.
        """
        owner = owner_of(key)
        with self._lock:
            counts = self._counts_now()
            _check_limit(key, counts[owner], n)
            counts[owner] += n
            self._new[owner] += n
            return self._month

    def give_back(self, key: Key | None, n: int, month: str) -> None:
        """Count characters of a month no more: they were not translated."""
        with self._lock:
            if month == self._month:  # otherwise, nobody asks for them
                self._counts[owner_of(key)] -= n
                self._new[owner_of(key)] -= n

    def save(self) -> None:
        """Store what was counted since the last time, and read what other processes have stored.

        Raises:
            RefusedError: It cannot be stored now; it is stored the next time.
        """
        with self._saving:  # the service closes the store only when all is stored
            self._save()

    def _save(self) -> None:
        with self._lock:
            month, new, self._new = self._month, self._new, Counter()
        try:
            with self._store.transaction(writes=bool(new)) as db:
                db.executemany(
                    "INSERT INTO usage VALUES (?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET characters = characters + excluded.characters",
                    [(owner, month, n) for owner, n in new.items()],
                )
                stored = _stored(db, month)
        except RefusedError:
            with self._lock:
                if month == self._month:
                    self._new.update(new)
            raise
        with self._lock:
            if month == self._month:
                stored.update(self._new)  # counted meanwhile
                self._counts = stored

    def _counts_now(self) -> Counter[str]:
        """The counts of this month, which a new month sets to 0."""
        month = self._now().strftime("%Y-%m")
        if month != self._month:
            with self._store.transaction(writes=False) as db:
                self._counts = _stored(db, month)
            self._month, self._new = month, Counter()
        return self._counts


def _stored(db: Connection, month: str) -> Counter[str]:
    rows = db.execute("SELECT owner, characters FROM usage WHERE month = ?", (month,))
    return Counter(dict(rows.fetchall()))


def _check_limit(key: Key | None, count: int, n: int) -> None:
    if n and key and (limit := key.per_month) and count + n > limit:
        message = f"Quota exceeded: the key may translate {limit} characters a month"
        raise RefusedError(QUOTA_EXCEEDED, f"{message} (per_month = {limit})", reason="per_month")
