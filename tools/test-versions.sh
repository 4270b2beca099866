#!/bin/sh
# Run tests with the oldest versions that pyproject.toml allows, or with the newest that there are.
# usage: test-versions.sh lowest|newest [--part | pytest arguments]
#   lowest: each direct dependency at its bound, Python 3.10;  newest: Python 3.13
#   --part: the tests of .ci/versions-part, with no more installed than they need
# uv makes the environment (build/versions-*); Python is the one in PATH or pyenv's.
set -eu
cd "$(dirname "$0")/.."
which=$1
shift
case $which in
    lowest) python=3.10 resolution=lowest-direct ;;
    newest) python=3.13 resolution=highest ;;
    *) echo "test-versions: $which; expected lowest or newest" >&2; exit 2 ;;
esac
interpreter=$(command -v "python$python" || true)
if [ -z "$interpreter" ] || ! "$interpreter" -c '' 2>/dev/null; then
    interpreter=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$python".*/bin/python 2>/dev/null | tail -n 1)
fi
if [ -z "$interpreter" ]; then
    echo "test-versions: no Python $python here; the $which versions are not tried"
    exit 0
fi
uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    [ -x build/uv/bin/uv ] || { python3 -m venv build/uv && build/uv/bin/pip install --quiet uv; }
    uv=build/uv/bin/uv
fi
venv=build/versions-$which
packages="-e .[board,fast,dev]"
if [ "${1-}" = --part ]; then
    packages="-e .[tui,arrow] pytest>=8.2 hypothesis>=6.100"
    set -- $(cat .ci/versions-part)
fi
"$uv" venv --quiet --clear --python "$interpreter" "$venv"
"$uv" pip install --quiet --python "$venv/bin/python" --resolution "$resolution" $packages
echo "test-versions: $which on $("$venv/bin/python" --version)"
unset PYTHONPATH
exec "$venv/bin/python" -m pytest -ra -p no:cacheprovider "$@"
