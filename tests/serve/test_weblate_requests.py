"""Requests of Weblate 5.14.3 in three APIs, replayed from a file, with the expected answers.

    scripts/test tests/serve/test_weblate_requests.py

`test_weblate.py` runs the classes that send them. In answers, <text>, <number> and <time> stand for
any value, and {NAME} for an id in an earlier answer, whose row has `keep`; `kept` is what a
translation contains.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.serve.conftest import Running, running

REQUESTS = Path(__file__).parent.parent / "fixtures" / "clients" / "weblate.jsonl"
KEY = "weblate's key"


@pytest.fixture(scope="module")
def service(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service that needs a key."""
    keys = tmp_path_factory.mktemp("weblate") / "keys.toml"
    keys.write_text("".join(f'[[keys]]\nkey = "{key}"\n' for key in (KEY, "another key")))
    with running([*folders.values()], keys=str(keys), require_key=True) as found:
        yield found


def test_the_requests_of_weblate_are_answered_as_it_expects(service: Running) -> None:
    ids: dict[str, str] = {}
    lines = REQUESTS.read_text(encoding="utf-8").splitlines()
    for line in lines:
        row = json.loads(re.sub(r"\{(\w+)\}", lambda found: ids.get(found[1], found[0]), line))
        answer = sent(service, row)
        told = f"{row['api']}, {row['about']}: {answer.status_code} {answer.text}"
        assert answer.status_code == row["status"], told
        if "answer" not in row:
            assert not answer.content, told
            continue
        assert fits(answer.json(), row["answer"]), told
        for part in row.get("kept", ()):
            assert any(part in text for text in translations(row["api"], answer.json())), told
        if "keep" in row:
            found = answer.json()
            ids[row["keep"]] = str(
                found["glossary_id"] if "glossary_id" in found else found["data"]["id"]
            )
    assert len(lines) >= 50 and len(ids) == 5


def sent(service: Running, row: dict[str, Any]) -> requests.Response:
    """The answer to a request."""
    key = row.get("key", KEY)
    prefix, headers = {
        "libre": ("", {}),
        "deepl": ("", {"Authorization": f"DeepL-Auth-Key {key}"}),
        "modernmt": ("/modernmt", {"MMT-ApiKey": key, "MMT-Platform": "Weblate"}),
    }[row["api"]]
    return requests.request(
        *(row["method"], service.url + prefix + row["path"]),
        params=row.get("query"),
        json=row.get("json"),
        data=row.get("form"),
        files={"csv": ("a.csv", row["csv"])} if "csv" in row else None,
        headers=headers | {"Accept": "application/json; charset=utf-8"},
        timeout=30,
    )


def translations(api: str, answer: Any) -> list[str]:
    """What Weblate reads in an answer."""
    if api == "libre":
        return list(answer["translatedText"])
    if api == "deepl":
        return [each["text"] for each in answer["translations"]]
    return [answer["data"]["translation"]]


def fits(found: Any, wanted: Any) -> bool:
    """Whether an answer is as expected."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(
            fits(found[name], each) for name, each in wanted.items()
        )
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(fits, found, wanted))
    if wanted == "<time>":
        return datetime.fromisoformat(found).tzinfo is not None
    if wanted in ("<text>", "<number>"):
        return isinstance(found, str if wanted == "<text>" else int) and found != ""
    return bool(str(found) == str(wanted))
