"""Builds: targets and recipes, the native builder, the store by content, archives."""
