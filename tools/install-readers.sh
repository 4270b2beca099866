#!/bin/sh
# The viewers' own readers that the tests of the exports hold kprof against, into the user's cache
# folder (or $KPROF_READERS): npm and cargo packages, each only where its tool is. Done once.
set -u
place="${KPROF_READERS:-${XDG_CACHE_HOME:-$HOME/.cache}/kprof-readers}"
mkdir -p "$place" || exit 0
npm_packages="speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 mermaid@12.3.0 jsdom@29.1.1"
if [ ! -f "$place/npm-done" ] && command -v npm >/dev/null 2>&1; then
    if npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$place" $npm_packages >/dev/null 2>&1; then
        touch "$place/npm-done"
    else
        echo "install-readers: npm cannot install $npm_packages; the tests that need them will be skipped"
    fi
fi
if [ ! -x "$place/bin/inferno-flamegraph" ] && command -v cargo >/dev/null 2>&1; then
    cargo install --quiet inferno@0.12.8 --root "$place" --no-default-features --features cli \
        --bin inferno-flamegraph >/dev/null 2>&1 ||
        echo "install-readers: cargo cannot install inferno; the tests that need it will be skipped"
fi
# For the page: a checker of accessibility, and what drives Firefox.
if [ ! -f "$place/node_modules/axe-core/axe.min.js" ] && command -v npm >/dev/null 2>&1; then
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$place" axe-core@4.14.1 >/dev/null 2>&1 ||
        echo "install-readers: npm cannot install axe-core; the tests that need it will be skipped"
fi
if ! command -v geckodriver >/dev/null 2>&1 && [ ! -x "$place/bin/geckodriver" ] && command -v cargo >/dev/null 2>&1; then
    cargo install --quiet geckodriver --root "$place" >/dev/null 2>&1 ||
        echo "install-readers: cargo cannot install geckodriver; the tests in Firefox will be skipped"
fi
