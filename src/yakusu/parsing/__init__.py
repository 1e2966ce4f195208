"""Constituency parsing, section 6.3: trees, their brackets as a language, the score of a parser."""
