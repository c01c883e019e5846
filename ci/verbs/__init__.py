"""What the invoke tasks call: one function a verb, from typed arguments to an exit code."""
