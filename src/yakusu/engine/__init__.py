"""Inference on a CPU without torch: a Transformer and its search, in C."""
