"""Characters of a month: limits, months, what is stored and what is given back."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from yakusu.errors import RecipeError
from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError
from yakusu.serve.store import ServiceStore
from yakusu.serve.usage import Usage

ANNA, BEN = Key(key="key of Anna", per_month=10), Key(key="key of Ben")


def test_a_key_may_translate_exactly_its_characters() -> None:
    usage = Usage(ServiceStore(None))
    usage.take(ANNA, 7)
    with pytest.raises(RefusedError, match="per_month = 10") as found:
        usage.take(ANNA, 4)
    assert found.value.status == 456
    usage.check(ANNA, 3)
    with pytest.raises(RefusedError, match="per_month = 10"):
        usage.check(ANNA, 4)
    month = usage.take(ANNA, 3)
    with pytest.raises(RefusedError, match="per_month = 10"):
        usage.check(ANNA)
    usage.give_back(ANNA, 3, month)
    assert usage.count(ANNA) == 7


def test_other_keys_have_no_limit_and_their_own_count() -> None:
    usage = Usage(ServiceStore(None))
    usage.take(BEN, 1000)
    usage.take(None, 5)
    usage.check(BEN)
    assert (usage.count(BEN), usage.count(None), usage.count(ANNA)) == (1000, 5, 0)


def test_a_month_begins_with_nothing() -> None:
    now = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
    usage = Usage(ServiceStore(None), lambda: now)
    usage.take(ANNA, 10)
    now = datetime(2026, 12, 1, 0, 0, tzinfo=UTC)
    assert usage.count(ANNA) == 0
    usage.take(ANNA, 10)
    usage.save()
    assert usage.count(ANNA) == 10


def test_what_an_earlier_month_gives_back_does_not_count() -> None:
    now = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
    usage = Usage(ServiceStore(None), lambda: now)
    month = usage.take(ANNA, 10)
    now = datetime(2026, 12, 1, 0, 0, tzinfo=UTC)
    usage.take(ANNA, 2)
    usage.give_back(ANNA, 10, month)
    assert usage.count(ANNA) == 2


def test_processes_read_what_others_have_stored(tmp_path: Path) -> None:
    one, other = (Usage(ServiceStore(tmp_path)) for _ in range(2))
    one.take(ANNA, 4)
    other.take(ANNA, 5)
    one.save()
    other.save()
    assert other.count(ANNA) == 9
    one.save()
    one.save()
    assert one.count(ANNA) == 9
    with pytest.raises(RefusedError, match="per_month = 10"):
        one.take(ANNA, 2)


def test_counts_are_stored_once(tmp_path: Path) -> None:
    store = ServiceStore(tmp_path)
    usage = Usage(store)
    usage.take(ANNA, 3)
    usage.save()
    usage.save()
    usage.take(ANNA, 4)
    usage.save()
    store.close()
    assert Usage(ServiceStore(tmp_path)).count(ANNA) == 7


def test_what_cannot_be_stored_is_stored_later(tmp_path: Path) -> None:
    store = ServiceStore(tmp_path)
    usage = Usage(store)
    usage.take(ANNA, 3)
    with store.transaction() as db:
        db.execute("ALTER TABLE usage RENAME TO other")
    with pytest.raises(RefusedError, match="cannot store data"):
        usage.save()
    with store.transaction() as db:
        db.execute("ALTER TABLE other RENAME TO usage")
    usage.save()
    store.close()
    assert Usage(ServiceStore(tmp_path)).count(ANNA) == 3


def test_a_service_ends_when_all_counts_are_stored(tmp_path: Path) -> None:
    begun, may_store = Event(), Event()

    class Slow(ServiceStore):
        def transaction(self, *, writes: bool = True) -> Any:
            if not begun.is_set():
                begun.set()
                may_store.wait()
            return super().transaction(writes=writes)

    def end() -> None:
        usage.save()
        store.close()

    begun.set()  # not the first one, which reads
    store = Slow(tmp_path)
    usage = Usage(store)
    usage.take(ANNA, 3)
    begun.clear()
    with ThreadPoolExecutor(2) as threads:
        saved = threads.submit(usage.save)
        begun.wait()
        ended = threads.submit(end)
        wait([ended], timeout=0.2)
        may_store.set()
        assert (saved.result(), ended.result()) == (None, None)
    assert Usage(ServiceStore(tmp_path)).count(ANNA) == 3


@pytest.mark.parametrize("content", [b"no database, but a text of more than 100 bytes" * 3, None])
def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / "data").write_bytes(b"")  # a file in place of the folder
    else:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "service.db").write_bytes(content)
    with pytest.raises(RecipeError, match=r"data = '.*data' cannot be used: "):
        ServiceStore(tmp_path / "data")


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    store = ServiceStore(tmp_path)
    store._db.execute("PRAGMA user_version = 2")
    store.close()
    with pytest.raises(RecipeError, match=r"service\.db has format 2, and not 1"):
        ServiceStore(tmp_path)


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    store = ServiceStore(tmp_path)
    with pytest.raises(RefusedError), store.transaction() as db:
        db.execute("INSERT INTO usage VALUES ('a', 'b', 1)")
        raise RefusedError(400, "no")
    with store.transaction() as db:
        assert db.execute("SELECT count(*) FROM usage").fetchone() == (0,)
