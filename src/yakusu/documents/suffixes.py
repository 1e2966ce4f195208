"""The suffixes of documents."""

SUFFIXES = {  # suffix -> module; a module is imported when its format is needed
    ".arb": "messages.json_strings",
    ".docm": "office.docx",
    ".docx": "office.docx",
    ".dotm": "office.docx",
    ".dotx": "office.docx",
    ".htm": "html.html",
    ".html": "html.html",
    ".json": "messages.json_strings",
    ".markdown": "markdown.markdown",
    ".md": "markdown.markdown",
    ".mdown": "markdown.markdown",
    ".mdx": "markdown.markdown",
    ".odt": "office.odt",
    ".ott": "office.odt",
    ".po": "messages.po",
    ".pot": "messages.po",
    ".srt": "subtitles",
    ".text": "text",
    ".txt": "text",
    ".vtt": "subtitles",
    ".webvtt": "subtitles",
    ".xhtml": "html.html",
    ".xlf": "messages.xliff",
    ".xliff": "messages.xliff",
}
SNIFFED = {".xml"}  # the content decides
