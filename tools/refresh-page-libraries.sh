#!/bin/sh
# Build src/kprof/report/html/vendor anew: the libraries of the HTML page, with their licences.
# Needs node and npm. The versions are pinned here; raise one, run this, run the tests, commit.
set -eu
libraries="d3-flame-graph@5.0.0 d3-selection@3.0.1 uplot@1.6.32"
bundler="esbuild@0.25.12"
vendor="$(cd "$(dirname "$0")/.." && pwd)/src/kprof/report/html/vendor"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true}' > package.json
# shellcheck disable=SC2086
npm install --silent --no-audit --no-fund $libraries $bundler
cat > entry.js <<'JS'
export { default as flamegraph } from "d3-flame-graph";
export { select } from "d3-selection";
export { default as uPlot } from "uplot";
import "uplot/dist/uPlot.min.css";
JS
npx esbuild entry.js --bundle --minify --format=iife --global-name=kprofLibraries \
    --legal-comments=none --target=es2020 --log-level=warning --outfile=libraries.js
cp libraries.js libraries.css "$vendor/"
# What went into the bundle, and under which terms.
: > "$vendor/LICENSES.txt"
for folder in node_modules/*; do
    name="$(basename "$folder")"
    case "$name" in d3-* | uplot | internmap) ;; *) continue ;; esac
    version="$(node -p "require('./$folder/package.json').version")"
    licence="$(node -p "require('./$folder/package.json').license")"
    {
        printf '=== %s %s (%s) ===\n\n' "$name" "$version" "$licence"
        cat "$folder"/LICENSE*
        printf '\n'
    } >> "$vendor/LICENSES.txt"
done
ls -l "$vendor"
