"""Many requests of many clients at once: no errors, flat memory, the bytes of the command line.

The environment variable YAKUSU_SOAK sets another number of requests; from 2,000 on, the hostile
ones have their full size.
"""

import http.client
import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.reliability.hostile import attacks
from tests.cases import THOROUGH
from tests.serve.conftest import Running
from tests.serve.test_limits import wait_until
from tests.translators import opened_by_default
from yakusu.data.lines.config import TextConfig
from yakusu.search.config import SearchConfig

N = int(os.environ.get("YAKUSU_SOAK", "480" if THOROUGH else "32"))
N_CLIENTS, N_HOSTILE = 16, 4
SIZE, PATIENCE = (1_900_000, 10.0) if N >= 2000 else (2000, 0.5)  # of hostile requests
WORDS = "Der Zug kommt heute nicht, aber {place} ist <b>frei</b> und 12 Uhr.".split()  # noqa: SIM905
SEARCHES = {n: SearchConfig(beam=max(2, n + 1), n_best=n + 1, max_extra=3) for n in range(4)}


def requests(seed: int, n: int) -> list[tuple[list[str], int]]:
    """Texts of one to five lines, some empty, and a number of alternatives."""
    rng = random.Random(seed)

    def text() -> str:
        lines = [" ".join(rng.choices(WORDS, k=rng.randrange(9))) for _ in range(rng.randint(1, 5))]
        return "\n".join(lines) or "Zug"

    return [([text() for _ in range(rng.randint(1, 4))], rng.randrange(4)) for _ in range(n)]


def ask(port: int, given: list[tuple[list[str], int]]) -> list[Any]:
    """The answers to requests over one connection."""
    connection, answers = http.client.HTTPConnection("127.0.0.1", port), []
    for texts, n in given:
        values = {"q": texts, "source": "de", "target": "en", "alternatives": n}
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/translate", json.dumps(values), headers)
        answer = connection.getresponse()
        answers.append((answer.status, json.loads(answer.read())))
    connection.close()
    return answers


def expected(texts: list[str], n: int) -> Any:
    return _expected(tuple(texts), n)


@cache
def _expected(texts: tuple[str, ...], n: int) -> Any:
    translator = opened_by_default().with_settings(search=SEARCHES[n], text=TextConfig())
    stream = list(translator.stream(texts))
    every = [[each.text for each in best] for best in stream]
    found: dict[str, Any] = {"translatedText": [best[0] for best in every]}
    copied = [best[0].copied or bool(best[0].differences) for best in stream]
    if any(copied):
        found["copied"] = copied
    return found | ({"alternatives": [best[1:] for best in every]} if n else {})


def resident() -> int:
    """Memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_many_clients_get_the_bytes_of_the_command_line(socket_service: Running) -> None:
    def client(number: int) -> list[tuple[int, int]]:
        given = requests(number, N // N_CLIENTS)
        wrong = []
        for i, (status, found) in enumerate(ask(socket_service.port, given)):
            if (status, found) != (200, expected(*given[i])):
                wrong.append((number, i))
        return wrong

    expected(["Zug"], 0)  # makes the model: weights drawn in several threads would differ
    with ThreadPoolExecutor(N_CLIENTS) as clients:
        assert not [each for wrong in clients.map(client, range(N_CLIENTS)) for each in wrong]


def test_memory_is_flat_after_the_first_requests(socket_service: Running) -> None:
    def round_of(seed: int) -> None:
        with ThreadPoolExecutor(N_CLIENTS) as clients:
            given = [requests(seed + i, max(1, N // 10 // N_CLIENTS)) for i in range(N_CLIENTS)]
            assert all(
                status == 200
                for answers in clients.map(lambda each: ask(socket_service.port, each), given)
                for status, _ in answers
            )

    n_rounds = 5 if N >= 160 else 3
    for seed in range(n_rounds):
        round_of(100 * seed)
    before = resident()
    for seed in range(n_rounds, 2 * n_rounds):
        round_of(100 * seed)
    assert resident() - before < 20_000_000


def test_hostile_requests_change_no_answer_and_leave_nothing(socket_service: Running) -> None:
    every = attacks(SIZE, "de", "en")
    n_honest = N_CLIENTS - N_HOSTILE
    n_rounds = max(1, N // (2 * N_CLIENTS * len(every)))

    def honest(number: int) -> list[int]:
        given = requests(1000 + number, max(2, N // 4 // N_CLIENTS))
        answers = ask(socket_service.port, given)
        return [i for i, found in enumerate(answers) if found != (200, expected(*given[i]))]

    def hostile(number: int) -> set[int]:
        mine = every[number::N_HOSTILE] * n_rounds
        return {attack.run(socket_service.port, PATIENCE) for attack in mine}

    def both() -> None:
        with ThreadPoolExecutor(N_CLIENTS) as clients:
            statuses = [clients.submit(hostile, number) for number in range(N_HOSTILE)]
            assert not [i for wrong in clients.map(honest, range(n_honest)) for i in wrong]
            assert 500 not in {status for each in statuses for status in each.result()}

    service, memory = socket_service.service, []
    for _ in range(3):
        both()
        wait_until(lambda: not (service.work.n or service.budget.used))
        assert not service.readers._workers
        memory.append(resident())
    assert min(memory[1] - memory[0], memory[2] - memory[1]) < 50_000_000
