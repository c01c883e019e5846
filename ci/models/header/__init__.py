"""What a GGUF file says before its tensor data begins, read within bounds."""
