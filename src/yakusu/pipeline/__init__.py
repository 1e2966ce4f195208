"""The verbs of the command line as functions, one verb per file."""
