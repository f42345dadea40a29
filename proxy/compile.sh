#!/bin/sh
# Compiles the modules of compiled.txt where they lie: compile.sh FOLDER-OF-OUR-PACKAGES [PYTHON].
# The same modules run uncompiled too, only slower; nothing may depend on which of both they are.
set -eu
cd "$1"
export MYPYC_OPT_LEVEL=2 MYPYC_DEBUG_LEVEL=0
# shellcheck disable=SC2046 # one argument a line
"${2:-python3}" -m mypyc --config-file= --ignore-missing-imports $(cat proxy/compiled.txt) >compile.log 2>&1 || {
    grep -E 'error' compile.log >&2 || cat compile.log >&2
    exit 1
}
rm -rf build .mypy_cache compile.log
