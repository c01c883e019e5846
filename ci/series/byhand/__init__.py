"""A conflict in the hands of a person: worktree, state, recorded resolutions."""
