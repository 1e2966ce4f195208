"""The suffixes of documents."""

SUFFIXES = {  # suffix -> module; a module is imported when its format is needed
    ".arb": "messages.json_strings",
    ".csv": "tables.csv",
    ".docm": "office.docx",
    ".docx": "office.docx",
    ".dotm": "office.docx",
    ".dotx": "office.docx",
    ".epub": "epub.epub",
    ".fodg": "office.flat",
    ".fodp": "office.flat",
    ".fods": "office.flat",
    ".fodt": "office.flat",
    ".htm": "html.html",
    ".html": "html.html",
    ".json": "messages.json_strings",
    ".markdown": "markdown.markdown",
    ".md": "markdown.markdown",
    ".mdown": "markdown.markdown",
    ".mdx": "markdown.markdown",
    ".mqxliff": "messages.xliff",
    ".mxliff": "messages.xliff",
    ".odg": "office.odp",
    ".odp": "office.odp",
    ".ods": "office.ods",
    ".odt": "office.odt",
    ".otg": "office.odp",
    ".otp": "office.odp",
    ".ots": "office.ods",
    ".ott": "office.odt",
    ".pdf": "pdf.pdf",
    ".po": "messages.po",
    ".pot": "messages.po",
    ".potm": "office.pptx",
    ".potx": "office.pptx",
    ".ppsm": "office.pptx",
    ".ppsx": "office.pptx",
    ".pptm": "office.pptx",
    ".pptx": "office.pptx",
    ".properties": "messages.apps.properties",
    ".resw": "messages.apps.resx",
    ".resx": "messages.apps.resx",
    ".sdlxliff": "messages.xliff",
    ".srt": "subtitles",
    ".strings": "messages.apps.strings",
    ".stringsdict": "messages.apps.property_lists",
    ".text": "text",
    ".tmx": "messages.tmx",
    ".tsv": "tables.tsv",
    ".txt": "text",
    ".vtt": "subtitles",
    ".webvtt": "subtitles",
    ".xcstrings": "messages.apps.xcstrings",
    ".xhtml": "html.html",
    ".xlf": "messages.xliff",
    ".xliff": "messages.xliff",
    ".xlsm": "office.xlsx",
    ".xlsx": "office.xlsx",
    ".xltm": "office.xlsx",
    ".xltx": "office.xlsx",
    ".yaml": "messages.apps.yaml_strings",
    ".yml": "messages.apps.yaml_strings",
}
TABLES = {".csv", ".tsv"}  # the user names the columns to translate
CONVERTED = {".pdf": (".md", ".docx")}  # the suffixes that the output may have
SNIFFED = {".ts", ".xml"}  # the content decides
_CODE = """
    png jpg jpeg gif webp ico bmp tif tiff avif heic svg ps eps xpm mp3 mp4 wav ogg webm mov
    woff woff2 ttf otf eot css scss sass less styl js mjs cjs jsx ts tsx vue svelte map wasm wat py
    pyi pyx ipynb rb pl pm php lua r jl sh bash zsh fish ps1 bat cmd awk sed c h cc cpp cxx
    hh hpp m mm cs fs vb java kt kts scala groovy gradle go rs swift dart sql graphql proto
    cmake mk make lock toml ini cfg conf env editorconfig gitignore dockerignore npmrc
    webmanifest jsonl ndjson log diff patch pem crt key csproj sln vcxproj pbxproj
    storyboard xib plist qrc pro ui
"""
CODE = frozenset(f".{suffix}" for suffix in _CODE.split())  # text that is not for readers
