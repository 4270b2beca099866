// The distribution of one function's calls: a histogram of buckets that grow with the value
// (drawn by uPlot), percentiles, and the rows of the calls in order of the value.
const MOST_BARS = 56;

// Buckets of [2^(k/parts), 2^((k+1)/parts)) microseconds, as fine as leaves at most MOST_BARS; each
// whole value a bucket of its own where the values are few.
function buckets(values) {
  const low = values[0], high = values[values.length - 1];
  if (WHOLE && high - low < MOST_BARS) {
    const counts = new Array(high - low + 1).fill(0);
    for (const value of values) counts[value - low]++;
    return { edge: (k) => low + k, counts };
  }
  const base = Math.max(low, WHOLE ? 1 : high / 1e6);
  const place = (value, parts) => Math.floor(Math.log2(us(value)) * parts + 1e-9);
  for (const parts of [16, 8, 4, 2, 1]) {
    const first = place(base, parts);
    const bars = place(high, parts) - first + 1;
    if (bars > MOST_BARS && parts > 1) continue;
    const counts = new Array(bars).fill(0);
    for (const value of values) counts[value < base ? 0 : place(value, parts) - first]++;
    return { edge: (k) => (k === 0 ? low : 2 ** ((first + k) / parts) / US), counts };
  }
  return null;
}

// The complete calls of a function, the lowest value first; the last is the worst, of equals the first.
function ranked(fn, metric) {
  const value = calls[metric];
  const rows_ = callsInRange(fn).filter((i) => !(calls.flags[i] & (OPEN | ORPHAN)));
  return Array.from(rows_).sort((a, b) => value[a] - value[b] || b - a);
}

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(part * sorted.length) - 1))];

let plot = null;
function drawDistribution(order, metric) {
  const box = $("distribution");
  if (plot) plot.destroy();
  plot = null;
  if (!order.length) {
    box.textContent = range.on ? "No complete call began in the range." : "No complete call in this capture.";
    return;
  }
  box.replaceChildren();
  const values = order.map((i) => calls[metric][i]);
  const { edge, counts } = buckets(values);
  const xs = counts.map((_, k) => k);
  const label = (k) => figure(WHOLE ? Math.ceil(edge(k) - 1e-9) : edge(k));
  const soft = ink("--soft"), line = ink("--line");
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui, sans-serif" };
  plot = new uPlot({
    width: Math.max(240, box.clientWidth), height: 150, padding: [8, 26, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: [-0.6, counts.length - 0.4] }, y: { distr: 4, asinh: 4, range: (_, low, high) => [0, high * 1.1] } },
    axes: [
      { ...axis, size: 34, space: 60, incrs: [1, 2, 4, 8, 16, 32], values: (_, ticks) => ticks.map((k) => (counts[k] === undefined ? "" : label(k) + " us")) },
      { ...axis, size: 46, values: (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? group(String(n)) : "")) },
    ],
    series: [{}, { fill: ink("--accent"), stroke: ink("--accent"), width: 0, paths: uPlot.paths.bars({ size: [0.86, 60] }), points: { show: false } }],
    hooks: {
      setCursor: [(u) => {
        const k = u.cursor.idx;
        if (k === null || k === undefined || u.cursor.left < 0) return hideTip();
        const above = k + 1 < counts.length ? ` to below ${label(k + 1)}` : "";
        const area = u.over.getBoundingClientRect();
        return showTip(`${label(k)}${above} us\n${counts[k]} ${counts[k] === 1 ? "call" : "calls"}`, area.left + u.cursor.left, area.top + 40);
      }],
    },
  }, [xs, counts], box);
  plot.over.addEventListener("click", () => {
    const k = plot.cursor.idx;
    if (!counts[k]) return;
    const before = counts.slice(0, k + 1).reduce((sum, n) => sum + n, 0);
    selectCall(order[before - 1], true);
  });
  plot.over.addEventListener("mouseleave", hideTip);
}
