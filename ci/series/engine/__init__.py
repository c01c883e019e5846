"""How a series is moved: imported, spliced, merged by git, folded, and probed on every build."""
