"""Where models come from: one module a kind of source."""
