"""TSV: cells between tabs; quotes are text, unless the rows show that they enclose cells."""

from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.units import UnitDocument
from yakusu.documents.tables.cells import TableFile


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a table.

    Args:
        data: The file.
        options: `columns`: the columns to translate.

    Raises:
        DataError: As for `TableFile`.
    """
    return UnitDocument(TableFile(data, options.columns, "\t"))
