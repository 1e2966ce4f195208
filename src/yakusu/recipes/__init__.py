"""The recipes that come with yakusu, one TOML file each; the rows of Table 3 are in a folder."""

from importlib import resources


def recipe_names(folder: str = ".") -> list[str]:
    """Their names, in order; of those in a folder, the names within it."""
    files = (resources.files("yakusu.recipes") / folder).iterdir()
    return sorted(file.name[:-5] for file in files if file.name.endswith(".toml"))
