#!/bin/sh
# Takes a program, and what it needs beside it, out of an npm package into /out; none of its scripts is run.
# Usage: fetch.sh NAME AMD64 ARM64, the latter two as "PACKAGE@VERSION PATH…" of files in the package.
set -eu

name="$1"
case "$(dpkg --print-architecture)" in
    amd64) source="$2" ;;
    arm64) source="$3" ;;
    *) echo "There is no $name for $(dpkg --print-architecture)." >&2; exit 1 ;;
esac
export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
mkdir -p /out
cd "$(mktemp -d)"
archive="$(npm pack --silent --ignore-scripts --no-update-notifier "${source%% *}")"
for path in ${source#* }; do
    tar -xzOf "$archive" "package/$path" >"/out/${path##*/}"
    chmod 0755 "/out/${path##*/}"
done
rm "$archive"
# Not every program says its version in what it prints: the job's first line is this file.
version="$(HOME="$(mktemp -d)" "/out/$name" --version)"
printf '{"type":"factory.version","version":"%s"}\n' "$version" | tee "/out/$name.version"
