"""The recipes that come with yakusu, one TOML file each."""

from importlib import resources


def recipe_names() -> list[str]:
    """Their names, in order."""
    files = resources.files("yakusu.recipes").iterdir()
    return sorted(file.name[:-5] for file in files if file.name.endswith(".toml"))
