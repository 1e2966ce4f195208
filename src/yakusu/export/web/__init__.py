"""A translator as a web page or an ES module: the same rules and the same engine in a browser."""
