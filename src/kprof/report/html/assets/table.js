// The function table: the paper's columns, sorted by any, searched by name. Only the rows that are
// in sight exist as elements, so that 65,536 functions scroll as 60 do.
const ROW_HEIGHT = 25;
const table = { rows: [], sort: "net", up: false, term: "", whole: false, drawn: "" };

// Key, head, value to sort by, text, title. Times have the scale of their column.
const tableColumns = [
  ["name", "name", (f) => fnName(f.fn).toLowerCase(), null, "Function"],
  ["elapsed", "Elapsed", (f) => f.elapsed, null, "Elapsed time on the processor, calls inside included"],
  ["net", "Net", (f) => f.net, null, "Elapsed less the calls inside"],
  ["count", "# calls", (f) => f.count, (f) => group(String(f.count)), "Calls that began in the capture, or in the range"],
  ["max", "max", (f) => f.max, null, "Longest net time of one call"],
  ["avg", "avg", (f) => f.avg, null, "Average net time of a call"],
  ["min", "min", (f) => f.min, null, "Shortest net time of one call"],
  ["real", "% real", (f) => f.net, (f) => percent(f.net, ledger.elapsed), "Net of the elapsed time of the run, or of the range"],
  ["pct", "% net", (f) => f.net, (f) => percent(f.net, ledger.run), "Net of the time that was not idle"],
];
const timeColumns = ["elapsed", "net", "max", "avg", "min"];

// Write the times of each column in its scale; the head has the unit.
function scaleColumns() {
  for (const column of tableColumns) {
    if (!timeColumns.includes(column[0])) continue;
    const scale = scaleOf(figures.map(column[2]));
    column[3] = (f) => scale.text(column[2](f));
    column.unit = scale.unit;
  }
}
const LEAST_WIDTH = 46, NAME_WIDTH = 120, MOST_NAME = 380;

function setUpTable() {
  if (D.before) {
    tableColumns.push(["delta", "\u0394 % net", (f) => deltaOf(f.fn), (f) => signed(deltaOf(f.fn)),
      "Share of the run time, less that of the capture before, in points"]);
  }
  drawHead();
  $("table-card").addEventListener("scroll", () => { if (String(rowsInSight()) !== table.drawn) drawRows(); }, { passive: true });
  $("search").addEventListener("input", (event) => { table.term = event.target.value; fillTable(); tell("search"); });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && table.rows.length) selectFunction(table.rows[0].fn);
    if (event.key === "Enter" || event.key === "ArrowDown") { $("table-card").focus(); event.preventDefault(); }
    if (event.key === "Escape") { event.target.value = table.term = ""; fillTable(); tell("search"); $("table-card").focus(); }
    event.stopPropagation();
  });
  $("table-card").addEventListener("keydown", tableKey);
  $("table").tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr.row");
    if (row) selectFunction(Number(row.dataset.fn));
  });
  when("fn", () => { revealRow(); drawRows(); });
  when("range", () => { drawHead(); fillTable(); });
  addEventListener("beforeprint", () => { table.whole = true; drawRows(); });
  addEventListener("afterprint", () => { table.whole = false; drawRows(); });
  $("table").tBodies[0].addEventListener("dblclick", worstCall);
  new ResizeObserver(drawRows).observe($("table-card"));
  fillTable();
}

function drawHead() {
  scaleColumns();
  const head = make("tr", { role: "row" });
  const longest = figures.reduce((most, f) => Math.max(most, fnName(f.fn).length), 0);
  const names = Math.max(NAME_WIDTH, Math.min(MOST_NAME, innerWidth * 0.45, 40 + 7.4 * longest));
  let fixed = 0;
  for (const [key, label, , text, title] of tableColumns) {
    const column = tableColumns.find(([other]) => other === key);
    const most = text ? figures.reduce((most_, f) => Math.max(most_, text(f).length), label.length + 2) : 0;
    const width = text ? Math.max(LEAST_WIDTH, 13 + 7.2 * most) : names;
    fixed += width;
    head.append(make("th", { "data-key": key, scope: "col", style: `width:${width}px` },
      make("button", { type: "button", title: title + (column.unit ? `, ${column.unit}` : ""), onclick: () => sortTable(key) },
        label + (column.unit === "ms" ? " ms" : ""))));
  }
  head.append(make("td", { "aria-hidden": "true" }));
  $("table").tHead.replaceChildren(head);
  $("table").style.minWidth = fixed + "px";
}

function sortTable(key) {
  if (table.sort === key) table.up = !table.up;
  else Object.assign(table, { sort: key, up: key === "name" });
  fillTable();
}

function fillTable() {
  const term = table.term.toLowerCase();
  const value = tableColumns.find(([key]) => key === table.sort)[2];
  const way = table.up ? 1 : -1;
  const all = figures.filter(Boolean);
  table.rows = all.filter((f) => !term || fnName(f.fn).toLowerCase().includes(term));
  table.rows.sort((a, b) => {
    const x = value(a) ?? -1, y = value(b) ?? -1;
    return (x < y ? -way : x > y ? way : 0) || b.net - a.net || a.fn - b.fn;
  });
  for (const cell of $("table").tHead.rows[0].cells) {
    if (cell.dataset.key === table.sort) cell.setAttribute("aria-sort", table.up ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  }
  const shown = table.rows.length;
  $("table-count").textContent = shown === all.length ? `${shown}` : `${shown} of ${all.length}`;
  $("table").setAttribute("aria-rowcount", String(shown + 1));
  $("table-card").scrollTop = 0;
  revealRow();
  drawRows();
}

// The first of the rows that are made, and the one after the last.
function rowsInSight() {
  const card = $("table-card"), many = table.rows.length;
  if (table.whole) return [0, many];
  const from = Math.max(0, Math.floor(card.scrollTop / ROW_HEIGHT / 5) * 5 - 10);
  return [from, Math.min(many, from + Math.ceil((card.clientHeight || 600) / ROW_HEIGHT) + 25)];
}

function drawRows() {
  const [from, to] = rowsInSight();
  table.drawn = String([from, to]);
  const most = figures.reduce((top, f) => Math.max(top, f.net), 1);
  const space = (rows) => make("tr", { class: "space", "aria-hidden": "true" },
    make("td", { colspan: tableColumns.length + 1, style: `height:${rows * ROW_HEIGHT}px` }));
  const body = [space(from)];
  for (let i = from; i < to; i++) {
    const f = table.rows[i];
    const row = make("tr", { class: "row", "data-fn": f.fn, "aria-rowindex": i + 2, "aria-selected": String(f.fn === state.fn) });
    for (const [key, , value, text] of tableColumns) {
      const cell = make("td", {}, text ? text(f) : null);
      if (key === "pct") {
        cell.className = "meter";
        cell.append(make("i", { style: `width:${(85 * f.net) / most}%` }));
      } else if (key === "delta") {
        cell.className = value(f) >= 0.005 ? "more" : value(f) <= -0.005 ? "less" : "";
      } else if (key === "name") {
        cell.className = "name";
        cell.title = fnName(f.fn);
        cell.append(make("i", { class: "swatch", style: `background:${palette[f.fn]};margin-right:7px` }), fnName(f.fn));
      }
      row.append(cell);
    }
    row.append(make("td", { "aria-hidden": "true" }));
    body.push(row);
  }
  body.push(space(table.rows.length - to));
  $("table").tBodies[0].replaceChildren(...body);
}

function revealRow() {
  const at = table.rows.findIndex((f) => f.fn === state.fn);
  if (at < 0) return;
  const card = $("table-card");
  const top = at * ROW_HEIGHT, view = card.clientHeight - 60;
  if (top < card.scrollTop) card.scrollTop = top;
  else if (top > card.scrollTop + view) card.scrollTop = top - view;
}

function tableKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 18, PageUp: -18, Home: -1e9, End: 1e9 }[event.key];
  if (event.target.closest("thead") && (event.key === "Enter" || event.key === " ")) return;
  if (step) {
    const at = table.rows.findIndex((f) => f.fn === state.fn);
    const next = Math.max(0, Math.min(table.rows.length - 1, at < 0 ? 0 : at + step));
    if (table.rows[next]) selectFunction(table.rows[next].fn);
  } else if (event.key === "Enter" && state.fn >= 0) {
    worstCall();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

// The change of a function's share of the run time, in percentage points.
let netBefore = null;
function deltaOf(fn) {
  if (!netBefore) netBefore = new Map(D.before.figures.map((row) => [row[0], row[3]]));
  const now = figures[fn] ? figures[fn].net / (ledger.run || 1) : 0;
  return 100 * (now - (netBefore.get(fn) || 0) / (D.before.ledger.run || 1));
}
const signed = (value) => {
  const text = value.toFixed(2);
  return Number(text) === 0 ? "0.00" : (value > 0 ? "+" : "") + text;
};
