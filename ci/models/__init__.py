"""Models: pinned files from a package index, and generated pairs whose law is known."""
