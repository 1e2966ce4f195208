"""Plain text: each line is a text, exactly as it is.

The translator keeps indentation, bullets, blank lines and code blocks. It needs all lines for that,
so lines without a letter are texts, too.
"""

import re

from yakusu.documents.document import DocumentOptions
from yakusu.documents.splice import Copy, Segment, Spliced, decode

_ENDS = r"\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
_LINE = re.compile(rf"(?!\Z)([^{_ENDS}]*)(?:\r\n|[{_ENDS}]|\Z)")


def read(data: bytes, options: DocumentOptions) -> Spliced:
    """Read a text file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        DataError: The data is not valid in this encoding.
    """
    del options
    source = decode(data)
    first = len(source.text) - len(source.text.removeprefix("\ufeff"))
    lines = [found.span(1) for found in _LINE.finditer(source.text, first)]
    return Spliced(source, [Segment(a, b, source.text[a:b], _write) for a, b in lines])


def _write(translation: str, copy: Copy) -> str:
    del copy
    return translation
