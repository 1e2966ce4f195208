"""Bytes as text of an HTML file in UTF-16.

Two bytes are one unit. Those that a reader of HTML changes, and the escape itself, follow an escape
as another unit: NUL, CR, "<" and surrogates, 3 of 100 random units. The byte-order mark at the
beginning of the file decides its encoding, whatever a server says (docs/decisions/0073).
"""

import numpy as np

MARK = b"\xff\xfe"
ESCAPE = 0x5C
_LOW = (0x00, 0x0D, 0x3C, ESCAPE)
_LOW_SHIFT, _SURROGATE_SHIFT = 0x100, 0x8000  # file.js has the same


def in_units(data: bytes) -> bytes:
    """Bytes in UTF-16, little-endian; a last byte without a second one is followed by NUL."""
    units = np.frombuffer(data + bytes(len(data) % 2), "<u2")
    surrogate = units >> 11 == 0b11011
    escaped = surrogate | np.isin(units, _LOW)
    places = np.arange(len(units)) + np.cumsum(escaped)
    made = np.full(len(units) + int(escaped.sum()), ESCAPE, "<u2")
    shifted = np.where(surrogate, units - _SURROGATE_SHIFT, units + _LOW_SHIFT)
    made[places] = np.where(escaped, shifted, units)
    return made.tobytes()
