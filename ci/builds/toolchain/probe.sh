# Runs inside a new toolchain image: says what it is, one `name value` a line. Any program that fails fails it.
# The digest is over everything that can decide the bytes of a build: names, kinds, modes, link targets and contents,
# not dates. What differs from one installation of the same packages to the next is left out.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C
cd /

kept() { find /bin /lib /lib64 /usr/bin /usr/lib /usr/include /etc/alternatives /opt "$@"; }
listing() {
    kept -name __pycache__ -prune -o ! -type d -printf '%y %m %p %l\n' | sort
    kept -name __pycache__ -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
}
first() { "$@" | sed -n 1p; } # reads to the end: a closed pipe would fail the program
nvcc() { /opt/cuda/bin/nvcc --version | sed -n 's/^Cuda compilation tools, //p'; }
digest() { listing | sha256sum | cut -d ' ' -f 1; }
say() {
    local name=$1 value
    shift
    value=$("$@") # not inside the words of printf, where a failure would go unseen
    printf '%s %s\n' "$name" "$value"
}

say digest digest
say clang first /usr/bin/clang-16 --version
say gcc first /usr/bin/g++-10 --version
say ld first /usr/bin/ld --version
say nvcc nvcc
say cmake first /opt/cmake/bin/cmake --version
say ninja /opt/bin/ninja --version
say ccache first /opt/bin/ccache --version
/opt/cuda/bin/nvcc --list-gpu-arch | sed 's/^/arch /'
