"""The audit of an archive as uploaded: what is in it against what its target promises."""
