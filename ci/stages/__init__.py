"""The stages of the main job: each a small shell that calls the feature packages."""
