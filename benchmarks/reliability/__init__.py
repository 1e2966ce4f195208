"""Promises of a training run."""
