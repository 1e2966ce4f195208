"""The compiled library: its C sources, how they are compiled, and how the library is loaded."""
