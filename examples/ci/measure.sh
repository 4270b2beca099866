#!/bin/sh
# One run for CI: record, check the budget, publish the page, keep the run, look at the trend.
# usage: measure.sh KERNEL NAMES BUDGET HISTORY OUT
#   PORT=/dev/ttyUSB0   upload from a board with the agent; without it the kernel runs in kprof sim
#   COMMIT=abc BOARD=7  what the run is of
# Everything is written to OUT before the verdict: exit 1 where a limit does not hold, or the trend is worse.
set -eu
kernel=$1 names=$2 budget=$3 history=$4 out=$5
kprof=${KPROF:-kprof}
mkdir -p "$out"
if [ -n "${PORT-}" ]; then
    $kprof upload "$PORT" -o "$out/dump.kpd" --names "$names" --force
else
    $kprof sim "$kernel" --dump "$out/dump.kpd" --force
fi
$kprof page "$out/dump.kpd" --names "$names" -o "$out/page.html"
$kprof summary "$out/dump.kpd" --names "$names" --never >"$out/report.txt" # the functions that never ran: coverage
verdict=0
$kprof check "$out/dump.kpd" --names "$names" --budget "$budget" --junit "$out/junit.xml" >"$out/check.txt" || verdict=$?
$kprof history add "$history" "$out/dump.kpd" --names "$names" \
    --tag "commit=${COMMIT:-unknown}" --tag "board=${BOARD:-sim}"
$kprof trend "$history" --tag "board=${BOARD:-sim}" --fail-on-change >"$out/trend.txt" || verdict=$?
cat "$out/check.txt"
exit "$verdict"
