"""A draft that is published as safetensors only becomes a GGUF file, by upstream's own converter."""
