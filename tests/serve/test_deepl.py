"""DeepL's API: its parameters, statuses and messages."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import Client, StartClient
from tests.translators import opened_by_default
from yakusu.data.lines.config import TextConfig
from yakusu.data.segments import MemorySegment
from yakusu.documents.tagged import TagRules, read_tagged
from yakusu.errors import DataError
from yakusu.memory.memory import TranslationMemory
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service

TEXT = "Guten Tag. Der Zug kommt."
PAIR = {"source_lang": "DE", "target_lang": "EN-US"}
KEY = {"Authorization": "DeepL-Auth-Key of a client"}


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[TestClient]:
    """A service that ends at the end of the context."""
    service = Service(ServeConfig.model_validate(settings), [folder])
    with TestClient(create_app(service), base_url="http://localhost") as client:
        yield client


def expected(*texts: str, **settings: Any) -> list[str]:
    translator = opened_by_default().with_settings(text=TextConfig(**settings))
    return translator.translate(texts)


def asked(client: Client, *texts: str, **values: Any) -> Any:
    body = {"text": [*texts], **PAIR, **values}
    return client.post("/v2/translate", json=body, headers=KEY)


def translated(client: Client, *texts: str, **values: Any) -> list[str]:
    answer = asked(client, *texts, **values)
    assert answer.status_code == 200, answer.text
    return [each["text"] for each in answer.json()["translations"]]


# ---- texts ---------------------------------------------------------------------------------------


def test_json_forms_and_query_strings_are_the_same_deepl_request(shared: Client) -> None:
    values = {"text": [TEXT, "Der Zug"], **PAIR}
    answers = [
        shared.post("/v2/translate", json=values, headers=KEY),
        shared.post("/v2/translate", data=values, headers=KEY),
        shared.post("/v2/translate", params=values, headers=KEY),
        shared.post("/v2/translate", json={**values, "auth_key": "of a client"}),
    ]
    for answer in answers:
        assert answer.json() == {
            "translations": [
                {"detected_source_language": "DE", "text": text}
                for text in expected(TEXT, "Der Zug")
            ]
        }


def test_each_text_has_its_own_language(start: StartClient) -> None:
    client = start()
    texts = ["Der Zug kommt heute nicht.", "12:30", "Where is the station?", ""]
    body = {"text": texts, "target_lang": "FR", "show_billed_characters": True}
    every = client.post("/v2/translate", json=body).json()["translations"]
    assert [each["detected_source_language"] for each in every[::2]] == ["DE", "EN"]
    assert [each["billed_characters"] for each in every] == [26, 5, 21, 0]
    assert every[0]["text"] != texts[0] and every[3]["text"] == ""


def test_a_text_in_the_target_language_stays(shared: Client) -> None:
    body = {"text": ["Where is the station?"], "target_lang": "EN-GB"}
    (only,) = shared.post("/v2/translate", json=body).json()["translations"]
    assert only == {"detected_source_language": "EN", "text": "Where is the station?"}


def test_sentences_are_split_as_the_client_says(shared: Client) -> None:
    text = "Guten Tag.\nDer Zug\nkommt.\n\nDanke.\n"
    joined = "Guten Tag. Der Zug kommt.\n\nDanke.\n"
    assert translated(shared, text) == expected(text)
    assert translated(shared, text, split_sentences="1") == expected(text)
    assert translated(shared, text, split_sentences="nonewlines") == expected(joined)
    one = "  Guten Tag. Der Zug kommt.\n"
    (whole,) = expected(one.strip(), one_sentence_per_line=True)
    assert translated(shared, one, split_sentences="0") == [f"  {whole}\n"]
    assert translated(shared, " \n ", split_sentences="0") == [" \n "]


def test_a_long_text_is_not_cut_off_because_it_is_not_to_be_split(shared: Client) -> None:
    text = "Der Zug kommt. " * 200
    assert translated(shared, text, split_sentences="0") == [expected(text.strip())[0] + " "]


def test_xml_keeps_its_tags_and_ignored_elements(shared: Client) -> None:
    text = "<p>Der <b>Zug</b> kommt.</p><code>x &lt; 1</code><p>Guten Tag.</p>"
    document = read_tagged(text, TagRules(ignored=frozenset({"code"})))
    own = document.render(expected(*document.texts)).decode()
    assert translated(shared, text, tag_handling="xml", ignore_tags=["code"]) == [own]
    assert "<code>x &lt; 1</code>" in own and own.count("<b>") == own.count("</b>") == 1


def test_the_rules_for_elements_are_those_of_the_request(shared: Client) -> None:
    text = "<par>Der Zug</par><par> kommt.</par>"
    for values, rules in (
        ({}, TagRules()),
        ({"non_splitting_tags": "par,x"}, TagRules(inline=frozenset({"par"}))),
        ({"outline_detection": False}, TagRules(outline=False)),
        (
            {"outline_detection": False, "splitting_tags": ["par"]},
            TagRules(outline=False, splitting=frozenset({"par"})),
        ),
    ):
        document = read_tagged(text, rules)
        own = document.render(expected(*document.texts)).decode()
        assert translated(shared, text, tag_handling="xml", **values) == [own], values


def test_html_is_translated_as_the_other_route_does(shared: Client) -> None:
    page = "<p>Der <b>Zug</b> kommt.<br>Guten Tag.</p>" * 3
    for text in (page, page * 60):  # the longer one in a worker process
        body = {"q": text, "source": "de", "target": "en", "format": "html"}
        own = shared.post("/translate", json=body).json()["translatedText"]
        assert translated(shared, text, tag_handling="html") == [own]


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"text": None}, "Parameter 'text' not specified."),
        ({"text": []}, "Parameter 'text' not specified."),
        ({"text": [1]}, "Value for 'text' not supported"),
        ({"text": {"a": 1}}, "Value for 'text' not supported"),
        ({"target_lang": ""}, "Parameter 'target_lang' not specified."),
        ({"target_lang": ["EN"]}, "target_lang parameter is not a string"),
        ({"target_lang": "E" * 1000}, "a language code has at most"),
        ({"source_lang": "auto" * 30}, "a language code has at most"),
        ({"source_lang": "KO"}, "KO is not supported"),
        ({"tag_handling": "markdown"}, "'tag_handling' not supported: use one of xml, html"),
        ({"split_sentences": "x"}, "'split_sentences' not supported"),
        ({"preserve_formatting": "x"}, "'preserve_formatting' not supported"),
        ({"outline_detection": 2}, "'outline_detection' not supported"),
        ({"ignore_tags": [1]}, "'ignore_tags' not supported"),
        ({"formality": "less"}, "'formality' is not supported for given 'target_lang'"),
        ({"formality": "rude"}, "'formality' not supported"),
        ({"context": ["a"]}, "context parameter is not a string"),
        ({"translation_memory_threshold": 101}, "from 0 to 100"),
        ({"glossary_id": "a", "glossary_ids": ["b"]}, "not supported together"),
        ({"glossary_ids": ["a"] * 6}, "use at most 5"),
        ({"glossary_id": "a", "source_lang": None}, "'source_lang' not specified"),
        ({"text": ["<a>"], "tag_handling": "xml"}, "Tag handling parsing failed"),
        ({"text": ["<!DOCTYPE a><a/>"], "tag_handling": "xml"}, "Tag handling parsing failed"),
    ],
)
def test_a_wrong_value_is_named(shared: Client, values: dict[str, Any], message: str) -> None:
    answer = asked(shared, *[TEXT], **values)
    assert (answer.status_code, [*answer.json()]) == (400, ["message"])
    assert message in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 100_000, "application/json", 413),
        (b'{"text": ' + b"[" * 50 + b"]" * 50 + b"}", "application/json", 400),
        (b"x" * 3_000_000, "application/json", 413),
        (b"x", "multipart/form-data; boundary=a", 400),
        (b"%ff=%ff", "application/x-www-form-urlencoded", 400),
        (b"x", "text/plain", 400),
        (b"", "", 400),
    ],
)
def test_a_wrong_body_has_a_message(shared: Client, body: bytes, kind: str, status: int) -> None:
    for path in ("/v2/translate", "/v2/document", "/v2/glossaries", "/v3/glossaries"):
        answer = shared.post(path, content=body, headers={"Content-Type": kind, **KEY})
        is_large_file = path == "/v2/document" and status == 413
        assert answer.status_code == status or is_large_file, (path, answer.text)
        assert [*answer.json()] == ["message"]


@pytest.mark.parametrize("header", ["of a client", "Bearer x", "DeepL-Auth-Key", "DeepL-Auth-Key "])
def test_another_authorization_is_refused(shared: Client, header: str) -> None:
    answer = shared.get("/v2/usage", headers={"Authorization": header})
    assert (answer.status_code, [*answer.json()]) == (403, ["message"])


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_unknown_paths_have_a_message(shared: Client, method: str) -> None:
    for path in ("/v2/write/rephrase", "/v3/style_rules", "/v2/x/y/z", "/v3/"):
        answer = shared.request(method, path)
        assert answer.status_code == 404 and "DeepL" in answer.json()["message"]


def test_a_page_of_another_origin_stores_nothing(shared: Client) -> None:
    headers = {"Origin": "https://example.org", **KEY}
    body = {"name": "a", "source_lang": "de", "target_lang": "en", "entries": "a\tb"}
    answers = [
        shared.post("/v2/glossaries", data=body, headers=headers),
        shared.post("/v3/glossaries", json=body, headers=headers),
        shared.post("/v2/document", data=PAIR, files={"file": ("a.txt", b"a")}, headers=headers),
        shared.delete("/v2/glossaries/x", headers=headers),
    ]
    for answer in answers:
        assert answer.status_code == 403 and "example.org" in answer.json()["message"]


# ---- glossaries ----------------------------------------------------------------------------------


def made(client: Client, headers: dict[str, str] | None = None, **values: Any) -> Any:
    body = {"name": "One", "source_lang": "DE", "target_lang": "EN", "entries": "Zug\ttrain"}
    return client.post("/v2/glossaries", json={**body, **values}, headers=headers or KEY)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": ""}, "Parameter 'name' not specified."),
        ({"name": " "}, "Invalid glossary name"),
        ({"name": "é" * 600}, "Invalid glossary name"),
        ({"source_lang": None}, "Parameter 'source_lang' not specified."),
        ({"target_lang": "not a language"}, "Value for 'target_lang' not supported"),
        ({"target_lang": "JA"}, "Unsupported glossary languages de-ja: choose one of de-en, en-fr"),
        ({"target_lang": "FR"}, "Unsupported glossary languages de-fr"),  # through English
        ({"entries": "Zug"}, "entry 1 has 1 fields, not 2"),
        ({"entries": "a\tb\tc"}, "entry 1 has 3 fields, not 2"),
        ({"entries": "Zug\ttrain\n\nZug\trailway"}, "entry 3 repeats the term 'Zug'"),
        ({"entries": "Zug\t "}, "entry 1 has an empty field"),
        ({"entries": "Zug\ttr\u2028ain"}, "entry 1 has a control character"),
        ({"entries": f"Zug\t{'x' * 1025}"}, "entry 1 has a field of more than 1024 bytes"),
        ({"entries": "\n\n"}, "there are none"),
        ({"entries": {"a": "b"}}, "entries parameter is not a string"),
        ({"entries": "{name}\tName"}, "contains '{name}', which is copied"),
        ({"entries": "a,b,c", "entries_format": "csv"}, "entry 1 has 3 fields"),
        ({"entries": '"a', "entries_format": "csv"}, "Invalid glossary entries provided"),
        ({"entries_format": "xlsx"}, "'entries_format' not supported: use one of tsv, csv"),
    ],
)
def test_a_wrong_glossary_is_named(shared: Client, values: dict[str, Any], message: str) -> None:
    answer = made(shared, **values)
    assert answer.status_code == 400 and message in answer.json()["message"], answer.text


def test_glossaries_need_a_key(shared: Client) -> None:
    for path in ("/v2/glossaries", "/v3/glossaries"):
        assert shared.get(path).status_code == 403
    assert shared.post("/v2/glossaries", json={"name": "a"}).status_code == 403


def test_glossaries_are_kept_in_the_data_folder(folders: dict[str, Path], tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    with served(folders["de-en"], data=str(data)) as client:
        number = made(client).json()["glossary_id"]
    with served(folders["de-en"], data=str(data)) as client:
        answer = client.get(f"/v2/glossaries/{number}/entries", headers=KEY)
        assert answer.text == "Zug\ttrain"
        assert answer.headers["content-type"].startswith("text/tab-separated-values")
    content = (data / "service.db").read_bytes()
    assert b"train" in content and b"of a client" not in content  # keys are not stored
    assert (data / "service.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("limits", "status", "message"),
    [
        ({"glossaries": 0}, 456, "limits.glossaries = 0"),
        ({"entries": 1}, 413, "limits.entries = 1"),
        ({"stored": 10}, 456, "limits.stored = 10"),
    ],
)
def test_glossaries_have_limits(
    start: StartClient, limits: dict[str, int], status: int, message: str
) -> None:
    client = start("de-en", limits=limits)
    answer = made(client, entries="Zug\ttrain\nTag\tday")
    assert answer.status_code == status and message in answer.json()["message"]
    assert client.get("/v2/glossaries", headers=KEY).json() == {"glossaries": []}


def test_a_change_beyond_a_limit_changes_nothing(start: StartClient) -> None:
    client = start("de-en", limits={"entries": 2})
    number = made(client).json()["glossary_id"]
    dictionary = {"source_lang": "DE", "target_lang": "EN", "entries": "a\tb\nc\td"}
    body = {"name": "Two", "dictionaries": [dictionary]}
    answer = client.patch(f"/v3/glossaries/{number}", json=body, headers=KEY)
    assert answer.status_code == 413
    found = client.get(f"/v2/glossaries/{number}", headers=KEY).json()
    assert (found["name"], found["entry_count"]) == ("One", 1)


def test_a_glossary_of_thousands_of_terms_is_used(start: StartClient) -> None:
    client = start("de-en")
    entries = "\n".join(f"Wort{number}\tword{number}" for number in range(3000))
    number = made(client, entries=f"{entries}\nZug\ttrain").json()["glossary_id"]
    assert "train" in translated(client, "Der Zug kommt.", glossary_id=number)[0]


def test_a_glossary_is_not_used_through_a_pivot(shared: Client) -> None:
    number = made(shared).json()["glossary_id"]
    answer = asked(shared, TEXT, target_lang="FR", glossary_id=number)
    assert answer.status_code == 400 and "translated through en" in answer.json()["message"]
    answer = asked(shared, TEXT, source_lang="EN", target_lang="FR", glossary_id=number)
    assert answer.status_code == 400 and "No dictionary found" in answer.json()["message"]


@pytest.mark.parametrize(
    "dictionaries", [None, [], "x", [1], [{}], {"source_lang": "DE"}, [{"entries": []}]]
)
def test_wrong_dictionaries_are_refused(shared: Client, dictionaries: Any) -> None:
    body = {"name": "a", "dictionaries": dictionaries}
    answer = shared.post("/v3/glossaries", json=body, headers=KEY)
    assert (answer.status_code, [*answer.json()]) == (400, ["message"])


def test_two_dictionaries_for_the_same_languages_are_refused(shared: Client) -> None:
    one = {"source_lang": "DE", "target_lang": "EN", "entries": "a\tb"}
    body = {"name": "a", "dictionaries": [one, {**one, "target_lang": "EN-GB"}]}
    answer = shared.post("/v3/glossaries", json=body, headers=KEY)
    assert answer.status_code == 400 and "two for de-en" in answer.json()["message"]


def test_v2_has_no_glossaries_with_several_dictionaries(start: StartClient) -> None:
    client = start()
    pairs = [("DE", "EN"), ("EN", "FR")]
    dictionaries = [
        {"source_lang": source, "target_lang": target, "entries": "a\tb"}
        for source, target in pairs
    ]
    body = {"name": "a", "dictionaries": dictionaries}
    number = client.post("/v3/glossaries", json=body, headers=KEY).json()["glossary_id"]
    assert client.get("/v2/glossaries", headers=KEY).json() == {"glossaries": []}
    assert client.get(f"/v2/glossaries/{number}", headers=KEY).status_code == 404
    assert client.get(f"/v2/glossaries/{number}/entries", headers=KEY).status_code == 404
    assert len(client.get("/v3/glossaries", headers=KEY).json()["glossaries"]) == 1


# ---- documents -----------------------------------------------------------------------------------


def test_documents_that_are_too_large_are_refused(start: StartClient) -> None:
    client = start("de-en", limits={"file": 1000, "body": 1000})
    answer = client.post(
        "/v2/document", data=PAIR, files={"file": ("a.txt", b"a" * 2000)}, headers=KEY
    )
    assert answer.status_code == 413 and "limits.file = 1000" in answer.json()["message"]


def test_the_folder_of_a_document_is_removed_after_the_download(start: StartClient) -> None:
    client = start("de-en")
    service = client.app.state.service  # type: ignore[attr-defined]
    files = {"file": ("a.txt", TEXT.encode())}
    made = client.post("/v2/document", data=PAIR, files=files, headers=KEY).json()
    key = {"document_key": made["document_key"]}
    path = f"/v2/document/{made['document_id']}"
    for _ in range(100):
        status = client.post(path, data=key, headers=KEY).json()
        if status["status"] != "translating":
            break
    assert status == {
        "document_id": made["document_id"],
        "status": "done",
        "billed_characters": len(TEXT),
    }
    assert [each.name for each in (service.files.folder / made["document_id"]).iterdir()] == [
        "a.txt"
    ]
    answer = client.post(f"{path}/result", json=key, headers=KEY)
    assert answer.content.decode() == expected(TEXT)[0]
    deadline = time.monotonic() + 10
    while (service.files.folder / made["document_id"]).exists():
        assert time.monotonic() < deadline
    assert client.post(path, data=key, headers=KEY).status_code == 404


def test_a_document_in_a_language_that_is_not_served_has_an_error(shared: Client) -> None:
    files = {"file": ("a.txt", "駅はどこにありますか。".encode())}
    made = shared.post("/v2/document", data={"target_lang": "FR"}, files=files, headers=KEY).json()
    key = {"document_key": made["document_key"]}
    while True:
        status = shared.post(f"/v2/document/{made['document_id']}", json=key, headers=KEY).json()
        if status["status"] != "translating":
            break
    assert status["status"] == "error" and "Japanese (ja)" in status["error_message"]
    result = shared.post(f"/v2/document/{made['document_id']}/result", json=key, headers=KEY)
    assert result.status_code == 404


# ---- usage ---------------------------------------------------------------------------------------


def test_the_characters_of_a_month_count_in_all_apis(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "keys.toml").write_text('[[keys]]\nkey = "0123456789"\nper_month = 40\n')
    settings = {"keys": str(tmp_path / "keys.toml"), "data": str(tmp_path / "data")}
    key = {"Authorization": "DeepL-Auth-Key 0123456789"}
    with served(folders["de-en"], **settings) as client:
        values = {"source": "de", "target": "en", "api_key": "0123456789"}
        client.post("/translate", json={"q": "a" * 10, **values})
        client.post("/v1/translate", json={"text": "a" * 10, **values})
        client.post("/v1/stream", json={"text": "a" * 10, **values})
        files = {"file": ("a.txt", b"a" * 10)}
        assert client.post("/translate_file", data=values, files=files).status_code == 200
        assert client.get("/v2/usage", headers=key).json()["character_count"] == 40
        answers = [
            client.post("/translate", json={"q": "a", **values}),
            client.post("/v1/translate", json={"text": "a", **values}),
            client.post("/translate_file", data=values, files=files),
            client.post("/v1/stream", json={"text": "a", **values}),
            client.post("/v1/attention", json={"text": "a", **values}),
            client.post("/v2/translate", json={"text": ["a"], **PAIR}, headers=key),
            client.post(
                "/modernmt/translate",
                json={"q": "a", **values},
                headers={"MMT-ApiKey": "0123456789"},
            ),
        ]
        assert [each.status_code for each in answers] == [456] * 7
        assert "per_month = 40" in answers[0].json()["error"]
        assert client.get("/v2/usage").json()["character_count"] == 0
    with served(folders["de-en"], **settings) as client:  # the count is stored
        usage = client.get("/v2/usage", headers=key).json()
        assert usage == {"character_count": 40, "character_limit": 40}


def test_a_request_that_is_refused_does_not_count(start: StartClient, tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text('[[keys]]\nkey = "0123456789"\nper_month = 40\n')
    client = start(keys=str(tmp_path / "keys.toml"))
    key = {"Authorization": "DeepL-Auth-Key 0123456789"}
    texts = ["Der Zug kommt.", "<a> Where is the seat?"]  # of two languages
    body = {"text": texts, "target_lang": "FR", "tag_handling": "xml"}
    assert client.post("/v2/translate", json=body, headers=key).status_code == 400
    assert client.get("/v2/usage", headers=key).json()["character_count"] == 0


@pytest.mark.parametrize("error", [OSError("failed"), DataError("invalid")])
def test_what_fails_does_not_count(
    start: StartClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    client = start("de-en")

    def fail(*args: Any, **values: Any) -> None:
        raise error

    monkeypatch.setattr("yakusu.serve.api.deepl.translate._translated", fail)
    monkeypatch.setattr("yakusu.serve.api.documents.write_file", fail)
    assert asked(client, TEXT).status_code >= 400
    files = {"file": ("a.txt", b"Guten Tag.")}
    values = {"source": "de", "target": "en"}
    assert client.post("/translate_file", data=values, files=files).status_code >= 400
    assert client.get("/v2/usage", headers=KEY).json()["character_count"] == 0


def test_an_upload_that_is_too_large_leaves_no_file(start: StartClient, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with TranslationMemory.open(path, ("de", "en"), writable=True) as memory:
        memory.add([MemorySegment("Zug", "train")])
    client = start("de-en", memory=[str(path)], memory_writable=True, limits={"file": 100})
    service: Any = client.app
    body = {"source_file": {"file_name": "a.tmx", "content_length": 50}}
    made = client.post("/v3/translation_memories/import", json=body, headers=KEY).json()
    assert client.put(made["upload_url"], content=iter([b"a" * 60] * 2)).status_code == 413
    assert [*(service.state.service.files.folder / made["job_id"]).iterdir()] == []
