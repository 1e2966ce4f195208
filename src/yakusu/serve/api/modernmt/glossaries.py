"""Terms in requests of ModernMT's API: JSON, or CSV with the codes of the languages above.

en,it              unidirectional: the first language is translated into the others
valve,valvola

tuid,en,it,de      equivalent: each term is a translation of each other one
7,valve,valvola,Ventil
"""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO

from yakusu.data.languages import canonical
from yakusu.errors import DataError
from yakusu.serve.api.modernmt.asking import Asked, model_pairs
from yakusu.serve.api.modernmt.uploads import uploaded_text
from yakusu.serve.created import TermKind, TermSet
from yakusu.serve.errors import invalid_request, over_limit
from yakusu.serve.glossaries import has_control
from yakusu.serve.service import Service

_KINDS: dict[str, TermKind] = {"unidirectional": "unidirectional", "equivalent": "equivalent"}
_NAME, _LONGEST, _SHOWN = "tuid", 1000, 100  # a column; characters of a term, and in a message


def sets_of(call: Asked) -> list[TermSet]:
    """The terms of a request.

    Raises:
        DataError: A term cannot be used.
        RefusedError: They are not valid, or there are too many.
    """
    kind = _KINDS[call.fields.choice("type", _KINDS)]
    if call.fields.get("csv") is not None:
        with uploaded_text(call, "csv") as text:
            found = [*_of_csv(text, kind)]
    else:
        given = call.fields.get("terms")
        if given is None:
            raise call.fields.missing("terms")
        found = [_set(kind, call.fields.text(_NAME), [*_of_json(given)])]
    if len(found) > (most := call.service.limits.terms):
        message = f"Invalid request: the request has {len(found)} terms: the limit is {most}"
        raise over_limit("terms", most, 422, message)
    return found


def check_terms(service: Service, sets: Sequence[TermSet]) -> None:
    """Check that the models can use terms; this takes some time.

    Raises:
        DataError: One cannot, such as for a term with a placeholder.
    """
    for pair in model_pairs(service):
        terms = [each for own in sets for each in own.pairs(pair)]
        if terms:
            service.catalog.route(*pair)[0].translator.with_settings(terms=terms)


def _of_json(given: object) -> Iterator[tuple[str, str]]:
    """The language and the text of each term."""
    for each in given if isinstance(given, list) else [given]:
        if not isinstance(each, dict):
            raise invalid_request('terms is not like [{"language": "en", "term": "valve"}, ...]')
        language, term = each.get("language"), each.get("term")
        if not (isinstance(language, str) and isinstance(term, str)):
            raise invalid_request("a term has no language, or no term: add both")
        yield language, term


def _of_csv(text: str, kind: TermKind) -> Iterator[TermSet]:
    """The terms of a file."""
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if len({_code(cell) for cell in header if cell not in ("", _NAME)}) < 2:
            raise invalid_request("csv has no two languages in its first line: add their codes")
        for row in rows:
            if not any(map(str.strip, row)):
                continue
            if len(row) != len(header):
                raise invalid_request(
                    f"csv, line {rows.line_num} has {len(row)} cells, but the first line has "
                    f"{len(header)}: make them equal"
                )
            cells = [*zip(header, row, strict=True)]
            name = next((cell for column, cell in cells if column == _NAME), "")
            terms = [(code, text) for code, text in cells if code != _NAME and text.strip()]
            yield _set(kind, name.strip(), terms)
    except csv.Error as error:
        raise invalid_request(f"csv, line {rows.line_num} is not valid: {error}") from error


def _set(kind: TermKind, name: str, given: Sequence[tuple[str, str]]) -> TermSet:
    """A term in several languages, with canonical codes.

    Raises:
        DataError: A term is too long.
        RefusedError: A language is not known, or there is one only.
    """
    terms = [(_code(spelled), text.strip()) for spelled, text in given]
    for code, text in terms:
        if not text or len(text) > _LONGEST:
            raise DataError(f"a term in {code} is empty, or has more than {_LONGEST} characters")
        if has_control(text):
            raise DataError(f"a term in {code} has a control character, such as a line break")
    if len({code for code, _ in terms}) < 2:
        raise invalid_request("a term has one language only: add its translation")
    if not name and kind == "unidirectional":
        name = "{}:{}".format(*terms[0])
    return TermSet(kind, name, tuple(terms))


def _code(spelled: str) -> str:
    """The canonical code of a language.

    Raises:
        RefusedError: It is not known.
    """
    if code := canonical(spelled):
        return code
    raise invalid_request(f"'{spelled[:_SHOWN]}' is not the code of a language")
