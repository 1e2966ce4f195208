"""Benchmarks: each script measures one thing and runs as `python -m benchmarks.FOLDER.SCRIPT`."""
