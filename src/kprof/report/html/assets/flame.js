// The flame graph, drawn by d3-flame-graph: which tree, which shape, search, zoom, keys.
const { flamegraph, select, uPlot } = kprofLibraries;
const CELL = 19;
const flame = { value: "elapsed", shape: "icicle", apart: false, chart: null, root: null, here: null, extreme: 1e-9, trees: {} };

function setUpFlame() {
  const values = [
    ["elapsed", "Elapsed", "A frame is as wide as its elapsed time; callees on their callers"],
    ["net", "Net", "Every function by its net time; its callers on top of it"],
  ];
  if (D.before) {
    values.push(["difference", "Difference", "Elapsed; red: a larger share of the run time than before, blue: a smaller"]);
    values.push(["difference-net", "Difference, net", "Net; red: a larger share of the run time than before, blue: a smaller"]);
    flame.value = "difference";
  }
  choice($("flame-value"), values, flame.value, (value) => { flame.value = value; drawFlame(); });
  choice($("flame-shape"), [["icicle", "Icicle", "The root on top"], ["flame", "Flame", "The root at the bottom"]], flame.shape,
    (shape) => { flame.shape = shape; drawFlame(); });
  const interrupts = D.functions.some((f) => f.interrupt);
  $("flame-interrupts").hidden = !interrupts;
  flame.apart = interrupts && Boolean(D.before);
  choice($("flame-interrupts"), [["in", "Interrupts in place", "An interrupt stands on what it interrupted"], ["apart", "Apart", "Interrupts stand by themselves"]],
    flame.apart ? "apart" : "in", (value) => { flame.apart = value === "apart"; drawFlame(); });
  $("flame-search").addEventListener("input", searchFlame);
  $("flame-search").addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.target.value = ""; searchFlame(); }
    if (event.key === "Enter" || event.key === "Escape") $("flame").focus();
    event.stopPropagation();
  });
  $("flame").addEventListener("keydown", flameKey);
  new MutationObserver(nameFrames).observe($("flame"), { childList: true, subtree: true });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (flame.chart && width && now !== width) flame.chart.width(now).update();
    width = now;
  }).observe($("flame"));
  when("theme", drawFlame);
  when("range", drawFlame);
}

function flameRoot() {
  if (!flame.trees.now) flame.trees = { now: pathTree("tree"), before: D.before ? pathTree("before") : null };
  const net = flame.value.endsWith("net");
  const shape = net ? netTree : elapsedTree;
  const root = shape(range.on ? rangeTree(range.from, range.to) : flame.trees.now, flame.apart);
  let gone = [];
  if (flame.value.startsWith("difference")) {
    gone = compareTrees(root, shape(flame.trees.before, flame.apart), ledger.run, D.before.ledger.run);
    flame.extreme = 1e-9;
    const todo = [...root.children];
    while (todo.length) {
      const node = todo.pop();
      flame.extreme = Math.max(flame.extreme, Math.abs(node.share - node.was));
      todo.push(...node.children);
    }
  }
  const order = (node) => {
    node.children.sort((a, b) => b.value - a.value);
    node.children.forEach(order);
  };
  order(root);
  return [root, gone];
}

function drawFlame() {
  const [root, gone] = flameRoot();
  if (flame.chart) flame.chart.destroy();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const hover = () => {};
  hover.show = (event, d) => showTip(flameText(d.data), event.clientX, event.clientY);
  hover.hide = hideTip;
  flame.chart = flamegraph()
    .width(Math.floor($("flame").clientWidth) || 900)
    .cellHeight(CELL)
    .inverted(flame.shape === "icicle")
    .transitionDuration(still ? 0 : 180)
    .minFrameSize(0.4)
    .tooltip(hover)
    .getName((d) => (d.data.fn < 0 ? "all" : fnName(d.data.fn)))
    .setLabelHandler((d) => flameText(d.data))
    .setColorMapper(flameColour)
    .setSearchMatch((d, term) => Boolean(term) && d.data.fn >= 0 && fnName(d.data.fn).toLowerCase().includes(term.toLowerCase()))
    .setSearchHandler((found, sum, total) => { flame.found = [found.length, sum, total]; })
    .setDetailsHandler(() => {})
    .onClick((d) => {
      markFrame(d);
      if (d.data.fn >= 0) selectFunction(d.data.fn);
    });
  select("#flame").datum(root).call(flame.chart);
  flame.root = select("#flame").datum();
  flame.here = null;
  searchFlame();
  const left = range.on ? 0 : flame.trees.now.leftOut;
  const runs = D.before ? (flame.value.startsWith("difference")
    ? "Red frames have a larger share of the run time than before, blue ones a smaller." : "") : "";
  const lost = gone.slice(0, 6).map(({ path, under, was }) =>
    `${under.fn < 0 ? "" : fnName(under.fn) + " > "}${fnName(path.fn)} (${(100 * was).toFixed(2)}%)`);
  $("flame-note").textContent = [runs, lost.length ? `Only before: ${lost.join(", ")}${gone.length > 6 ? ` and ${gone.length - 6} more` : ""}.` : "",
    left ? `${left} paths too short to be seen are left out.` : ""].filter(Boolean).join(" ");
}

function flameText(node) {
  const name = node.fn < 0 ? "all" : fnName(node.fn);
  const lines = [name, `${span(node.value)}, ${percent(node.value, ledger.run)} of the run time`];
  if (flame.value === "elapsed" || flame.value === "difference") {
    if (node.fn >= 0) lines.push(`net ${span(node.own)}, ${node.calls} ${node.calls === 1 ? "call" : "calls"}`);
  }
  if (node.was !== undefined) {
    lines.push(`before ${(100 * node.was).toFixed(2)}%, now ${(100 * node.share).toFixed(2)}% (${signed(100 * (node.share - node.was))} points)`);
  }
  return lines.join("\n");
}

function flameColour(d) {
  if (d.highlight) return "var(--accent)";
  const node = d.data;
  if (node.fn < 0) return "var(--wash)";
  if (!flame.value.startsWith("difference")) return palette[node.fn];
  const change = (node.share - node.was) / flame.extreme;
  const strength = Math.round(100 * Math.sqrt(Math.min(1, Math.abs(change))) * 0.8);
  return `color-mix(in oklab, var(${change > 0 ? "--more" : "--less"}) ${strength}%, var(--wash))`;
}

function searchFlame() {
  const term = $("flame-search").value.trim();
  if (term) {
    flame.chart.search(term);
    const [count, sum, total] = flame.found;
    $("flame-text").textContent = `${count} ${count === 1 ? "frame" : "frames"}, ${percent(sum, total)}`;
  } else {
    flame.chart.clear();
    $("flame-text").textContent = span(flame.root.originalValue);
  }
}

function markFrame(d) {
  flame.here = d;
  select("#flame").selectAll("g.here").classed("here", false);
  for (const old of $("flame").querySelectorAll("[aria-selected]")) { old.removeAttribute("aria-selected"); old.removeAttribute("id"); }
  const frame = select("#flame").selectAll("g").filter((other) => other === d).classed("here", true).node();
  if (frame) { frame.id = "flame-here"; frame.setAttribute("aria-selected", "true"); $("flame").setAttribute("aria-activedescendant", "flame-here"); }
  if (frame) frame.scrollIntoView({ block: "nearest", inline: "nearest" });
}

// Frames are items of the tree, each with its level and what the tooltip says.
function nameFrames() {
  for (const svg of $("flame").querySelectorAll("svg:not([role])")) svg.setAttribute("role", "presentation");
  for (const g of $("flame").querySelectorAll("svg g:not([role])")) {
    const d = g.__data__;
    if (!d || !d.data || g.querySelector("rect") === null) { g.setAttribute("role", "presentation"); continue; }
    g.setAttribute("role", "treeitem");
    g.setAttribute("aria-level", String(d.depth + 1));
    g.setAttribute("aria-label", flameText(d.data).replaceAll("\n", ", "));
  }
}

function flameKey(event) {
  const here = flame.here || flame.root;
  const inward = (here.children || []).filter((child) => child.value > 0);
  const beside = (step) => {
    const row = here.parent ? here.parent.children.filter((child) => child.value > 0) : [here];
    return row[row.indexOf(here) + step];
  };
  const down = flame.shape === "icicle" ? "ArrowDown" : "ArrowUp";
  const up = flame.shape === "icicle" ? "ArrowUp" : "ArrowDown";
  let next;
  if (event.key === down) next = inward[0];
  else if (event.key === up) next = here.parent;
  else if (event.key === "ArrowLeft") next = beside(-1);
  else if (event.key === "ArrowRight") next = beside(1);
  else if (event.key === "Enter") { flame.chart.zoomTo(here); markFrame(here); }
  else if (event.key === "Backspace" || event.key === "Escape") resetFlame();
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (next) markFrame(next);
}

function resetFlame() {
  flame.chart.resetZoom();
  markFrame(flame.root);
}
