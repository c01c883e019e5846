"""The series: speed commits as mail patches with trailers, moved from one upstream build to another."""
