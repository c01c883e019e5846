"""The check on a machine with a card and no network: what is carried there, what is run there, what comes home."""
