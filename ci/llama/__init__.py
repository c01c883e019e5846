"""Driving llama-server: what to start, how to know that it is ours, what counts as an answer."""
