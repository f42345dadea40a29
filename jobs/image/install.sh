#!/bin/sh
# Installs the named Debian packages in an image build, trusting the extra certificates laid beside it.
set -eu

extra=/usr/local/share/ca-certificates/factory
if ! command -v apt-get >/dev/null 2>&1; then
    echo "The base image has no apt-get: name a Debian or Ubuntu image in [image] base." >&2
    exit 1
fi

# Before ca-certificates is there, apt over https needs to be told about a certificate of one's own.
set -- -y --no-install-recommends "$@"
https=""
if [ -n "$(ls "$extra" 2>/dev/null)" ] && ! command -v update-ca-certificates >/dev/null 2>&1; then
    cat "$extra"/*.crt >/tmp/factory-extra.pem
    https="-oAcquire::https::CaInfo=/tmp/factory-extra.pem"
elif [ -n "$(ls "$extra" 2>/dev/null)" ]; then
    update-ca-certificates >/dev/null
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -oAcquire::Retries=3 $https update
apt-get -oAcquire::Retries=3 $https install "$@"
if [ -n "$(ls "$extra" 2>/dev/null)" ]; then
    update-ca-certificates >/dev/null
fi
rm -rf /var/lib/apt/lists/* /tmp/factory-extra.pem
