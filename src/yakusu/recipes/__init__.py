"""Packaged recipes, one TOML file each; table3/ holds the rows of Table 3."""

from importlib import resources


def recipe_names(folder: str = ".") -> list[str]:
    """Return the names of the packaged recipes in a folder, sorted."""
    files = (resources.files("yakusu.recipes") / folder).iterdir()
    return sorted(file.name[:-5] for file in files if file.name.endswith(".toml"))
