"""The unmodified package `deepl`: the examples of its README, run as they are, and its errors."""

import re
from collections.abc import Callable, Iterator
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import deepl
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries

from tests.serve.conftest import Running, running
from tests.translators import save, untrained
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory

ANNA, BEN = "the key of Anna", "the key of Ben"
PAIRS = ("en-fr", "en-de", "de-en", "ja-en", "es-en")
BLOCKS = re.findall(r"```python\n(.*?)```", metadata("deepl").get_payload(), re.DOTALL)
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="en" segtype="sentence" datatype="plaintext"
  creationtool="x" creationtoolversion="1" o-tmf="x" adminlang="en"/><body>
<tu><tuv xml:lang="en"><seg>The seat is free.</seg></tuv>
<tuv xml:lang="de"><seg>Der Platz ist frei.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Empty</seg></tuv><tuv xml:lang="de"><seg></seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package repeats requests up to five times, and gives up after 10 s."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    monkeypatch.setattr(deepl.http_client, "min_connection_timeout", 120.0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with two keys, of which one is limited, and with a memory."""
    root, translator = tmp_path_factory.mktemp("deepl"), untrained("bytes")
    folders = []
    for pair in PAIRS:
        source, target = pair.split("-")
        folders.append(
            save(root / pair, translator, source_language=source, target_language=target)
        )
    (root / "keys.toml").write_text(
        f'[[keys]]\nkey = "{ANNA}"\nname = "Anna"\n'
        f'[[keys]]\nkey = "{BEN}"\nper_month = 100\nper_minute = 30\n'
    )
    with TranslationMemory.open(root / "team.db", ("en", "de"), writable=True) as memory:
        memory.add([MemorySegment(f"Line {n}", f"Zeile {n}") for n in range(60)])
    settings = {"keys": str(root / "keys.toml"), "require_key": True, "data": str(root / "data")}
    with running(folders, memory=(str(root / "team.db"),), **settings) as found:
        yield found


@pytest.fixture
def client(service: Running) -> deepl.DeepLClient:
    """A client with a key without limits."""
    return deepl.DeepLClient(ANNA, server_url=service.url)


@pytest.fixture
def run(
    service: Running, client: deepl.DeepLClient, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[dict[str, Any], list[str]]]:
    """Run an example of the README with other paths and identifiers."""

    def run_block(beginning: str, **values: Any) -> tuple[dict[str, Any], list[str]]:
        (block,) = [each for each in BLOCKS if each.startswith(beginning)]
        replaced = values.pop("replaced", {})
        for old, new in {
            "DeepLClient(auth_key)": f"DeepLClient('{ANNA}', server_url=url)",
            **replaced,
        }.items():
            block = block.replace(old, new)
        names = {
            "deepl": deepl,
            "deepl_client": client,
            "url": service.url,
            "MultilingualGlossaryDictionaryEntries": MultilingualGlossaryDictionaryEntries,
            **values,
        }
        capsys.readouterr()
        exec(block, names)
        return names, capsys.readouterr().out.splitlines()

    return run_block


# ---- texts ---------------------------------------------------------------------------------------


def test_the_first_example(run: Any) -> None:
    names, printed = run("import deepl\n\nauth_key")
    assert isinstance(names["result"], deepl.TextResult)
    assert printed == [names["result"].text] and printed[0]


def test_texts_in_several_languages(run: Any) -> None:
    without_formality = {'formality="less"': 'formality="prefer_less"', '"more"': '"prefer_more"'}
    names, printed = run("# Translate text into a target", replaced=without_formality)
    first, second = names["result"]
    assert (first.detected_source_lang, first.billed_characters) == ("JA", 7)
    assert (second.detected_source_lang, second.billed_characters) == ("ES", 12)
    assert printed[1:7] == [first.text, "JA", "7", second.text, "ES", "12"]
    assert first.model_type_used is None and len(printed) == 9


@pytest.mark.parametrize("formality", ["more", "less"])
def test_no_model_has_two_formalities(client: deepl.DeepLClient, formality: str) -> None:
    with pytest.raises(deepl.DeepLException, match="'formality' is not supported") as found:
        client.translate_text("How are you?", target_lang="DE", formality=formality)
    assert found.value.http_status_code == 400


def test_all_options_of_texts(client: deepl.DeepLClient) -> None:
    result = client.translate_text(
        ["Press <b>Start</b> <keep>F5</keep>.", "<p>One.</p>"],
        source_lang="EN",
        target_lang="DE",
        context="A manual.",
        split_sentences=deepl.SplitSentences.NO_NEWLINES,
        preserve_formatting=True,
        formality=deepl.Formality.PREFER_MORE,
        tag_handling="xml",
        tag_handling_version="v2",
        outline_detection=False,
        non_splitting_tags="b,i",
        splitting_tags=["p"],
        ignore_tags="keep",
        model_type=deepl.api_data.ModelType.PREFER_QUALITY_OPTIMIZED,
        translation_memory_threshold=None,
        extra_body_parameters={"unknown": True},
    )
    assert isinstance(result, list)
    assert [each.text.count("<keep>F5</keep>") for each in result] == [1, 0]
    assert result[1].text.startswith("<p>") and result[1].text.endswith("</p>")
    assert {each.model_type_used for each in result} == {"quality_optimized"}


@pytest.mark.parametrize("target", ["EN-US", "EN-GB", "en-us"])
def test_variants_of_a_target_language_use_its_model(
    client: deepl.DeepLClient, target: str
) -> None:
    result = client.translate_text("Guten Tag", source_lang="de", target_lang=target)
    assert isinstance(result, deepl.TextResult)
    assert result.text and result.detected_source_lang == "DE"


# ---- documents -----------------------------------------------------------------------------------


def test_documents(run: Any, client: deepl.DeepLClient, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>The train comes.</p>")
    run(
        "# Translate a formal document",
        replaced={
            "/path/to/Instruction Manual.docx": str(tmp_path / "a.html"),
            "/path/to/Bedienungsanleitung.docx": str(tmp_path / "b.html"),
            '"more"': '"prefer_more"',
        },
    )
    assert re.fullmatch("<p>.+</p>", (tmp_path / "b.html").read_text())


def test_a_document_in_steps_is_downloaded_once(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload("A train.", filename="a.txt", target_lang="DE")
    status = client.translate_document_wait_until_done(handle)
    assert (status.ok, status.done, status.billed_characters) == (True, True, 8)
    response = client.translate_document_download(handle)
    assert response is not None and response.content
    with pytest.raises(deepl.DeepLException, match="Not found") as found:
        client.translate_document_download(handle)
    assert found.value.http_status_code == 404


def test_a_broken_document_has_an_error(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload(b"no ZIP", filename="a.docx", target_lang="DE")
    status = client.translate_document_wait_until_done(handle)
    assert not status.ok and status.error_message


@pytest.mark.parametrize(
    ("name", "options"),
    [("a.exe", {}), ("a.txt", {"output_format": "pdf"}), ("a.txt", {"formality": "more"})],
)
def test_wrong_documents_are_refused_at_once(
    client: deepl.DeepLClient, name: str, options: dict[str, str]
) -> None:
    with pytest.raises(deepl.DeepLException, match="Bad request, message"):
        client.translate_document_upload("x", filename=name, target_lang="DE", **options)


# ---- glossaries ----------------------------------------------------------------------------------


def test_glossaries_with_several_dictionaries(run: Any, tmp_path: Path) -> None:
    names, printed = run(
        "# Create a glossary with an English to German",
        replaced={"my_glossary.entry_count": "my_glossary_dict.entry_count"},  # there is none
    )
    glossary = names["my_glossary"]
    assert printed == [
        f"Created 'My glossary' ({glossary.glossary_id}) with 1 dictionary where its language pair "
        "is EN->DE containing 2 entries"
    ]
    names, _ = run("entries = deepl_client.get_multilingual", my_glossary=glossary)
    assert names["entries"].dictionaries[0].entries == "artist\tMaler\nprize\tGewinn"
    names, printed = run("text = ", my_glossary=glossary)
    assert "Maler" in printed[0] and "Gewinn" in printed[0] and "Maler" not in printed[1]
    (tmp_path / "a.txt").write_text("The artist.")
    with (tmp_path / "a.txt").open("rb") as source, (tmp_path / "b.txt").open("wb") as target:
        run(
            "deepl_client.translate_document(",
            in_file=source,
            out_file=target,
            my_glossary=glossary,
        )
    assert "Maler" in (tmp_path / "b.txt").read_text()
    run("# Retrieve a stored glossary", replaced={"559192ed-8e23-...": glossary.glossary_id})


def test_glossaries_of_csv_files(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("artist,Maler,EN,DE\n")
    replaced = {"/path/to/glossary_file.csv": str(tmp_path / "a.csv")}
    names, _ = run("# Open the CSV file", replaced=replaced)
    assert names["my_csv_glossary"].dictionaries[0].entry_count == 1


def test_glossaries_are_edited(run: Any, client: deepl.DeepLClient, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("artist,Maler\n")
    csv = client.create_multilingual_glossary(
        "CSV", [MultilingualGlossaryDictionaryEntries("EN", "DE", {"a": "b"})]
    )
    replaced = {
        "/path/to/glossary_file.csv": str(tmp_path / "a.csv"),
        "4c81ffb4-2e...": csv.glossary_id,
    }
    _, printed = run("# Update glossary dictionary", replaced=replaced)
    assert "artist\tMaler\nhello\thallo\nprize\tGewinn" in "\n".join(printed[:3])
    assert "goodbye\tAuf Wiedersehen" in printed[3] and printed[4] == "My new glossary name"
    entries = client.get_multilingual_glossary_entries(csv, "EN", "DE").dictionaries[0]
    assert entries.entries == "artist\tMaler"


def test_glossaries_with_one_dictionary(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("One", "EN", "DE", {"artist": "Maler", "seat": "Platz"})
    assert (made.ready, made.entry_count, made.source_lang, made.target_lang) == (
        True,
        2,
        "EN",
        "DE",
    )
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert client.get_glossary_entries(made) == {"artist": "Maler", "seat": "Platz"}
    assert made.glossary_id in [each.glossary_id for each in client.list_glossaries()]
    result = client.translate_text_with_glossary("The artist", made)
    assert isinstance(result, deepl.TextResult) and "Maler" in result.text
    second = client.create_glossary_from_csv("Two", "EN", "DE", "artist,Künstlerin,en,de\n")
    both = client.translate_text(
        "The artist, a seat", source_lang="EN", target_lang="DE", glossary_ids=[second, made]
    )
    assert isinstance(both, deepl.TextResult)
    assert "Künstlerin" in both.text and "Platz" in both.text and "Maler" not in both.text
    client.delete_glossary(made)
    for use in (client.get_glossary, client.get_glossary_entries, client.delete_glossary):
        with pytest.raises(deepl.GlossaryNotFoundException):
            use(made.glossary_id)


# ---- usage and languages -------------------------------------------------------------------------


def test_usage(run: Any, client: deepl.DeepLClient) -> None:
    before = client.get_usage().character.count
    client.translate_text("Seven c", source_lang="EN", target_lang="DE")
    names, printed = run("usage = ")
    usage = names["usage"]
    assert usage.character.valid and not usage.any_limit_reached and not usage.document.valid
    assert usage.character.count == (before or 0) + 7
    assert printed == [f"Character usage: {usage.character.count} of 1000000000000"]


def test_languages(run: Any) -> None:
    _, printed = run('print("Source languages:")')
    at = printed.index("Target languages:")
    assert printed[1:at] == ["German (DE)", "English (EN)", "Spanish (ES)", "Japanese (JA)"]
    codes = [line[line.index("(") :] for line in printed[at + 1 :]]
    assert [code.rpartition("(")[2] for code in codes] == ["DE)", "EN-GB)", "EN-US)", "FR)"]
    _, printed = run("glossary_languages = ")
    assert printed == ["de to en", "en to de", "en to fr", "es to en", "ja to en"]


# ---- translation memories ------------------------------------------------------------------------


def test_translation_memories(run: Any, tmp_path: Path) -> None:
    names, printed = run("# List translation memories")
    (memory,) = names["translation_memories"]
    number = {"YOUR_TM_ID": memory.translation_memory_id}
    assert printed[:2] == [
        f"team ({memory.translation_memory_id})",
        "  Source: en, Targets: ['de']",
    ]
    _, printed = run("tm = ", replaced=number)
    assert re.fullmatch(r"team: \d+ segments, updated 20.+", printed[0])
    _, printed = run("page_cursor = None", replaced=number)
    assert printed[:4] == ["Line 0", "  de: Zeile 0", "Line 1", "  de: Zeile 1"]
    assert len(printed) >= 120
    run("# Translate with a translation memory ID", replaced=number)
    (tmp_path / "legal.tmx").write_text(TMX)
    replaced = {"/path/to/legal.tmx": str(tmp_path / "legal.tmx"), **number}
    _, printed = run("job = deepl_client.import", replaced=replaced)
    assert printed == [
        f"Created translation memory {memory.translation_memory_id}",
        "Skipped segments: 1",
    ]
    import os

    names, _ = run(
        "created = deepl_client.create_translation_memory_import", replaced=replaced, os=os
    )
    assert names["job"].ok and names["job"].result.status == "completed"
    replaced = {"/path/to/exported.tmx": str(tmp_path / "out.tmx"), **number}
    for beginning in (
        "job = deepl_client.export",
        "created = deepl_client.create_translation_memory_export",
    ):
        run(beginning, replaced=replaced)
        assert "Der Platz ist frei." in (tmp_path / "out.tmx").read_text()
        (tmp_path / "out.tmx").unlink()


def test_segments_are_filtered(client: deepl.DeepLClient) -> None:
    (memory,) = client.list_translation_memories()
    found = client.list_translation_memory_segments(memory, filter_text="line 5", page_size=3)
    assert [each.source_text for each in found] == ["Line 5", "Line 50", "Line 51"]
    rest = client.list_translation_memory_segments(
        memory, filter_text="line 5", page_size=100, page_cursor=found.next_page_cursor
    )
    assert len(rest) == 8 and rest.next_page_cursor is None
    exact = client.list_translation_memory_segments(
        memory, filter_text="line 5", filter_case_sensitive=True
    )
    assert len(exact) == 0


def test_a_wrong_tmx_file_is_an_error_of_the_import(client: deepl.DeepLClient) -> None:
    for content in (b"no XML", TMX.replace('"de"', '"ko"').encode()):
        created = client.create_translation_memory_import("a.tmx", len(content))
        assert client.get_translation_memory_job(created.job_id).status == "awaiting_input"
        client.upload_translation_memory_file(created, content)
        job = client.wait_until_translation_memory_job_done(created.job_id)
        assert not job.ok and job.result and "a.tmx" in (job.result.error_message or "")
        with pytest.raises(deepl.DeepLException, match="404"):
            client.upload_translation_memory_file(created, content)


def test_only_the_operator_removes_memories(client: deepl.DeepLClient) -> None:
    (memory,) = client.list_translation_memories()
    with pytest.raises(deepl.AuthorizationException, match="Only the operator"):
        client.delete_translation_memory(memory)
    assert client.get_translation_memory(memory).segment_count >= 60


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        (lambda client: client.rephrase_text("A rainbouw."), 404),
        (lambda client: client.get_all_style_rules(), 404),
        (lambda client: client.translate_text("A", target_lang="DE", style_rule="x"), 400),
        (
            lambda client: client.translate_text("A", target_lang="DE", custom_instructions=["x"]),
            400,
        ),
        (lambda client: client.translate_text("A", target_lang="XX"), 400),
        (lambda client: client.translate_text("A", source_lang="FR", target_lang="JA"), 400),
        (lambda client: client.translate_text("A", target_lang="DE", tag_handling="md"), 400),
        (lambda client: client.translate_text("<a>", target_lang="DE", tag_handling="xml"), 400),
        (lambda client: client.translate_text("A", target_lang="DE", split_sentences="2"), 400),
        (lambda client: client.translate_text("A", target_lang="DE", model_type="best"), 400),
        (
            lambda client: client.translate_text(
                "A", source_lang="EN", target_lang="DE", glossary="unknown"
            ),
            404,
        ),
        (
            lambda client: client.translate_text(
                "A", source_lang="EN", target_lang="DE", translation_memory="unknown"
            ),
            404,
        ),
        (lambda client: client.translate_text("A" * 200_000, target_lang="DE"), 413),
        (lambda client: client.create_glossary("a", "EN", "JA", {"a": "b"}), 400),
        (lambda client: client.get_translation_memory("unknown"), 404),
        (lambda client: client.get_translation_memory_job("unknown"), 404),
    ],
)
def test_errors_have_the_status_of_deepl(
    client: deepl.DeepLClient, ask: Callable[[deepl.DeepLClient], object], status: int
) -> None:
    with pytest.raises(deepl.DeepLException) as found:
        ask(client)
    assert found.value.http_status_code == status
    assert "message" in str(found.value)


def test_a_wrong_key_is_an_authorization_error(service: Running) -> None:
    stranger = deepl.DeepLClient("a wrong key", server_url=service.url)
    for ask in (stranger.get_usage, stranger.list_glossaries, stranger.get_source_languages):
        with pytest.raises(deepl.AuthorizationException, match="Invalid API key"):
            ask()
    with pytest.raises(deepl.AuthorizationException):
        stranger.translate_text("A", target_lang="DE")


def test_a_key_sees_nothing_of_another_one(client: deepl.DeepLClient, service: Running) -> None:
    ben = deepl.DeepLClient(BEN, server_url=service.url)
    made = client.create_glossary("Secret", "EN", "DE", {"artist": "Maler"})
    handle = client.translate_document_upload("A train.", filename="a.txt", target_lang="DE")
    (memory,) = client.list_translation_memories()
    export = client.create_translation_memory_export(memory)
    entries = MultilingualGlossaryDictionaryEntries("EN", "DE", {"a": "b"})
    pair = {"source_lang": "EN", "target_lang": "DE"}
    tried: list[Callable[[], object]] = [
        lambda: ben.get_glossary(made.glossary_id),
        lambda: ben.get_glossary_entries(made.glossary_id),
        lambda: ben.delete_glossary(made.glossary_id),
        lambda: ben.get_multilingual_glossary(made.glossary_id),
        lambda: ben.get_multilingual_glossary_entries(made.glossary_id, "EN", "DE"),
        lambda: ben.update_multilingual_glossary_name(made.glossary_id, "Mine"),
        lambda: ben.update_multilingual_glossary_dictionary(made.glossary_id, entries),
        lambda: ben.replace_multilingual_glossary_dictionary(made.glossary_id, entries),
        lambda: ben.delete_multilingual_glossary_dictionary(made.glossary_id, **pair),
        lambda: ben.delete_multilingual_glossary(made.glossary_id),
        lambda: ben.translate_text("A", glossary=made.glossary_id, **pair),
        lambda: ben.translate_document_get_status(handle),
        lambda: ben.translate_document_download(handle),
        lambda: ben.get_translation_memory_job(export.job_id),
        lambda: client.translate_document_get_status(
            deepl.DocumentHandle(handle.document_id, "another key")
        ),
    ]
    for ask in tried:
        with pytest.raises(deepl.DeepLException) as found:
            ask()
        assert found.value.http_status_code == 404
    assert ben.list_glossaries() == [] and ben.list_multilingual_glossaries() == []
    assert client.get_glossary_entries(made) == {"artist": "Maler"}
    assert client.translate_document_wait_until_done(handle).done
    assert client.translate_document_download(handle) is not None


def test_a_key_has_so_many_characters_a_month(service: Running) -> None:
    ben = deepl.DeepLClient(BEN, server_url=service.url)
    limit = ben.get_usage().character
    assert limit.limit == 100
    ben.translate_text("A" * (99 - (limit.count or 0)), source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.QuotaExceededException, match="per_month = 100"):
        ben.translate_text("AB", source_lang="EN", target_lang="DE")
    assert str(ben.get_usage().character) == "99 of 100"
    ben.translate_text("A", source_lang="EN", target_lang="DE")
    assert ben.get_usage().any_limit_reached
    with pytest.raises(deepl.QuotaExceededException):
        ben.translate_document_upload("A", filename="a.txt", target_lang="DE")


def test_too_many_requests(service: Running) -> None:
    ben = deepl.DeepLClient(BEN, server_url=service.url)
    with pytest.raises(deepl.TooManyRequestsException, match="per_minute of the key"):
        for _ in range(40):
            ben.get_usage()
