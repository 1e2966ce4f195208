"""ModernMT's API: its package, and clients that see each other's memories.

The package's address is fixed in its code, so that the tests set `_ModernMT__base_url`.
"""

import gzip
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
from modernmt import ModernMT
from modernmt.modernmt import ModernMTException
from starlette.testclient import TestClient

from tests.serve.conftest import Running, StartClient, running
from tests.serve.test_clients import expected
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.created import CreatedMemories, TermSet
from yakusu.serve.errors import RefusedError
from yakusu.serve.service import Service
from yakusu.serve.store import ServiceStore

KEYS = ("anna's key", "ben's key")
TMX = """<tmx version="1.4"><header srclang="de"/><body>
<tu tuid="7"><tuv xml:lang="de"><seg>Öffnen</seg></tuv><tuv xml:lang="en"><seg>Open</seg></tuv>
<tuv xml:lang="fr"><seg>Ouvrir</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Sichern</seg></tuv><tuv xml:lang="en"><seg>Save</seg></tuv></tu>
</body></tmx>"""


def keys_file(folder: Path, *keys: str) -> str:
    """A file of keys, each named after its first letters."""
    entries = [f'[[keys]]\nkey = "{key}"\nname = "{key[:4]}"\n' for key in keys]
    (folder / "keys.toml").write_text("".join(entries))
    return str(folder / "keys.toml")


def opened(service: Running, key: str) -> ModernMT:
    client = ModernMT(key)
    client._ModernMT__base_url = f"{service.url}/modernmt"
    return client


@pytest.fixture(scope="module")
def service(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service with two keys and a folder for what their clients create."""
    folder = tmp_path_factory.mktemp("modernmt")
    settings: dict[str, Any] = {
        "keys": keys_file(folder, *KEYS),
        "require_key": True,
        "data": str(folder / "data"),
    }
    with running([*folders.values()], **settings) as found:
        yield found


@pytest.fixture
def client(service: Running) -> Iterator[ModernMT]:
    """Anna's client, whose memories are deleted afterwards."""
    found = opened(service, KEYS[0])
    yield found
    for memory in found.memories.list():
        found.memories.delete(memory.id)


def refused(do: Callable[[], Any]) -> tuple[int, str, str]:
    """The status, the type and the message of the error that a call raises."""
    with pytest.raises(ModernMTException) as found:
        do()
    return found.value.status, found.value.type, found.value.message


# ---- the package ---------------------------------------------------------------------------------


def test_the_package_translates(client: ModernMT) -> None:
    text = "Guten Tag. Der Zug kommt."
    found = client.translate("de", "en", text)
    assert found.translation == expected(text)
    assert found.characters == found.billedCharacters == len(text)
    several = client.translate(None, "en", ["Wo ist der Bahnhof?", "Das ist ein Haus."])
    assert [each.detectedLanguage for each in several] == ["de", "de"]
    assert several[1].translation == expected("Das ist ein Haus.")
    others = client.translate("de", "en", text, options={"alt_translations": 1})
    assert len(others.altTranslations) == 1 != others.translation
    page = client.translate("de", "en", "<p>Hallo</p>", options={"format": "text/html"})
    assert page.translation.startswith("<p>") and page.translation.endswith("</p>")
    assert client.translate("de", "en", ["", "Hallo"])[0].translation == ""
    known = {"priority": "background", "project_id": "1", "session": "2", "multiline": True}
    assert client.translate("de", "en", text, options=known).translation == expected(text)


def test_the_package_lists_and_detects_languages(client: ModernMT) -> None:
    assert client.list_supported_languages() == ["de", "en", "fr"]
    assert client.detect_language("Wo ist der Bahnhof?").detectedLanguage == "de"
    found = client.detect_language(["Where is the station?", "Wo ist er?"], format="text/plain")
    assert [each.detectedLanguage for each in found] == ["en", "de"]


def test_a_memory_is_used_by_requests_that_name_it(client: ModernMT) -> None:
    memory = client.memories.create("Handbuch", "of the press")
    assert (memory.name, memory.description) == ("Handbuch", "of the press")
    job = client.memories.add(memory.id, "de", "en", "Sichern", "Save", tuid="a")
    assert (job.memory, job.size, job.progress) == (memory.id, 1, 1.0)
    assert vars(client.memories.get_import_status(job.id)) == vars(job)
    assert client.translate("de", "en", "Sichern").translation == expected("Sichern") != "Save"
    hinted = client.translate("de", "en", "Sichern", hints=[memory.id])
    assert (hinted.translation, hinted.contextVector) == ("Save", f"{memory.id}:1.000")
    client.memories.replace(memory.id, "a", "de", "en", "Sichern", "Store")
    weighted = client.translate("de", "en", "Sichern", context_vector=f"{memory.id}:0.25")
    assert weighted.translation == "Store"


def test_the_first_hint_comes_first(client: ModernMT) -> None:
    one, two = (client.memories.create(name).id for name in "ab")
    client.memories.add(one, "de", "en", "Sichern", "One")
    client.memories.add(two, "de", "en", "Sichern", "Two")

    def with_hints(*hints: int, vector: str | None = None) -> Any:
        return client.translate("de", "en", "Sichern", [*hints], vector).translation

    assert with_hints(one, two) == "One" != with_hints(two, one) == "Two"
    assert with_hints(vector=f"{one}:0.1,{two}:0.2") == "Two"
    assert with_hints(one, vector=f"{two}:0.9") == "One"


def test_a_memory_can_be_renamed_and_deleted(client: ModernMT) -> None:
    memory = client.memories.create("a")
    assert client.memories.edit(memory.id, description="b").name == "a"
    edited = client.memories.edit(memory.id, name="c")
    assert (edited.name, edited.description) == ("c", "b")
    assert vars(client.memories.get(memory.id)) == vars(edited)
    client.memories.add(memory.id, "de", "en", "Sichern", "Save")
    assert vars(client.memories.delete(memory.id)) == vars(edited)
    assert refused(lambda: client.memories.delete(memory.id))[:2] == (404, "NotFoundException")
    assert client.memories.create("d").id > memory.id  # numbers are not used again
    hints = [memory.id]
    assert refused(lambda: client.translate("de", "en", "Sichern", hints))[0] == 404


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_tmx_file_is_imported(client: ModernMT, compression: str | None) -> None:
    memory, data = client.memories.create("tmx"), TMX.encode()
    file = BytesIO(gzip.compress(data) if compression else data)
    job = client.memories.import_tmx(memory.id, file, compression)
    assert job.size == 3  # two from German to English, one from English to French
    hints = [memory.id]
    assert client.translate("de", "en", ["Öffnen", "Sichern"], hints)[0].translation == "Open"
    assert client.translate("en", "fr", "Open", hints).translation == "Ouvrir"
    assert client.translate("de", "fr", "Öffnen", hints).translation == "Ouvrir"  # both steps
    client.memories.replace(memory.id, "7", "de", "en", "Öffnen", "Unlock")
    assert client.translate("de", "en", "Öffnen", hints).translation == "Unlock"


def test_terms_are_used_by_requests_that_name_their_memory(client: ModernMT) -> None:
    memory, other = client.memories.create("terms").id, client.memories.create("others").id

    def terms(*pairs: str) -> list[dict[str, str]]:
        return [dict(zip(("language", "term"), each.split(":"), strict=True)) for each in pairs]

    def has(term: str, *glossaries: int, **options: Any) -> bool:
        text = "Das Ventil ist offen."
        options["glossaries"] = ",".join(map(str, glossaries))
        return term in client.translate("de", "en", text, options=options).translation

    client.memories.add_to_glossary(memory, terms("de:Ventil", "en:valve"), "unidirectional", None)
    assert has("valve", memory) and not has("valve") and not has("valve", other)
    replacing = terms("de:Ventil", "en:tap")
    client.memories.replace_in_glossary(memory, replacing, "unidirectional", None)
    assert has("tap", memory) and not has("valve", memory)
    equivalent = terms("en:spout", "de:Ventil", "fr:valve")
    client.memories.add_to_glossary(other, equivalent, "equivalent", "1")
    assert has("spout", other) and has("spout", other, memory)
    without = refused(
        lambda: client.memories.replace_in_glossary(other, equivalent, "equivalent", None)
    )
    assert "missing tuid" in without[2]
    csv = BytesIO(b"tuid,de,en\n1,VENTIL,nozzle\n")
    assert client.memories.import_glossary(other, csv, "equivalent").size == 1
    assert not has("nozzle", other) and has("nozzle", other, ignore_glossary_case=True)


def test_a_context_vector_ranks_memories_by_their_words(client: ModernMT) -> None:
    near, far = (client.memories.create(name).id for name in ("near", "far"))
    client.memories.add(near, "de", "en", "Das Ventil ist offen", "The valve is open")
    client.memories.add(far, "de", "en", "Ein Ventil und eine Katze", "A valve and a cat")
    vector = client.get_context_vector("de", "en", "Das Ventil ist offen")
    assert re.fullmatch(rf"{near}:1\.000,{far}:0\.\d\d\d", vector)
    assert client.get_context_vector("de", "en", "Hund") == ""
    found = client.get_context_vector("de", ["en", "fr", "it"], "Das Ventil", hints=[far], limit=1)
    assert found == {"en": f"{far}:1.000", "fr": f"{far}:1.000"}  # Italian is not served
    file = BytesIO(gzip.compress(b"Das Ventil ist offen"))
    assert client.get_context_vector_from_file("de", "en", file, compression="gzip") == vector
    assert client.translate("de", "en", "Das Ventil ist offen", None, vector).translation == (
        "The valve is open"
    )


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.me(), (404, "NotFoundException", "no user accounts")),
        (lambda c: c.batch_translate("http://a", "de", "en", "a"), (404, "", "no webhooks")),
        (lambda c: c.handle_callback("{}", "a"), (404, "NotFoundException", "no webhooks")),
        (lambda c: c.qe("de", "en", "a", "b"), (400, "ParameterParsingException", "is unknown")),
        (lambda c: c.translate("de", "it", "a"), (400, "", "it is not supported")),
        (lambda c: c.translate("de", "en", "a", ["x"]), (400, "", "hints has 'x'")),
        (lambda c: c.translate("de", "en", "a", None, "1:a"), (400, "", "is not like 3:0.5")),
        (lambda c: c.translate("de", "en", "a", None, "1:nan"), (400, "", "is not like 3:0.5")),
        (lambda c: c.translate("de", "en", "a", None, "1:1e999"), (400, "", "is not like 3:0.5")),
        (lambda c: c.translate("de", "en", "a", [9]), (404, "NotFoundException", "no memory 9")),
        (lambda c: c.translate("de", "en", {"a": 1}), (400, "", "q is not a text or a list")),
        (
            lambda c: c.translate("de", "en", "a", options={"mask_profanities": True}),
            (400, "", "masks no profanities"),
        ),
        (
            lambda c: c.translate("de", "en", "a", options={"format": "text/xml"}),
            (400, "", "use one of text/plain, text/html"),
        ),
        (
            lambda c: c.translate("de", "en", "a\nb", options={"multiline": False}),
            (400, "", "send multiline = true"),
        ),
        (
            lambda c: c.translate("de", "en", "a", options={"alt_translations": 99}),
            (422, "", "limits.alternatives = 10"),
        ),
        (lambda c: c.translate("de", "en", "a" * 100_001), (413, "", "limits.characters")),
        (lambda c: c.memories.create("a", external_id="b"), (400, "", "omit external_id")),
        (lambda c: c.memories.create(" "), (400, "", "a name has 1 to 1000 characters")),
        (lambda c: c.memories.get("1/terms"), (404, "NotFoundException", "not found")),
        (lambda c: c.memories.get("-1"), (400, "", "not the id of a memory")),
        (lambda c: c.memories.get_import_status("a"), (404, "NotFoundException", "import job")),
    ],
)
def test_what_cannot_be_mapped_is_refused_as_the_package_reads_it(
    client: ModernMT, ask: Callable[[ModernMT], Any], error: tuple[int, str, str]
) -> None:
    status, kind, message = refused(lambda: ask(client))
    assert status == error[0] and error[1] in kind and error[2] in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("<tmx><body><tu>", "tmx"),
        ("no XML", "tmx"),
        ("<tmx/>", "tmx has no pair of languages with a model, but no language"),
        (TMX.replace('"de"', '"it"').replace('"en"', '"es"'), "tmx has no pair of languages"),
        ("", "tmx"),
    ],
)
def test_a_malformed_tmx_file_adds_nothing(client: ModernMT, data: str, message: str) -> None:
    memory = client.memories.create("tmx").id
    status, _, told = refused(lambda: client.memories.import_tmx(memory, BytesIO(data.encode())))
    assert status == 400 and message in told and "yakusu-serve" not in told
    assert client.get_context_vector("de", "en", "Sichern") == ""


def test_a_file_that_grows_beyond_the_limit_is_refused(folders: dict[str, Path]) -> None:
    with running([folders["de-en"]], limits={"file": 1_000_000, "body": 100_000}) as service:
        client = opened(service, "unused")
        memory = client.memories.create("a").id

        def told(data: bytes) -> str:
            own, kind = client.memories, "equivalent"
            every = [
                refused(lambda: own.import_tmx(memory, BytesIO(data), "gzip")),
                refused(lambda: own.import_glossary(memory, BytesIO(data), kind, "gzip")),
            ]
            assert {each[0] for each in every} <= {400, 413}
            return " ".join(each[2] for each in every)

        large = told(gzip.compress(b"a" * 10_000_000))
        assert "limits.file = 1000000" in large and "limits.body = 100000" in large
        assert told(gzip.compress(gzip.compress(b"a"))).count("is compressed") == 2
        assert told(b"no gzip").count("not a gzip file") == 2


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("de,en\nVentil\n", "csv, line 2 has 1 cells, but the first line has 2"),
        ('de,en\n"Ventil,valve\n', "csv, line 2 is not valid"),
        ("de,nonsense\nVentil,valve\n", "'nonsense' is not the code of a language"),
        ("de,en\nVentil,\n", "one language only"),
        ("", "no two languages in its first line"),
        ("tuid,de\n", "no two languages in its first line"),
        ("no header", "'no header' is not the code of a language"),
        ('de,en\nVentil,"a\nb"\n', "a term in en has a control character"),
        ("de,en\n%s Dateien,%s files\n", "'%s'"),
        ("de,en\n" + "".join(f"a{n},b\n" for n in range(1001)), "limits.terms = 1000"),
    ],
)
def test_terms_that_no_model_can_use_are_refused(client: ModernMT, csv: str, message: str) -> None:
    memory = client.memories.create("terms").id
    file = BytesIO(csv.encode())
    told = refused(lambda: client.memories.import_glossary(memory, file, "unidirectional"))
    assert told[0] in (400, 422) and message in told[2]


# ---- whose memories ------------------------------------------------------------------------------


def test_no_id_works_with_another_key(service: Running) -> None:
    clients = {key: opened(service, key) for key in KEYS}
    memories = {key: each.memories.create(key).id for key, each in clients.items()}
    jobs = {
        key: each.memories.add(memories[key], "de", "en", "Sichern", key).id
        for key, each in clients.items()
    }
    terms = [{"language": "de", "term": "a"}, {"language": "en", "term": "b"}]

    def asking(client: ModernMT, memory: int, job: str) -> list[Callable[[], Any]]:
        """Every request that names a memory or a job."""
        own, kind = client.memories, "unidirectional"
        return [
            lambda: own.get(memory),
            lambda: own.edit(memory, name="b"),
            lambda: own.add(memory, "de", "en", "a", "b"),
            lambda: own.replace(memory, "a", "de", "en", "a", "b"),
            lambda: own.import_tmx(memory, BytesIO(TMX.encode())),
            lambda: own.add_to_glossary(memory, terms, kind, None),
            lambda: own.replace_in_glossary(memory, terms, kind, None),
            lambda: own.import_glossary(memory, BytesIO(b"de,en\na,b\n"), kind),
            lambda: own.get_import_status(job),
            lambda: client.translate("de", "en", "Sichern", [memory]),
            lambda: client.translate("de", "en", "Sichern", None, f"{memory}:0.5"),
            lambda: client.translate("de", "en", "Sichern", options={"glossaries": [memory]}),
            lambda: client.get_context_vector("de", "en", "Sichern", [memory]),
            lambda: own.delete(memory),
        ]

    for key, client in clients.items():
        for other in clients:
            for ask in asking(client, memories[other], jobs[other])[: -1 if other == key else None]:
                if other == key:
                    assert ask() is not None
                else:
                    assert refused(ask)[:2] == (404, "NotFoundException")
        assert [each.name for each in client.memories.list()] == ["b"]
        vector = client.get_context_vector("de", "en", "Sichern")
        assert vector and all(
            int(each.split(":")[0]) == memories[key] for each in vector.split(",")
        )
    for key, client in clients.items():
        client.memories.delete(memories[key])


def test_what_clients_create_outlives_the_service_in_the_folder_of_data(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    settings = {"keys": keys_file(tmp_path, *KEYS), "data": str(tmp_path / "data")}
    with running([folders["de-en"]], **settings) as service:
        memory = opened(service, KEYS[0]).memories.create("a").id
        opened(service, KEYS[0]).memories.add(memory, "de", "en", "Sichern", "Save")
    with running([folders["de-en"]], **settings) as service:
        found = opened(service, KEYS[0]).translate("de", "en", "Sichern", [memory])
        assert found.translation == "Save"
        assert opened(service, KEYS[1]).memories.list() == []
    stored = b"".join(
        each.read_bytes() for each in (tmp_path / "data").rglob("*") if each.is_file()
    )
    assert KEYS[0].encode() not in stored  # nor who has this key can be read there


def test_memories_of_the_operator_are_seen_and_added_to(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    paths = {name: tmp_path / f"{name}.db" for name in ("team", "anna")}
    for name, path in paths.items():
        with TranslationMemory.open(path, ("de", "en"), writable=True) as memory:
            memory.add([MemorySegment(f"Text {name}", f"text of {name}")])
    keys = keys_file(tmp_path, *KEYS)
    text = Path(keys).read_text().replace('"anna"\n', f'"anna"\nmemory = ["{paths["anna"]}"]\n')
    Path(keys).write_text(text)
    with running([folders["de-en"]], keys=keys, memory=[str(paths["team"])]) as service:
        anna, ben = (opened(service, key) for key in KEYS)
        assert [each.name for each in anna.memories.list()] == ["anna", "team"]
        (team,) = ben.memories.list()
        assert team.name == "team" and team.id != anna.memories.list()[0].id
        ben.memories.add(team.id, "de", "en", "Sichern", "Save")
        assert anna.translate("de", "en", "Sichern").translation == "Save"
        own = anna.memories.list()[0].id
        assert refused(lambda: ben.translate("de", "en", "a", [own]))[0] == 404
        changes: list[Callable[[], Any]] = [
            lambda: ben.memories.delete(team.id),
            lambda: ben.memories.edit(team.id, name="a"),
            lambda: ben.memories.add_to_glossary(team.id, [], "equivalent", "1"),
        ]
        assert {refused(each)[:2] for each in changes} == {(403, "ForbiddenException")}
    with TranslationMemory.open(paths["team"]) as memory:
        assert [each.segment.who for each in memory][-1] == "ben'"


def test_a_client_without_permission_stores_nothing(start: StartClient) -> None:
    foreign = start("de-en")
    asked: list[dict[str, Any]] = [
        {"headers": {"Origin": "http://elsewhere.example"}},
        {"headers": {"X-Forwarded-For": "10.0.0.1"}},
    ]
    for each in asked:
        found = foreign.post("/modernmt/memories", json={"name": "a"}, **each)
        assert found.status_code == 403 and found.json()["error"]["type"] == "ForbiddenException"
    assert foreign.get("/modernmt/memories").json() == {"status": 200, "data": []}
    assert foreign.post("/modernmt/memories", json={"name": "a"}).status_code == 200


def test_the_number_of_memories_is_limited(start: StartClient) -> None:
    client = start("de-en", limits={"created": 1})
    statuses = [client.post("/modernmt/memories", data={"name": name}).status_code for name in "ab"]
    assert statuses == [200, 422]


def test_a_folder_of_data_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(Exception, match=r"memories cannot be written: Not a directory"):
        CreatedMemories(
            ServiceStore(None), tmp_path / "a" / "memories", most=1, most_terms=1, most_bytes=10**9
        )


def test_a_deleted_memory_gets_no_terms(tmp_path: Path) -> None:
    created = CreatedMemories(ServiceStore(None), tmp_path, most=1, most_terms=1, most_bytes=10**9)
    number = created.create(None, "terms", "").number
    created.delete(number)
    added = [TermSet("equivalent", "", (("de", "Ventil"), ("en", "valve")))]
    with pytest.raises(RefusedError, match=f"There is no memory {number}"):
        created.add_terms(number, added, replace=False)
    assert created.terms(number) == []


def test_what_is_being_added_to_a_deleted_memory_is_removed(tmp_path: Path) -> None:
    created = CreatedMemories(ServiceStore(None), tmp_path, most=1, most_terms=1, most_bytes=10**9)
    number, pair = created.create(None, "a", "").number, ("de", "en")
    with created.writing(number, pair) as first, created.writing(number, pair):
        created.delete(number)
        first.write_text("a segment")
    assert not [*tmp_path.iterdir()]
    with pytest.raises(RefusedError, match=f"There is no memory {number}"):
        created.writing(number, pair).__enter__()
    assert not [*tmp_path.iterdir()]


def test_the_size_of_all_memories_is_limited(start: StartClient) -> None:
    client = start("de-en", limits={"segments": 150_000})
    number = client.post("/modernmt/memories", data={"name": "a"}).json()["data"]["id"]
    values = {"source": "de", "target": "en", "translation": "b"}
    path = f"/modernmt/memories/{number}"
    answers = [
        client.post(f"{path}/content", data={**values, "sentence": letter * 9000})
        for letter in ascii_lowercase[:16]
    ]
    assert answers[0].status_code == 200 and answers[-1].status_code == 422
    assert "limits.segments = 150000" in answers[-1].json()["error"]["message"]
    terms = [{"language": "de", "term": "a"}, {"language": "en", "term": "b"}]
    added = client.post(f"{path}/glossary", json={"type": "equivalent", "terms": terms})
    assert added.status_code == 422
    assert client.delete(path).status_code == 200


def test_the_ids_of_hints_are_numbers_or_texts(start: StartClient) -> None:
    client = start("de-en")
    values = {"q": "a", "source": "de", "target": "en"}
    for hints in ([1.5], [True], [[1]]):
        answer = client.post("/modernmt/translate", json={**values, "hints": hints})
        message = "Value for 'hints' not supported: use a list of texts or numbers"
        assert answer.json()["error"]["message"] == message


def test_only_the_path_of_uploads_takes_large_bodies(start: StartClient) -> None:
    client = start("de-en", limits={"body": 2000})
    path = "/modernmt/v3/translation_memories/uploads/1"
    assert client.post(path, json={"q": "a" * 3000}).status_code == 413


# ---- the form of answers -------------------------------------------------------------------------


def test_every_error_under_the_prefix_has_the_form_of_the_api(start: StartClient) -> None:
    client = start("de-en", root_path="/mt", limits={"body": 100, "per_address": 1})
    answers = [
        client.get("/mt/modernmt/nothing"),
        client.post("/mt/modernmt/translate", json={"q": "a" * 100}),
        client.post("/mt/modernmt/translate", content="[", headers={"Content-Type": "text/json"}),
        client.post("/mt/modernmt/memories", headers={"X-HTTP-Method-Override": "patch"}),
        client.post("/modernmt/translate", json=[]),
    ]
    assert [each.status_code for each in answers] == [404, 413, 400, 405, 400]
    for each in answers:
        assert each.json().keys() == {"status", "error"}
        assert each.json()["status"] == each.status_code
        assert each.json()["error"].keys() == {"type", "message"}
    assert client.get("/mt/nothing").json() == {"error": "Not Found"}


def test_the_method_of_other_apis_is_not_overridden(shared: TestClient) -> None:
    headers = {"X-HTTP-Method-Override": "get"}
    values = {"q": "Hallo", "source": "de", "target": "en"}
    assert shared.post("/translate", json=values, headers=headers).status_code == 200


def test_requests_are_counted_by_the_route_and_the_status(folders: dict[str, Path]) -> None:
    client = TestClient(create_app(Service(ServeConfig(), [folders["de-en"]])))
    headers = {"X-HTTP-Method-Override": "get"}
    client.post("/modernmt/memories/1", headers=headers)
    counted = client.get("/metrics").text
    assert 'yakusu_requests_total{path="/modernmt/memories/{memory}",status="404"} 1.0' in counted


def test_quality_is_that_of_the_calibration(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        service = Service(ServeConfig(), [folders["de-en"]])
        stack.callback(service.close)
        (step,) = service.catalog.routes["de", "en"][0]
        monkeypatch.setattr(step.translator, "calibration", _calibration())
        client = TestClient(create_app(service), base_url="http://localhost")
        values = {"source": "de", "target": "en", "sentence": "Hallo", "translation": "Hello"}
        one = client.post("/modernmt/translate/qe", json=values).json()["data"]
        assert 0 <= one["score"] <= 1
        both = values | {"sentence": ["Hallo", "Hallo"], "translation": ["Hello", "Hello" * 9]}
        found = client.get("/modernmt/translate/qe", params=both).json()["data"]
        assert found[0] == one and found[1]["score"] != one["score"]
        uneven = both | {"translation": ["Hello"]}
        assert client.post("/modernmt/translate/qe", json=uneven).status_code == 400


def _calibration() -> Any:
    from yakusu.translator.quality import Calibration

    term = {"mean": 0.0, "scale": 1.0, "weight": 10.0}
    names = ("certainty", "neighbours", "length", "source")
    values = {"n_sentences": 1, "correlation": 1.0, "intercept": 50.0, "doubtful": 30.0}
    return Calibration.model_validate(values | dict.fromkeys(names, term))
