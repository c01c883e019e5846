"""Upstream builds: which there are, and how their exact trees get into the local history."""
