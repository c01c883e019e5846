#!/bin/sh
# A build inside its container: configure, compile, strip what ships.
# Usage: build.sh JOBS SECONDS KIB, the last being the disk space that a build needs; arguments of CMake in
# /job/configure (separated by NUL), names of the programs to build in /job/programs, or paths of objects for whoever
# compares those. Lines that begin with "::" are for whoever started us.
set -eu

# Whoever started us holds our standard input open: when it closes they are gone, and nobody wants the result.
exec 3<&0
(cat <&3 >/dev/null; kill -TERM 0) &

echo "::step configure"
free=$(df -Pk /build | awk 'NR == 2 { print $4 }')
if [ "$free" -lt "$3" ]; then
    echo "No space left on device: a build needs $3 KiB, the engine has $free KiB left"
    exit 1
fi
xargs -0 -a /job/configure cmake -G Ninja -S /src -B /build >/build/configure.log 2>&1 || {
    code=$?
    cat /build/configure.log
    exit "$code"
}

echo "::step compile"
# shellcheck disable=SC2046 # one word per program
timeout --kill-after=10 "$2" ninja -C /build -j "$1" $(cat /job/programs)

echo "::step harvest"
for file in $(cat /job/programs); do
    case "$file" in
    *.o) strip --strip-unneeded -o "/out/${file##*/}" "/build/$file" ;; # drops the names of nvcc's temporary files
    *) strip --strip-all -o "/out/$file" "/build/bin/$file" ;;
    esac
done
for file in /build/bin/*.so*; do
    if [ -L "$file" ] || [ ! -e "$file" ]; then continue; fi
    # the name by which other binaries ask for it; a plug-in carries none
    name=$(readelf --dynamic --wide "$file" | sed -n 's/.*(SONAME).*\[\([^]/]*\)\].*/\1/p')
    strip --strip-all -o "/out/${name:-${file##*/}}" "$file"
done
chmod 755 /out/*

echo "::step counts"
if [ -f /build/ccache.stats ]; then cat /build/ccache.stats; fi
echo "::step done"
