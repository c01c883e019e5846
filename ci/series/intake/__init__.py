"""A fork's commits as patch files."""
