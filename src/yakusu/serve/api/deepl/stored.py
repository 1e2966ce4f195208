"""What a request to translate names by an identifier: glossaries and translation memories."""

import asyncio
from collections.abc import Sequence

from yakusu.serve.api.deepl.calls import DeepLCall
from yakusu.serve.api.deepl.codes import base_code
from yakusu.serve.errors import RefusedError
from yakusu.serve.service import RequestLanguages

Terms = Sequence[tuple[str, str]]
_MOST = 5  # glossaries of a request


async def find_terms(call: DeepLCall, found: RequestLanguages) -> Terms:
    """The terms of the glossaries of a request; of equal terms, that of the first glossary.

    Raises:
        RefusedError: A glossary does not exist (404) or cannot be used (400).
    """
    one, several = call.fields.listed("glossary_id"), call.fields.listed("glossary_ids")
    if one and several:
        raise RefusedError(400, "'glossary_ids' and 'glossary_id' not supported together")
    if not (wanted := one or several):
        return ()
    if len(one) > 1 or len(several) > _MOST:
        raise RefusedError(400, f"Value for 'glossary_ids' not supported: use at most {_MOST}")
    if not call.fields.text("source_lang"):
        raise RefusedError(400, "Parameter 'source_lang' not specified: a glossary needs it")
    if len(found.route) > 1:
        pivot = found.route[0].languages[1]
        message = f"A glossary is not supported: the pair is translated through {pivot}"
        raise RefusedError(400, message)
    owner, glossaries = call.owner, call.service.glossaries
    source, target = map(base_code, found.asked)
    terms: dict[str, str] = {}
    for number in wanted:
        glossary = await asyncio.to_thread(glossaries.find, owner, number)
        if (source, target) not in glossary.sizes:
            message = f"No dictionary found for language pair: {source}-{target}"
            raise RefusedError(400, message)
        own = await asyncio.to_thread(glossaries.entries, owner, number, (source, target))
        terms = {**own, **terms}
    return [*terms.items()]


def check_memory(call: DeepLCall, found: RequestLanguages) -> None:
    """Check the translation memory that a request names; those of its key are always used.

    Raises:
        RefusedError: There is none for the languages (404), or the threshold is wrong (400).
    """
    call.fields.whole("translation_memory_threshold", 0, most=100)
    if number := call.fields.text("translation_memory_id"):
        known = call.service.access.known(call.key)
        memory = call.service.memories.numbered(number, by=known)
        if memory.pair != found.codes:
            raise RefusedError(400, f"The translation memory is for {'-'.join(memory.pair)}")
