"""What upstream changed under the patches without a conflict: declarations compared, and matched with their uses."""
