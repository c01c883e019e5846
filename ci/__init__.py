"""speedfork: carry, build, prove and publish a speed fork of llama.cpp."""
