"""Clients of LibreTranslate, as they are installed, and the requests that others send."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import libretranslate_aio
import pytest
import yaml
from deep_translator import LibreTranslator
from libretranslatepy import LibreTranslateAPI

from tests.serve.conftest import Running, running
from tests.translators import opened_by_default
from yakusu.data.lines.config import TextConfig

TEXT = "Guten Tag. Der Zug kommt."


def expected(text: str) -> str:
    translator = opened_by_default().with_settings(text=TextConfig())
    return translator.translate([text])[0]


def sent(service: Running, path: str, values: Any) -> Any:
    """What a client that sends JSON gets, as in LibreTranslate's documentation."""
    headers = {"Content-Type": "application/json"}
    body = json.dumps({"api_key": "xxxxxx", **values}).encode()
    with urlopen(Request(service.url + path, body, headers)) as answer:
        return json.load(answer)


def test_libretranslatepy(socket_service: Running) -> None:
    client = LibreTranslateAPI(socket_service.url)
    assert client.translate(TEXT, "de", "en") == expected(TEXT)
    assert client.detect("Wo ist der Bahnhof?")[0]["language"] == "de"
    assert [language["code"] for language in client.languages()] == ["de", "en", "fr"]


def test_deep_translator(socket_service: Running) -> None:
    client = LibreTranslator("de", "en", api_key="unused", custom_url=socket_service.url + "/")
    assert client.translate(TEXT) == expected(TEXT)
    long = TEXT * 1000  # in the address: 26,000 characters
    assert client.translate(long) == expected(long)
    assert client.translate_batch([TEXT, "Der Zug"]) == [expected(TEXT), expected("Der Zug")]


def test_libretranslate_aio(socket_service: Running, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    with libretranslate_aio.LibreTranslate(socket_service.url) as client:
        assert client.translate(TEXT, "de", "en").translated_text == expected(TEXT)
        found = client.translate([TEXT, "Der Zug"], "auto", "en", alternatives=1)
        assert found.translated_text == [expected(TEXT), expected("Der Zug")]
        assert isinstance(found.detected_language, list) and len(found.alternatives or []) == 2
        assert client.frontend_settings().language.source.code == "de"
        assert client.languages()[0].targets == ["de", "en", "fr"] and client.health()
        with pytest.raises(libretranslate_aio.ForbiddenError, match="Suggestions are disabled"):
            client.suggest("a", "b", "de", "en")
        url = client.translate_file(tmp_path / "a.txt", "de", "en").translated_file_url
        with urlopen(url) as file:
            assert file.read().decode() == expected(TEXT)


def test_libretranslate_aio_without_waiting(socket_service: Running) -> None:
    async def translate(texts: list[str]) -> list[Any]:
        async with libretranslate_aio.AsyncLibreTranslate(socket_service.url) as client:
            found = await asyncio.gather(*(client.translate(text, "de", "en") for text in texts))
            return [each.translated_text for each in found]

    texts = [f"Zug {n} kommt." for n in range(20)]
    assert asyncio.run(translate(texts)) == [expected(text) for text in texts]


def test_the_requests_of_argostranslate(socket_service: Running) -> None:
    """The client in `argostranslate.apis` sends forms only."""

    def posted(path: str, **values: str) -> Any:
        request = Request(socket_service.url + path, urlencode(values).encode())
        with urlopen(request) as answer:
            return json.load(answer)

    made = posted("/translate", q=TEXT, source="de", target="en")
    assert made == {"translatedText": expected(TEXT)}
    assert posted("/detect", q="Wo ist der Bahnhof?")[0]["language"] == "de"
    assert [language["code"] for language in posted("/languages")] == ["de", "en", "fr"]


def test_the_requests_of_mastodon(socket_service: Running) -> None:
    values = {"q": ["<p>Guten Tag.</p>"], "source": "auto", "target": "en", "format": "html"}
    (made,) = sent(socket_service, "/translate", values)["translatedText"]
    assert made == f"<p>{expected('Guten Tag.')}</p>"


def test_the_command_of_home_assistant(socket_service: Running) -> None:
    page = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    command = yaml.safe_load(block)["rest_command"]["translate"]
    text = 'Er sagt: "Guten Tag."'
    payload = command["payload"].replace("{{ text | to_json }}", json.dumps(text))
    values = {**json.loads(payload), "source": "de", "target": "en"}
    assert command["url"].endswith(":5000/translate")
    assert sent(socket_service, "/translate", values) == {"translatedText": expected(text)}


def test_the_requests_of_the_documentation_of_libretranslate(socket_service: Running) -> None:
    pair = {"source": "de", "target": "en"}
    assert sent(socket_service, "/translate", {"q": "Hallo!", **pair}) == {
        "translatedText": expected("Hallo!")
    }
    auto = sent(
        socket_service, "/translate", {"q": "Guten Abend!", "source": "auto", "target": "en"}
    )
    assert auto["detectedLanguage"]["language"] == "de" and set(auto["detectedLanguage"]) == {
        "confidence",
        "language",
    }
    page = {"q": '<p class="green">Hallo!</p>', "format": "html", **pair}
    made = sent(socket_service, "/translate", page)["translatedText"]
    assert made.startswith('<p class="green">') and made.endswith("</p>")
    several = sent(
        socket_service, "/translate", {"q": "Hallo", "format": "text", "alternatives": 3, **pair}
    )
    assert len(several["alternatives"]) == 3


def test_a_key_is_sent_by_each_client(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text('[[keys]]\nkey = "a secret key"\n')
    settings: dict[str, Any] = {"keys": str(tmp_path / "keys.toml"), "require_key": True}
    with running([folders["de-en"]], **settings) as service:
        one = LibreTranslateAPI(service.url, api_key="a secret key")
        assert one.translate(TEXT, "de", "en") == expected(TEXT)
        other = LibreTranslator("de", "en", api_key="a secret key", custom_url=service.url + "/")
        assert other.translate(TEXT) == expected(TEXT)
        with (
            libretranslate_aio.LibreTranslate(service.url, api_key="wrong") as client,
            pytest.raises(libretranslate_aio.ForbiddenError, match="Invalid API key"),
        ):
            client.translate(TEXT, "de", "en")
