"""The series' branch and tag on the fork."""
