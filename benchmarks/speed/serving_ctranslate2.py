"""Peer: CTranslate2 and SentencePiece behind FastAPI and uvicorn, with a queue that makes batches.

    python -m benchmarks.speed.serving_ctranslate2 MODEL PLAIN --port 5071 --threads 2/1

MODEL is a converted model, and PLAIN the folder that it was converted from. Its environment:
pip install -r benchmarks/peers/requirements-serving.txt
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import ctranslate2
import sentencepiece
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

BATCH = 64
Waiting = tuple[str, asyncio.Future[str]]


class Body(BaseModel):
    """A request."""

    q: str
    source: str
    target: str


class Engine:
    """Translates batches of sentences, from text to text."""

    def __init__(self, args: argparse.Namespace) -> None:
        inter, intra = map(int, args.threads.split("/"))
        self.n_parallel = inter
        self._translator = ctranslate2.Translator(
            args.model,
            device="cpu",
            compute_type=args.precision,
            inter_threads=inter,
            intra_threads=intra,
        )
        self._source, self._target = (
            sentencepiece.SentencePieceProcessor(model_file=str(Path(args.plain) / f"{side}.model"))
            for side in ("source", "target")
        )
        self._settings = {
            "beam_size": args.beam,
            "length_penalty": args.alpha,
            "disable_unk": True,
            "max_batch_size": BATCH,
            **({"max_decoding_length": args.length} if args.length else {}),
        }

    def translate(self, texts: list[str]) -> list[str]:
        """Translate a batch."""
        pieces = self._source.encode(texts, out_type=str)
        found = self._translator.translate_batch(pieces, **self._settings)
        texts_of: list[str] = self._target.decode([each.hypotheses[0] for each in found])
        return texts_of


class Batches:
    """Collects sentences and translates them together.

    As many batches are translated at the same time as the engine has parallel threads.

    Args:
        engine: The engine.
        seconds: How long a batch that is not full waits for further sentences.
    """

    def __init__(self, engine: Engine, seconds: float) -> None:
        self._engine, self._seconds = engine, seconds
        self._waiting: asyncio.Queue[Waiting] = asyncio.Queue()
        self._threads = ThreadPoolExecutor(engine.n_parallel)

    async def translate(self, text: str) -> str:
        """Translate a sentence."""
        result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((text, result))
        return await result

    async def run(self) -> None:
        """Translate what waits, one batch after the other."""
        loop = asyncio.get_running_loop()
        while True:
            taken = await self._take()
            texts = [text for text, _ in taken]
            found = await loop.run_in_executor(self._threads, self._engine.translate, texts)
            for (_, result), text in zip(taken, found, strict=True):
                if not result.done():  # the client may have gone
                    result.set_result(text)

    async def _take(self) -> list[Waiting]:
        taken = [await self._waiting.get()]
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds or None):
                while len(taken) < BATCH and (self._seconds or not self._waiting.empty()):
                    taken.append(await self._waiting.get())
        return taken


def create_app(engine: Engine, seconds: float) -> FastAPI:
    """The service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.batches = batches = Batches(engine, seconds)
        tasks = [asyncio.create_task(batches.run()) for _ in range(engine.n_parallel)]
        yield
        for task in tasks:
            task.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def translate(body: Body) -> dict[str, str]:
        return {"translatedText": await app.state.batches.translate(body.q)}

    return app


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("plain")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", default="1/1", help="inter_threads/intra_threads")
    parser.add_argument("--wait", type=float, default=5.0, help="of a batch, in ms")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.6)
    parser.add_argument("--length", type=int, help="maximum number of tokens of a translation")
    args = parser.parse_args()
    app = create_app(Engine(args), args.wait / 1000)
    uvicorn.run(app, host="127.0.0.1", port=args.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
