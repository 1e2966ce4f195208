"""Translations that people confirm are used by the requests after them."""

from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import Client, StartClient
from yakusu.memory.memory import TranslationMemory

PAIR = {"source": "de", "target": "en"}


@pytest.fixture
def team(tmp_path: Path) -> str:
    path = tmp_path / "team.db"
    TranslationMemory.open(path, ("de", "en"), writable=True).close()
    return str(path)


def asked(client: Client, **values: Any) -> Any:
    return client.post("/v1/memory", json=PAIR | values).json()


def translated(client: Client, text: str) -> str:
    found: str = client.post("/translate", json={"q": text, **PAIR}).json()["translatedText"]
    return found


def test_the_next_request_uses_a_translation(start: StartClient, team: str) -> None:
    client = start("de-en", memory=[team])
    before = translated(client, "Sichern")
    first = asked(client, action="add", text="Sichern", translation="Save")
    assert translated(client, "Sichern") == "Save"
    assert asked(client, action="search", text="Sichern")["matches"][0] | {"time": ""} == {
        "match": 100,
        "translation": "Save",
        "id": first["id"],
        "source": "Sichern",
        "target": "Save",
        "origin": "correction",
        "time": "",
    }
    assert asked(client, action="delete", id=first["id"]) == {"deleted": True}
    assert asked(client, action="delete", id=first["id"]) == {"deleted": False}
    assert translated(client, "Sichern") == before


def test_the_translation_that_was_confirmed_last_is_used(start: StartClient, team: str) -> None:
    client = start("de-en", memory=[team])
    for translation in ("Save", "Store", "Save"):
        asked(client, action="add", text="Sichern", translation=translation)
        assert translated(client, "Sichern") == translation
    with TranslationMemory.open(Path(team)) as memory:
        assert len(memory) == 2


def test_suggestions_are_stored_in_the_memory(start: StartClient, team: str) -> None:
    client = start("de-en", memory=[team])
    row = {"q": "Sichern", "s": "Save", **PAIR}
    assert client.post("/suggest", data=row).json() == {"success": True}
    assert translated(client, "Sichern") == "Save"


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"action": "add", "text": "Sichern"}, "add needs texts that are not empty"),
        ({"action": "search"}, "search needs texts that are not empty"),
        ({"action": "drop"}, "action: Input should be 'add', 'search' or 'delete'"),
        ({"action": "add", "texts": []}, "unknown parameter 'texts': did you mean 'text'?"),
    ],
)
def test_bodies_are_checked(
    start: StartClient, team: str, values: dict[str, Any], error: str
) -> None:
    answer = start("de-en", memory=[team]).post("/v1/memory", json=PAIR | values)
    assert answer.status_code == 400
    assert error in answer.json()["error"]


def test_a_pair_without_a_memory_is_refused(start: StartClient) -> None:
    answer = start("de-en").post("/v1/memory", json={"action": "search", "text": "a", **PAIR})
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "There is no memory for de-en on this server."},
    )


ADD = {"action": "add", "text": "Sichern", "translation": "Save", **PAIR}


def status(client: Client, key: str = "", **headers: str) -> int:
    return client.post("/v1/memory", json=ADD | {"api_key": key}, headers=headers).status_code


def test_only_this_computer_adds_if_there_are_no_keys(start: StartClient, team: str) -> None:
    assert status(start("de-en", memory=[team], host="0.0.0.0")) == 403
    assert status(start("de-en", memory=[team], host="0.0.0.0", memory_writable=True)) == 200
    local = start("de-en", memory=[team])
    assert status(local, origin="https://example.com") == 403
    assert status(local) == 200


def test_clients_with_a_key_add_if_there_are_keys(
    start: StartClient, team: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('[[keys]]\nkey = "a long secret"\n')
    client = start("de-en", memory=[team], keys=str(keys))
    assert status(client) == 403
    assert status(client, key="a long secret") == 200
    row = {"q": "Sichern", "s": "Save", **PAIR}
    assert client.post("/suggest", data=row).status_code == 403
    assert client.post("/suggest", data=row | {"api_key": "a long secret"}).status_code == 200
