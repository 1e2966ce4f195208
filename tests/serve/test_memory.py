"""Translations that people confirm are used by the requests after them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import yakusu
from tests.serve.conftest import Client, StartClient
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service

PAIR = {"source": "de", "target": "en"}


@pytest.fixture
def start(folders: dict[str, Path]) -> Iterator[StartClient]:
    """Start a service in this process, which reads no documents; see `conftest.py`."""
    with ExitStack() as stack:

        def begin(*names: str, **settings: Any) -> TestClient:
            service = Service(ServeConfig.model_validate(settings), [folders[n] for n in names])
            stack.callback(service.close)
            return TestClient(create_app(service), base_url="http://localhost")

        yield begin


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


def test_the_memories_that_the_models_name_are_used_unless_others_are_given(
    folders: dict[str, Path], team: str, tmp_path: Path
) -> None:
    with TranslationMemory.open(Path(team), writable=True) as memory:
        memory.add([MemorySegment("Sichern", "Save")])
    model = Path(shutil.copytree(folders["de-en"], tmp_path / "model"))
    other = tmp_path / "other.db"
    TranslationMemory.open(other, ("de", "en"), writable=True).close()
    yakusu.card(model, memory=team)
    for given, is_used in (((), True), ((str(other),), False)):
        with closing(Service(ServeConfig(memory=given), [model])) as service:
            client = TestClient(create_app(service), base_url="http://localhost")
            assert (translated(client, "Sichern") == "Save") is is_used


def test_the_translation_that_was_confirmed_last_is_used(start: StartClient, team: str) -> None:
    client = start("de-en", memory=[team])
    for translation in ("Save", "Store", "Save"):
        asked(client, action="add", text="Sichern", translation=translation)
        assert translated(client, "Sichern") == translation
    with TranslationMemory.open(Path(team)) as memory:
        assert len(memory) == 2


def test_a_memory_that_cannot_be_used_is_the_fault_of_the_service(
    start: StartClient, team: str
) -> None:
    """And the client does not learn where it is."""
    client = start("de-en", memory=[team])
    Path(team).unlink()
    text = {"text": "Sichern", **PAIR}
    answers = [
        client.post("/translate", json={"q": "Sichern", **PAIR}),
        client.post("/v1/translate", json=text),
        *(
            client.post("/v1/memory", json=text | {"action": action, "translation": "Save"})
            for action in ("add", "search")
        ),
    ]
    assert {each.status_code for each in answers} == {503}
    assert not any(team in each.text for each in answers)
    streamed = client.post("/v1/stream", json=text).text
    assert "cannot be used now" in streamed and team not in streamed


def test_no_match_is_stated_for_a_translation_through_a_pivot(
    start: StartClient, tmp_path: Path
) -> None:
    """The memory has what the first model has written, which nobody has confirmed."""
    path = tmp_path / "fr.db"
    TranslationMemory.open(path, ("en", "fr"), writable=True).close()
    client = start("de-en", "en-fr", memory=[str(path)])
    english = translated(client, "Sichern")
    pair = {"source": "en", "target": "fr"}
    client.post("/v1/memory", json={"action": "add", "text": english, "translation": "X", **pair})
    text = {"text": "Sichern", "source": "de", "target": "fr"}
    (best,) = client.post("/v1/translate", json=text).json()["translations"]
    assert best["text"] == "X"
    assert not best.keys() & {"match", "matches"}
    unit = '<trans-unit id="1"><source>Sichern</source></trans-unit>'
    xliff = (
        '<xliff version="1.2"><file original="a" source-language="de" target-language="fr" '
        f'datatype="plaintext"><body>{unit}</body></file></xliff>'
    )
    url = client.post("/translate_file", files={"file": ("a.xlf", xliff)}, data=text).json()
    written = client.get(url["translatedFileUrl"]).text
    assert ">X</target>" in written and "exact-match" not in written


def test_suggestions_are_stored_in_the_memory(start: StartClient, team: str) -> None:
    client = start("de-en", memory=[team])
    row = {"q": "Sichern", "s": "Save", **PAIR}
    assert client.post("/suggest", data=row).json() == {"success": True}
    assert translated(client, "Sichern") == "Save"


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"action": "add", "text": "Sichern"}, "add needs texts that are not empty"),
        ({"action": "add", "text": "a", "translation": "x" * 10_001}, "at most 10,000 characters"),
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
ROW = {"q": "Sichern", "s": "Save", **PAIR}
KEYS = """
[[keys]]
key = "a long secret"
name = "Anna"
memory = ["{own}"]

[[keys]]
key = "another secret"
"""


def status(client: Client, key: str = "", **headers: str) -> int:
    return client.post("/v1/memory", json=ADD | {"api_key": key}, headers=headers).status_code


# ---- without keys --------------------------------------------------------------------------------


def test_only_this_computer_adds_if_there_are_no_keys(start: StartClient, team: str) -> None:
    assert status(start("de-en", memory=[team], host="0.0.0.0")) == 403
    assert status(start("de-en", memory=[team], host="0.0.0.0", memory_writable=True)) == 200
    assert status(start("de-en", memory=[team], trusted_proxies=["127.0.0.1"])) == 403
    assert status(start("de-en", memory=[team])) == 200


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),  # curl
        ({"Origin": "http://localhost"}, True),  # the page
        ({"Origin": "http://127.0.0.1:5000", "Host": "127.0.0.1:5000"}, True),
        ({"Origin": "http://[::1]:5000", "Host": "[::1]:5000"}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "http://localhost:8080"}, False),  # another program of this computer
        ({"Origin": "null"}, False),  # a page in a sandbox, or after a redirect
        ({"Origin": ""}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Host": "evil.example:5000", "Origin": "http://evil.example:5000"}, False),  # rebinding
        ({"Host": "evil.example:5000"}, False),
        ({"Host": "localhost.evil.example"}, False),
        ({"Host": ""}, False),
        ({"X-Forwarded-For": "203.0.113.7"}, False),  # a proxy on this computer
        ({"X-Forwarded-For": "127.0.0.1"}, False),
        ({"X-Forwarded-Proto": "https"}, False),
        ({"X-Real-IP": "203.0.113.7"}, False),
        ({"Forwarded": "for=203.0.113.7"}, False),
        ({"Via": "1.1 proxy"}, False),
    ],
)
def test_only_programs_and_the_page_of_this_computer_add(
    local: Client, headers: dict[str, str], allowed: bool
) -> None:
    expected = 200 if allowed else 403
    assert status(local, **headers) == expected
    assert local.post("/suggest", data=ROW, headers=headers).status_code == expected
    asked = {"text": "Sichern", **PAIR}
    told = local.post("/v1/translate", json=asked, headers=headers).json()["memory"]
    assert told == ("write" if allowed else "read")


@pytest.fixture(scope="module")
def local(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A service on the loopback interface, without keys."""
    path = tmp_path_factory.mktemp("local") / "team.db"
    TranslationMemory.open(path, ("de", "en"), writable=True).close()
    service = Service(ServeConfig(memory=(str(path),)), [folders["de-en"]])
    yield TestClient(create_app(service), base_url="http://localhost")
    service.close()


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"]
)
def test_what_a_form_of_any_page_can_send_is_no_json(local: Client, kind: str) -> None:
    headers = {"Content-Type": kind}
    answer = local.post("/v1/memory", content=json.dumps(ADD), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "Invalid request: send JSON with Content-Type: application/json",
    )


def test_a_page_of_any_origin_adds_only_with_a_key(
    start: StartClient, team: str, tmp_path: Path
) -> None:
    page, settings = {"Origin": "https://example.org"}, {"memory": [team], "allow_origins": ["*"]}
    assert status(start("de-en", **settings), **page) == 403
    assert status(start("de-en", **settings, memory_writable=True), **page) == 200
    named = {**settings, "allow_origins": ["https://example.org"]}
    assert status(start("de-en", **named), **page) == 200
    keys = tmp_path / "keys.toml"
    keys.write_text('[[keys]]\nkey = "a long secret"\n')
    assert status(start("de-en", **settings, keys=str(keys)), "a long secret", **page) == 200


# ---- keys ----------------------------------------------------------------------------------------


@pytest.fixture
def keyed(start: StartClient, team: str, tmp_path: Path) -> Client:
    """A service whose first key has a memory of its own."""
    own = tmp_path / "anna.db"
    TranslationMemory.open(own, ("de", "en"), writable=True).close()
    keys = tmp_path / "keys.toml"
    keys.write_text(KEYS.format(own=own))
    return start("de-en", memory=[team], keys=str(keys))


def test_clients_with_a_key_add_if_there_are_keys(keyed: Client) -> None:
    assert status(keyed) == 403
    assert status(keyed, key="another secret") == 200
    assert status(keyed, key="a wrong secret") == 403
    assert keyed.post("/suggest", data=ROW).status_code == 403
    assert keyed.post("/suggest", data=ROW | {"api_key": "a long secret"}).status_code == 200


def test_a_key_has_a_memory_of_its_own(keyed: Client, tmp_path: Path) -> None:
    def best(key: str) -> str:
        given = {"q": "Sichern", "api_key": key, **PAIR}
        found: str = keyed.post("/translate", json=given).json()["translatedText"]
        return found

    before = best("")
    made = asked(keyed, **ADD, api_key="a long secret")
    assert [best("a long secret"), best("another secret"), best("")] == ["Save", before, before]
    asked(keyed, **ADD | {"translation": "Store", "api_key": "another secret"})
    assert [best("a long secret"), best("another secret"), best("")] == ["Save", "Store", "Store"]
    with TranslationMemory.open(tmp_path / "anna.db") as memory:
        assert [(each.segment.target, each.segment.who) for each in memory] == [("Save", "Anna")]
    delete = {"action": "delete", "id": made["id"], "api_key": "a long secret"}
    assert asked(keyed, **delete) == {"deleted": True}
    assert best("a long secret") == "Store"  # that of the service


def test_only_a_key_with_a_memory_has_one_if_the_service_has_none(
    start: StartClient, team: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(KEYS.format(own=team))
    client = start("de-en", keys=str(keys))
    assert status(client, key="a long secret") == 200
    assert status(client, key="another secret") == 404
    given = {"text": "Sichern", **PAIR}
    for key, memory in {"": None, "a long secret": "write", "another secret": None}.items():
        answer = client.post("/v1/translate", json=given | {"api_key": key}).json()
        assert answer["memory"] == memory
    assert client.get("/v1/models").json()["models"][0]["memory"] is None


def test_the_models_say_what_a_client_without_a_key_may_do(
    start: StartClient, team: str, keyed: Client
) -> None:
    for client, access in (
        (start("de-en", "en-fr", memory=[team]), {"de-en": "write", "en-fr": None, "de-fr": None}),
        (start("de-en", memory=[team], host="0.0.0.0"), {"de-en": "read"}),
        (keyed, {"de-en": "read"}),
    ):
        rows = client.get("/v1/models").json()["models"]
        assert {f"{row['source']}-{row['target']}": row["memory"] for row in rows} == access
