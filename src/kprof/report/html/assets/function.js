// The selected function: figures, distribution, its worst calls, its callers and callees.
const METRICS = [["elapsed", "Elapsed"], ["net", "Net"], ["wall", "Wall", "Elapsed and the time switched out"]];
const WORST = 10;
let metric = "elapsed";
let order = [];

function setUpFunction() {
  choice($("metric"), METRICS, metric, (value) => { metric = value; drawFunction(); });
  when("fn", drawFunction);
  when("range", drawFunction);
  when("theme", drawFunction);
  when("call", drawCall);
  new ResizeObserver(() => { if (plot) plot.setSize({ width: Math.max(240, $("distribution").clientWidth), height: 150 }); }).observe($("distribution"));
}

function drawFunction() {
  const fn = state.fn;
  if (fn < 0) return;
  const { kind, file, interrupt } = D.functions[fn];
  $("function-name").textContent = fnName(fn);
  $("function-name").title = fnName(fn);
  const where = sourceOf(fn);
  $("function-kind").textContent = [interrupt ? "interrupt" : kind === "function" ? "" : kind, where ? where.text : file].filter(Boolean).join(", ");
  order = ranked(fn, metric);
  const values = order.map((i) => calls[metric][i]);
  const f = figures[fn] || { count: 0, elapsed: 0, net: 0, wall: 0 };
  const boxes = [["calls", group(String(f.count))], [metric + " us", figure(f[metric])]];
  if (order.length) {
    for (const [label, part] of [["min", 0], ["p50", 0.5], ["p90", 0.9], ["p99", 0.99], ["max", 1]]) boxes.push([label, figure(quantile(values, part))]);
  }
  $("function-figures").replaceChildren(...boxes.map(([label, text]) => make("div", {}, make("span", {}, label), text)));
  drawDistribution(order, metric);
  drawLists(fn);
  showSource(fn);
}

function worstCall() {
  if (order.length) selectCall(order[order.length - 1], true);
}

function drawLists(fn) {
  const worst = order.slice(-WORST).reverse();
  const scale = scaleOf(worst.map((i) => calls[metric][i]));
  const worstTable = make("table", { id: "worst" });
  for (const i of worst) {
    worstTable.append(make("tr", {},
      make("td", {}, make("button", { type: "button", class: "link", "data-call": i, onclick: () => selectCall(i, true) }, stamp(calls.entry[i]))),
      make("td", {}, `${scale.text(calls[metric][i])} ${scale.unit}`), make("td", { class: "figures" }, contextName(calls.context[i]))));
  }
  const [callers, callees] = edgesOf(fn);
  $("function-lists").replaceChildren(
    make("div", {}, make("h3", {}, `Worst calls (${metric})`), worstTable),
    make("div", {}, edgeTable("Called from", callers), edgeTable("Calls", callees)));
}

// Who called it, and whom it called: calls and elapsed time of each edge.
function edgesOf(fn) {
  const callers = new Map(), callees = new Map();
  const add = (map, key, elapsed) => {
    const edge = map.get(key) || { fn: key, count: 0, elapsed: 0 };
    edge.count++;
    edge.elapsed += elapsed;
    map.set(key, edge);
  };
  for (const i of callsInRange(fn)) {
    if (calls.flags[i] & ORPHAN) continue;
    const up = calls.parent[i];
    add(callers, up >= 0 ? calls.fn[up] : -1, calls.elapsed[i]);
    for (const inner of childrenOf(i)) add(callees, calls.fn[inner], calls.elapsed[inner]);
  }
  const sorted = (map) => [...map.values()].sort((a, b) => b.elapsed - a.elapsed);
  return [sorted(callers), sorted(callees)];
}

function edgeTable(title, edges) {
  const body = make("table", { style: "margin-bottom:10px" });
  const scale = scaleOf(edges.map((edge) => edge.elapsed));
  for (const edge of edges.slice(0, 8)) {
    const name = edge.fn < 0 ? make("span", { class: "figures" }, "nothing seen below")
      : make("button", { type: "button", class: "link", title: fnName(edge.fn), onclick: () => selectFunction(edge.fn) }, fnName(edge.fn));
    body.append(make("tr", {}, make("td", {}, name), make("td", {}, `${group(String(edge.count))} x`), make("td", {}, `${scale.text(edge.elapsed)} ${scale.unit}`)));
  }
  const rest = edges.length - 8;
  return make("div", {}, make("h3", {}, title), edges.length ? body : make("p", { class: "hint" }, "none"), rest > 0 ? make("p", { class: "hint" }, `and ${rest} more`) : null);
}
