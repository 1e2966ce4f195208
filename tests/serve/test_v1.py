"""The API under /v1: n-best lists, tokens, prefixes, glossaries, traces, scores, attention."""

import asyncio
import json
from collections.abc import Iterator
from threading import Event
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.serve.conftest import Client, StartClient
from tests.translators import opened_by_default
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.sentence_pairs import sentence_pairs
from yakusu.search.config import SearchConfig
from yakusu.serve.api.v1 import encoded_json
from yakusu.serve.config import Limits
from yakusu.serve.work import RunningRequests
from yakusu.translator.request import Request
from yakusu.translator.writing.objects import objects
from yakusu.view import attention_maps

TEXT = "Guten Tag. Der Zug kommt."


def asked(client: Client, path: str, **values: Any) -> Any:
    return client.post(f"/v1/{path}", json={"source": "de", "target": "en", **values})


def test_models_are_listed_by_pair(shared: Client) -> None:
    assert shared.get("/v1/models").json() == {
        "models": [
            {"source": "de", "target": "en", "models": ["de-en"], "pivot": None, "memory": None},
            {"source": "en", "target": "fr", "models": ["en-fr"], "pivot": None, "memory": None},
            {
                "source": "de",
                "target": "fr",
                "models": ["de-en", "en-fr"],
                "pivot": "en",
                "memory": None,
            },
        ]
    }


def test_a_translation_has_what_the_command_line_prints(shared: Client) -> None:
    translator = opened_by_default().with_settings(
        search=SearchConfig(beam=3, n_best=3, max_extra=3)
    )
    (best,) = translator.stream([TEXT], details=True, trace=True)
    found = asked(shared, "translate", text=TEXT, n_best=3, details=True, trace=True).json()
    made = json.loads(json.dumps(objects(best)))
    assert {key: found[key] for key in ("translations", "traces")} == made
    assert found["models"] == ["de-en"] and found["detected"] is None
    assert found["counts"] == vars(translator.tally)


def test_a_translation_follows_its_prefix_phrases_glossary_and_protected_text(
    shared: Client,
) -> None:
    values = {"prefix": "Good", "include": ["train"], "exclude": ["the"]}
    request = Request("Der Zug kommt", "Good", ("train",), ("the",))
    (text,) = opened_by_default().translate([request])
    found = asked(shared, "translate", text="Der Zug kommt", **values).json()
    assert found["translations"][0]["text"] == text
    assert text.startswith("Good") and "train" in text
    terms = asked(shared, "translate", text="Der Zug kommt", glossary=[["Zug", "bus"]]).json()
    assert "bus" in terms["translations"][0]["text"].lower() and terms["counts"]["terms"] == 1
    kept = asked(shared, "translate", text="Der Zug.* kommt", protect=["Zug.*"]).json()
    assert "Zug.*" in kept["translations"][0]["text"] and kept["counts"]["spans"] == 1


def test_lines_are_streamed_as_events(shared: Client) -> None:
    text = "- Guten Tag.\n\n  Der Zug kommt.\n```\ncode\n```"
    answer = asked(shared, "stream", text=text, details=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [event.split("\n") for event in answer.text.strip().split("\n\n")]
    names = [name.removeprefix("event: ") for name, _ in events]
    assert names == ["languages", *["line"] * 6, "end"]
    rows = [json.loads(data.removeprefix("data: ")) for _, data in events]
    translator = opened_by_default()
    every = translator.stream(text.split("\n"), layout=Layout(), details=True)
    sentences = [row.pop("sentences") for row in rows[1:-1]]
    assert rows[1:-1] == [
        {"line": number, **json.loads(json.dumps(objects(best)))}
        for number, best in enumerate(every)
    ]
    assert ["".join(source for source, _ in parts) for parts in sentences] == text.split("\n")


@pytest.mark.parametrize(
    ("source", "target", "parts"),
    [
        ("Guten Tag.", "Hello.", [("Guten Tag.", "Hello.")]),
        (
            "- Guten Tag.  Der Zug kommt. ",
            "- Hello.  The train arrives. ",
            [
                ("- ", "- "),
                ("Guten Tag.  ", "Hello.  "),
                ("Der Zug kommt.", "The train arrives."),
                (" ", " "),
            ],
        ),
        ("Guten Tag. Danke.", "Hello, thanks.", [("Guten Tag. Danke.", "Hello, thanks.")]),
        ("- Ja. Nein.", "Yes. No.", [("- Ja. Nein.", "Yes. No.")]),
        ("Ja. Gut.\nNein. Schlecht.", "Yes. Good.\nNo. Bad.", None),
        ("", "", [("", "")]),
    ],
)
def test_a_line_and_its_translation_are_divided_into_the_same_number_of_sentences(
    source: str, target: str, parts: list[tuple[str, str]] | None
) -> None:
    assert sentence_pairs(source, target, ("de", "en")) == (parts or [(source, target)])


def test_an_error_ends_a_stream(start: StartClient) -> None:
    client = start("de-en", limits={"seconds": 0.05})
    text = "\n".join(f"Zug {n} kommt heute." for n in range(2000))
    answer = asked(client, "stream", text=text)
    last = answer.text.strip().split("\n\n")[-1]
    assert last.startswith('event: error\ndata: {"error":"The translation took longer than 0.05 s')
    assert 'yakusu_refusals_total{reason="limits.seconds"} 1.0' in client.get("/metrics").text


def test_a_stream_waits_for_a_client_that_does_not_read() -> None:
    async def run() -> None:
        made: list[int] = []

        def numbers(cancelled: Event) -> Iterator[int]:
            for number in range(1000):
                made.append(number)
                yield number

        items = RunningRequests(Limits()).stream(numbers)
        assert [await anext(items) for _ in range(3)] == [0, 1, 2]
        await asyncio.sleep(0.2)
        assert 100 <= len(made) <= 104
        assert [each async for each in items] == [*range(3, 1000)]

    asyncio.run(run())


def test_many_attention_weights_are_refused(start: StartClient) -> None:
    client = start("de-en", limits={"weights": 100})
    answer = asked(client, "attention", text="Guten Tag.", translation="Good day.")
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("attention weights: shorten it (limits.weights = 100)")
    assert client.app.state.service.budget.used == 0  # type: ignore[attr-defined]


@hypothesis.given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_json_is_encoded_as_by_the_standard_library(value: Any) -> None:
    expected = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert encoded_json(value) == expected


def test_scores_are_those_of_the_model(shared: Client) -> None:
    found = asked(shared, "score", text=TEXT, translation="Good day.", alternatives=2).json()
    (scored,) = opened_by_default().score([TEXT], ["Good day."], alternatives=2)
    assert (found["score"], found["log_prob"]) == (scored.score, scored.log_prob)
    assert [row["token"] for row in found["tokens"]] == list(scored.tokens)
    assert all(len(row["alternatives"]) == 2 for row in found["tokens"])


def test_attention_is_that_of_yakusu_view(shared: Client) -> None:
    translator = opened_by_default()
    for given in ({}, {"translation": "Good day."}):
        found = asked(shared, "attention", text="Guten Tag.", **given).json()
        maps = attention_maps(translator, "Guten Tag.", given.get("translation"))
        made = json.loads(json.dumps(maps.as_json()))
        assert {key: found[key] for key in made} == made


def test_a_pivot_is_marked_and_has_its_limits(shared: Client) -> None:
    found = asked(shared, "translate", text=TEXT, target="fr").json()
    assert (found["pivot"], found["models"]) == ("en", ["de-en", "en-fr"])
    one = opened_by_default()
    assert found["translations"][0]["text"] == one.translate(one.translate([TEXT]))[0]
    own, through = "with a model of their own", "the pair is translated through en"
    for path, values, message in (
        ("translate", {"glossary": [["Zug", "bus"]]}, own),
        ("score", {"translation": "a"}, through),
        ("attention", {}, through),
    ):
        answer = asked(shared, path, text=TEXT, target="fr", **values)
        assert answer.status_code == 400 and message in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "values", "message"),
    [
        ("translate", {}, "text: Field required"),
        ("translate", {"text": None}, "text: Input should be a valid string"),
        ("score", {"text": "a", "translation": "b", "foo": 1}, "unknown parameter 'foo': choose "),
        ("attention", {"text": "a", "x" * 999: 1}, f"unknown parameter '{'x' * 100}': choose from"),
        (
            "translate",
            {"text": "a", "nbest": 1},
            "unknown parameter 'nbest': did you mean 'n_best'",
        ),
        ("translate", {"text": "a", "n_best": 0}, "n_best: Input should be greater than"),
        ("translate", {"text": "a", "glossary": [["a"]]}, "glossary.0.1: Field required"),
        ("translate", {"text": "a", "glossary": [["", "b"]]}, "the term '' has no source term"),
        ("translate", {"text": "a\nb", "prefix": "c"}, "sentence 1: a text with a prefix"),
        ("translate", {"text": "a", "include": ["b"], "exclude": ["b"]}, "sentence 1: "),
        ("stream", {"text": "a", "prefix": "b"}, "prefix and include are for single sentences"),
        ("score", {"text": "a"}, "translation: Field required"),
        ("attention", {"text": " "}, "the source sentence is empty"),
        ("attention", {"text": "a" * 3000}, "the source sentence 'aaaa"),
        ("translate", {"text": "a", "target": "de"}, "the text is in the target language, de"),
    ],
)
def test_invalid_requests_are_refused_in_one_sentence(
    shared: Client, path: str, values: Any, message: str
) -> None:
    answer = asked(shared, path, **values)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].startswith(f"Invalid request: {message}")


def test_too_many_terms_and_translations_are_refused(start: StartClient, shared: Client) -> None:
    client = start("de-en", limits={"terms": 2})
    answer = asked(client, "translate", text="a", include=["a"], protect=["b", "c"])
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("the limit is 2 (limits.terms = 2)")
    many = asked(shared, "translate", text="a", n_best=12)
    assert (many.status_code, many.json()["error"]) == (
        422,
        "Invalid request: n_best must be <= 11 (limits.alternatives = 10)",
    )
