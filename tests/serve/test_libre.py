"""LibreTranslate's API: parameters, responses, messages."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.serve.conftest import Client, StartClient
from tests.translators import opened_by_default, save, untrained
from yakusu.data.lines.spans import Span
from yakusu.data.numbers.agreement import Agreement, Disagreement
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory
from yakusu.search.config import SearchConfig
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service

TEXT = "Guten Tag. Der Zug kommt."


def expected(*texts: str) -> list[str]:
    return opened_by_default().translate(texts)


def asked(client: Client, path: str = "/translate", **values: Any) -> Any:
    return client.post(path, json={"source": "de", "target": "en", **values})


def test_json_forms_and_query_strings_are_the_same_request(shared: Client) -> None:
    values = {"q": TEXT, "source": "de", "target": "en"}
    answers = [
        shared.post("/translate", json=values),
        shared.post("/translate", data=values),
        shared.post("/translate", params=values),
        shared.post("/translate", files={"unused": ("a", b"")}, data=values),
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()) == (200, {"translatedText": expected(TEXT)[0]})


def test_lists_have_lists_of_translations(shared: Client) -> None:
    texts = ["Guten Tag.", "", "Der Zug\nkommt."]
    assert asked(shared, q=texts).json() == {"translatedText": expected(*texts)}
    repeated = {"q": ["Guten Tag.", "Der Zug"], "source": "de", "target": "en"}
    form = shared.post("/translate", data=repeated)
    assert form.json() == {"translatedText": expected("Guten Tag.", "Der Zug")}


def test_alternatives_follow_the_best_translation(shared: Client) -> None:
    translator = opened_by_default().with_settings(
        search=SearchConfig(beam=3, n_best=3, max_extra=3)
    )
    ((best, *others),) = [[each.text for each in found] for found in translator.stream([TEXT])]
    answer = asked(shared, q=TEXT, alternatives="2").json()
    assert answer == {"translatedText": best, "alternatives": others}
    assert asked(shared, q=[TEXT], alternatives=2).json() == {
        "translatedText": [best],
        "alternatives": [others],
    }


def test_a_source_language_is_detected_among_those_served(shared: Client) -> None:
    answer = asked(shared, q="Der Zug kommt heute nicht.", source="auto").json()
    assert answer["detectedLanguage"]["language"] == "de"
    assert answer["detectedLanguage"]["confidence"] > 90
    found = shared.post("/detect", data={"q": "Where is the station?"}).json()
    assert found[0]["language"] == "en" and found[0]["confidence"] > 90
    assert shared.post("/detect", data={"q": "123"}).json()[0]["confidence"] == 0


def test_the_probability_is_that_of_all_languages_even_if_one_is_served(start: StartClient) -> None:
    client = start("en-fr")
    (first, *_) = client.post("/detect", data={"q": "駅はどこにありますか。"}).json()
    assert first["language"] == "ja" and first["confidence"] > 90
    found = client.post("/detect", data={"q": "Der Zug kommt heute nicht."}).json()
    assert found[0]["language"] == "de"
    assert sum(each["confidence"] for each in found if each["language"] == "en") < 5


@pytest.mark.parametrize("text", ["Bahnhof heute", "Où est la gare ?", "駅", "12", "Guten Tag!"])
def test_only_the_best_language_may_have_less_than_one_percent(shared: Client, text: str) -> None:
    first, *others = shared.post("/detect", data={"q": text}).json()
    assert [each for each in others if each["confidence"] < 1] == []
    assert first["confidence"] + sum(each["confidence"] for each in others) <= 100


@pytest.mark.parametrize("text", ["Hello", "Yes", "OK", "Good morning", "Thanks!"])
def test_a_few_words_are_detected_as_auto_does(start: StartClient, text: str) -> None:
    client = start("en-fr")
    auto = client.post("/translate", json={"q": text, "source": "auto", "target": "fr"}).json()
    first, *_ = client.post("/detect", data={"q": text}).json()
    assert first == auto["detectedLanguage"] and first["language"] == "en"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("駅はどこにありますか。", "Japanese (ja)"),
        ("Où se trouve la gare la plus proche ?", "French (fr)"),
        ("Dov'è la stazione più vicina?", "Italian (it)"),
    ],
)
def test_a_text_in_a_language_that_is_not_served_is_refused(
    shared: Client, text: str, named: str
) -> None:
    answer = asked(shared, q=text, source="auto")
    assert (answer.status_code, answer.json()) == (
        400,
        {
            "error": f"The text seems to be in {named}, which is not supported as a source "
            "language: choose one of de, en"
        },
    )


@pytest.mark.parametrize("text", ["Hello", "Yes", "OK", "Good morning", "12:30", "Thanks!"])
def test_a_short_text_is_in_a_language_that_is_served(start: StartClient, text: str) -> None:
    answer = start("en-fr").post("/translate", json={"q": text, "source": "auto", "target": "fr"})
    assert answer.json()["detectedLanguage"]["language"] == "en"


def test_close_languages_are_asked_for(tmp_path: Path) -> None:
    folders = [
        save(tmp_path / code, untrained("bytes"), source_language=code, target_language="en")
        for code in ("da", "nb")
    ]
    with TestClient(create_app(Service(ServeConfig(), folders))) as client:
        answer = client.post(
            "/translate", json={"q": "Hvor er du?", "source": "auto", "target": "en"}
        )
    assert answer.status_code == 400
    assert "too close to be told apart: set the source" in answer.json()["error"]
    assert "Danish (da)" in answer.json()["error"] and "(nb)" in answer.json()["error"]


@pytest.mark.parametrize(
    ("served", "asked_for"),
    [
        ("zh-Hant", "zt zh-TW zh_TW zho_Hant zh-HK"),
        ("pt-BR", "pb pt_BR pt pt-PT por"),
        ("jpn", "ja jpn ja_JP jpn_Jpan"),
        ("nb", "nb_NO no nob"),
        ("iw", "he he_IL heb"),
    ],
)
def test_codes_of_real_clients_are_accepted_and_returned(
    tmp_path: Path, served: str, asked_for: str
) -> None:
    folder = save(tmp_path / "model", untrained("bytes"), target_language=served)
    with TestClient(create_app(Service(ServeConfig(), [folder]))) as client:
        for code in asked_for.split():
            answer = asked(client, q=TEXT, target=code)
            text = answer.json()["translatedText"]  # sentences are joined as in the target language
            assert "".join(text.split()) == "".join(expected(TEXT)[0].split()), code
            values = {"text": TEXT, "source": "de_DE", "target": code}
            found = client.post("/v1/translate", json=values).json()
            assert (found["source"], found["target"]) == ("de_DE", code)
        refused = asked(client, q=TEXT, target="zh-Hans")
        assert (served, refused.status_code) == (served, 400)


def test_forms_are_utf_8_unless_they_say_otherwise(shared: Client) -> None:
    text, form = "Grüße aus Zürich, 東京.", "application/x-www-form-urlencoded"
    values = {"source": "de", "target": "de"}  # the text is returned
    for body, kind in (
        (f"q={text}".encode(), form),  # as curl -d sends it
        (f"q={quote(text)}".encode(), form),
        (f"q={text}".encode(), f"{form}; charset=utf-8"),
    ):
        headers = {"Content-Type": kind}
        answer = shared.post("/translate", params=values, content=body, headers=headers)
        assert answer.json() == {"translatedText": text}
    headers = {"Content-Type": f"{form}; charset=iso-8859-1"}
    body = "q=Grüße".encode("latin-1")
    answer = shared.post("/translate", params=values, content=body, headers=headers)
    assert answer.json() == {"translatedText": "Grüße"}
    answer = shared.post("/translate", params=values, content=body, headers={"Content-Type": form})
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "Invalid request: the parameters are not utf-8: send UTF-8"},
    )


def test_head_is_answered_like_get_without_the_body(shared: Client) -> None:
    for path in ("/", "/docs", "/languages", "/frontend/settings", "/health", "/metrics", "/spec"):
        head, get = shared.head(path), shared.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == get.headers["content-type"]
    assert (shared.head("/translate").status_code, shared.head("/none").status_code) == (405, 404)
    assert 'path="/languages",status="200"' in shared.get("/metrics").text


def test_languages_have_names_and_targets(shared: Client) -> None:
    every = shared.get("/languages").json()
    assert every == [
        {"code": "de", "name": "German", "targets": ["de", "en", "fr"]},
        {"code": "en", "name": "English", "targets": ["en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["fr"]},
    ]
    for source in every:
        for target in source["targets"]:
            answer = asked(shared, q="42", source=source["code"], target=target)
            assert (answer.status_code, target) == (200, target)


def test_other_codes_of_a_language_are_understood(shared: Client) -> None:
    assert asked(shared, q=TEXT, source="deu", target="eng").status_code == 200
    for source, target in (("de-AT", "en-US"), ("de_DE", "EN-GB"), ("deu_Latn", "en_XX")):
        answer = asked(shared, q=TEXT, source=source, target=target)
        assert answer.json() == {"translatedText": expected(TEXT)[0]}
    for code, advice in (("jp", "choose one of de, en"), ("german", "did you mean de?")):
        refused = {"error": f"{code} is not supported: {advice}"}
        assert asked(shared, q=TEXT, source=code).json() == refused


def test_a_text_in_the_target_language_is_unchanged(shared: Client) -> None:
    text = "Wo ist der Bahnhof?"
    assert asked(shared, q=text, target="de").json() == {"translatedText": text}
    answer = asked(shared, q=text, source="auto", target="de", format="html").json()
    assert answer["translatedText"] == text
    text = "Où se trouve la gare la plus proche ?"  # French is a target only
    answer = asked(shared, q=text, source="auto", target="fr_CA").json()
    assert (answer["translatedText"], answer["detectedLanguage"]["language"]) == (text, "fr")


def test_html_keeps_its_tags(shared: Client) -> None:
    page = '<p class="a">Guten <b>Tag</b>.</p>\n<script>x < 1</script><p>Der Zug &amp; Bus</p>'
    made = asked(shared, q=page, format="html").json()["translatedText"]
    assert made.startswith('<p class="a">') and "<script>x < 1</script><p>" in made
    assert made.count("<b>") == made.count("</b>") == 1
    assert made == asked(shared, q=[page], format="html").json()["translatedText"][0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": TEXT, "source": None}, "Invalid request: missing source parameter"),
        ({"q": TEXT, "target": ""}, "Invalid request: missing target parameter"),
        ({"q": TEXT, "target": "zz"}, "zz is not supported: choose one of en, fr"),
        ({"q": TEXT, "source": "fr"}, "fr is not supported: choose one of de, en"),
        (
            {"q": TEXT, "source": "en", "target": "de"},
            "German (de) is not available as a target language from English (en): choose one of fr",
        ),
        (
            {"q": TEXT, "source": "d" * 41},
            "Invalid request: a language code has at most 40 characters",
        ),
        ({"q": TEXT, "format": "pdf"}, "pdf format is not supported: choose text or html"),
        ({"q": 5}, "Invalid request: q parameter is not a string or a list of strings"),
        ({"q": [TEXT, 5]}, "Invalid request: q parameter is not a string or a list of strings"),
        ({"q": TEXT, "source": ["de"]}, "Invalid request: source parameter is not a string"),
        (
            {"q": TEXT, "alternatives": "x"},
            "Invalid request: alternatives parameter is not a number",
        ),
        ({"q": TEXT, "model": "x"}, "there is no model 'x' for de-en: choose one of de-en"),
    ],
)
def test_invalid_parameters_are_named(shared: Client, values: Any, message: str) -> None:
    answer = asked(shared, **values)
    assert (answer.status_code, answer.json()) == (400, {"error": message})


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_json_without_its_content_type_is_refused_with_the_fix(shared: Client, kind: str) -> None:
    content, headers = json.dumps({"q": TEXT, "source": "de"}), {"Content-Type": kind}
    advice = ": send JSON with Content-Type: application/json"
    for query, missing in ({}, "q"), ({"q": TEXT}, "source"):
        answer = shared.post("/translate", params=query, content=content, headers=headers)
        assert answer.status_code == 400
        assert answer.json() == {"error": f"Invalid request: missing {missing} parameter{advice}"}
    query = {"q": TEXT, "source": "de", "target": "en"}
    assert shared.post("/translate", params=query, content=content, headers=headers).is_success


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null", b'"x"', b"\xff"])
def test_invalid_json_is_refused(shared: Client, body: bytes) -> None:
    answer = shared.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and answer.json()["error"].startswith("Invalid JSON format")


def test_deep_json_is_refused(shared: Client) -> None:
    for body in (b"[" * 11 + b"]" * 11, b"[" * 9000):
        headers = {"Content-Type": "application/json"}
        answer = shared.post("/translate", content=body, headers=headers)
        assert answer.status_code == 422
        assert answer.json()["error"].endswith("more than 10 levels (limits.depth = 10)")


def test_other_methods_and_paths_are_errors_in_json(shared: Client) -> None:
    assert (shared.put("/translate").status_code, shared.get("/none").status_code) == (405, 404)
    assert shared.get("/translate").json() == {"error": "Method Not Allowed"}


# ---- the rest ------------------------------------------------------------------------------------


def test_suggestions_are_stored_if_a_file_is_given(start: StartClient, tmp_path: Path) -> None:
    row = {"q": "Guten Tag", "s": "Hello", "source": "de", "target": "en"}
    refused = start("de-en").post("/suggest", data=row)
    assert (refused.status_code, refused.json()) == (
        403,
        {"error": "Suggestions are disabled on this server."},
    )
    path = tmp_path / "suggestions.jsonl"
    client = start("de-en", suggestions=str(path))
    assert client.post("/suggest", data=row).json() == {"success": True}
    assert client.post("/suggest", data={**row, "s": ""}).json() == {
        "error": "Invalid request: missing s parameter"
    }
    assert [json.loads(line) for line in path.read_text().splitlines()] == [row]
    full = start("de-en", suggestions=str(path), limits={"suggestions": path.stat().st_size})
    refused = full.post("/suggest", data=row)
    assert (refused.status_code, refused.json()) == (
        503,
        {"error": f"The file of suggestions is full (limits.suggestions = {path.stat().st_size})"},
    )


def test_the_settings_tell_clients_the_limits(start: StartClient) -> None:
    found = start("de-en", limits={"characters": 70}).get("/frontend/settings").json()
    assert found["charLimit"] == 70 and not found["apiKeys"] and not found["suggestions"]
    assert found["language"]["source"] == {"code": "de", "name": "German"}
    assert {".docx", ".html", ".po", ".txt"} < set(found["supportedFilesFormat"])


def test_metrics_count_requests_by_route(start: StartClient) -> None:
    client = start("de-en")
    asked(client, q=TEXT)
    client.get("/no/such/path")
    text = client.get("/metrics").text
    assert 'yakusu_requests_total{path="/translate",status="200"} 1.0' in text
    assert 'yakusu_requests_total{path="(other)",status="404"} 1.0' in text
    assert f'yakusu_characters_total{{source="de",target="en"}} {len(TEXT)}.0' in text
    assert "/no/such" not in text


def test_metrics_count_the_characters_of_all_translations(start: StartClient) -> None:
    client = start()
    asked(client, "/v1/translate", text="Zug" * 10)
    asked(client, "/v1/translate", text="Zug" * 100, n_best=0)  # refused
    asked(client, "/v1/stream", text="Der\nZug", target="fr")
    files = {"file": ("a.html", b"<p>Guten <b>Tag</b>.</p>")}
    client.post("/translate_file", files=files, data={"source": "en", "target": "fr"})
    found = [
        line for line in client.get("/metrics").text.splitlines() if "characters_total{" in line
    ]
    assert found == [
        'yakusu_characters_total{source="de",target="en"} 30.0',
        'yakusu_characters_total{source="de",target="fr"} 7.0',
        'yakusu_characters_total{source="en",target="fr"} 10.0',
    ]


@pytest.fixture
def rooms_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every translation of a sentence with "Zimmer" have a number too many."""

    def compare(_: Agreement, source: str, __: str) -> Disagreement:
        return Disagreement(added=(Span(0, 2, "99"),) if "Zimmer" in source else ())

    monkeypatch.setattr(Agreement, "compare", compare)


@pytest.mark.usefixtures("rooms_differ")
def test_a_text_that_is_kept_is_told(shared: Client) -> None:
    kept, other = "Ein Zimmer.", "Der Zug kommt heute nicht."
    assert asked(shared, q=kept).json() == {"translatedText": kept, "copied": True}
    assert "copied" not in asked(shared, q=other).json()
    assert asked(shared, q=[kept, other]).json()["copied"] == [True, False]
    page = asked(shared, q=f"<p>{other}</p><p>{kept}</p>", format="html").json()
    assert page["copied"] is True and f"<p>{kept}</p>" in page["translatedText"]


# ---- documents -----------------------------------------------------------------------------------


def test_a_document_is_uploaded_and_its_translation_downloaded(shared: Client) -> None:
    files = {"file": ("../../brief.HTML", b"<p>Guten <b>Tag</b>.</p>")}
    answer = shared.post("/translate_file", files=files, data={"source": "de", "target": "en"})
    url = answer.json()["translatedFileUrl"]
    found = shared.get(url)
    assert found.headers["content-disposition"] == 'attachment; filename="brief.html"'
    page = "<p>Guten <b>Tag</b>.</p>"
    assert found.text == asked(shared, q=page, format="html").json()["translatedText"]


@pytest.mark.usefixtures("rooms_differ")
def test_what_is_kept_of_a_document_is_told(shared: Client) -> None:
    lines = ["Der Zug kommt.", *(f"Zimmer {n} kostet 99 Euro." for n in range(4700, 4712))]
    for name, content in (
        ("a.txt", "\n".join(lines)),
        ("a.po", "".join(f'msgid "{line}"\nmsgstr ""\n\n' for line in lines)),
    ):
        files = {"file": (name, content.encode())}
        posted = shared.post("/translate_file", files=files, data={"source": "de", "target": "en"})
        answer = posted.json()
        assert answer["keptTotal"] == 12 and len(answer["kept"]) == 10
        line = content[: content.index("Zimmer")].count("\n") + 1
        assert answer["kept"][0].startswith(f"line {line}: ")
        assert "Zimmer" in answer["kept"][0]
    files = {"file": ("a.txt", b"Der Zug kommt.")}
    answer = shared.post("/translate_file", files=files, data={"source": "de", "target": "en"})
    assert answer.json().keys() == {"translatedFileUrl"}


@pytest.mark.parametrize("name", ["source.txt", "my file é.txt", f"{'訳' * 90}.txt"])
def test_a_document_may_have_any_name(shared: Client, name: str) -> None:
    text = "Der Zug kommt heute nicht."
    files = {"file": (name, text.encode())}
    answer = shared.post("/translate_file", files=files, data={"source": "auto", "target": "en"})
    url = answer.json()["translatedFileUrl"]
    assert url.isascii() and " " not in url
    assert shared.get(url).text == expected(text)[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.exe", b"x", "Invalid request: file format not supported"),
        ("a", b"x", "Invalid request: file format not supported"),
        ("a.docx", b"x", "Invalid request: a.docx is not a .docx file"),
        ("a.json", b"{", "Invalid request: a.json"),
        ("a.txt", b"\xff\xfe\x00", "Invalid request: a.txt"),
    ],
)
def test_invalid_documents_are_refused(
    shared: Client, name: str, content: bytes, message: str
) -> None:
    data = {"source": "de", "target": "en"}
    answer = shared.post("/translate_file", files={"file": (name, content)}, data=data)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].startswith(message)
    assert "/tmp" not in answer.text and "source." not in answer.text


def test_xliff_may_be_named_xml(shared: Client) -> None:
    unit = '<trans-unit id="1"><source>Guten Tag.</source></trans-unit>'
    content = (
        '<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        '<file original="a" source-language="de" datatype="plaintext">'
        f"<body>{unit}</body></file></xliff>"
    )
    data = {"source": "de", "target": "en"}
    answer = shared.post("/translate_file", files={"file": ("a.xml", content)}, data=data)
    assert "<target" in shared.get(answer.json()["translatedFileUrl"]).text
    other = shared.post("/translate_file", files={"file": ("a.xml", "<a>Tag</a>")}, data=data)
    assert other.status_code == 400 and "a.xml has the suffix .xml" in other.json()["error"]


def test_a_request_without_a_file_or_with_an_unknown_download_is_refused(shared: Client) -> None:
    data = {"source": "de", "target": "en"}
    missing = {"error": "Invalid request: missing file parameter"}
    assert shared.post("/translate_file", data=data).json() == missing
    assert shared.post("/translate_file", data={**data, "file": "x"}).json() == missing
    for path in ("x/y.txt", "..%2f..%2fetc/passwd", "%2e%2e/passwd"):
        assert shared.get(f"/download_file/{path}").status_code == 404


def test_the_metrics_are_what_a_parser_of_prometheus_reads(
    start: StartClient, tmp_path: Path
) -> None:
    path = tmp_path / "team.db"
    with TranslationMemory.open(path, ("de", "en"), writable=True) as memory:
        memory.add([MemorySegment("Sichern", "Save")])
    client = start("de-en", memory=[str(path)])
    for q in ("Sichern", "Der Zug kommt."):
        client.post("/translate", json={"q": q, "source": "de", "target": "en"})
    families = {
        each.name: each for each in text_string_to_metric_families(client.get("/metrics").text)
    }
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for each in families.values()
        for sample in each.samples
    }
    assert values["yakusu_requests_total", "/translate", "200"] == 2
    assert values["yakusu_request_seconds_count", "/translate"] == 2
    assert values["yakusu_memory_hits_total",] == 1
    assert values["yakusu_waiting_requests",] == 0
    assert values["yakusu_tokens_total", "source"] > 4 < values["yakusu_tokens_total", "target"]
    for stage in ("plan", "search", "write"):
        assert values["yakusu_stage_seconds_count", stage] == 2
        assert (
            0
            < values["yakusu_stage_seconds_sum", stage]
            < values["yakusu_request_seconds_sum", "/translate"]
        )
    table = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    for name, each in families.items():
        if name.endswith("_created"):  # when a counter began
            continue
        suffix = "_total" if each.type == "counter" else ""
        assert f"| `{name}{suffix}` |" in table
