"""The API of DeepL, versions 2 and 3: its paths, parameters, responses and statuses."""
