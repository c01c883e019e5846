"""What a release says about itself: its id, its manifest, its notes."""
