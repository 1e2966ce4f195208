"""Plain text: one text, exactly as it is.

The translator keeps line breaks, indentation, bullets, blank lines and code blocks. It needs all
lines for that.
"""

from yakusu.documents.document import DocumentOptions
from yakusu.documents.splice import Copy, SourceSegment, Spliced, decode_source


def read(data: bytes, options: DocumentOptions) -> Spliced:
    """Read a text file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        DataError: The data is not valid in this encoding.
    """
    del options
    source = decode_source(data)
    text = source.text.removeprefix("\ufeff")
    end = len(source.text)
    return Spliced(source, [SourceSegment(end - len(text), end, text, _write)] if text else [])


def _write(translation: str, copy: Copy[str]) -> str:
    del copy
    return translation
