"""The toolchain image: Debian 11, host compilers, CUDA and tools, made once per lane and known by its digest."""
