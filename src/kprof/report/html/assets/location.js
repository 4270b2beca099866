// The state of the page in the hash of its address: Back goes to the view before, a link opens the
// same view. What is chosen makes an entry of the history; moving the window only changes the last.
const place = { applying: false, asked: false, timer: 0, chosen: "" };

function stateText() {
  const parts = [];
  const add = (key, value) => { if (value !== "") parts.push(`${key}=${encodeURIComponent(value)}`); };
  if (state.chosen && state.fn >= 0) add("f", fnName(state.fn));
  add("c", state.call >= 0 ? String(state.call) : "");
  add("r", range.on ? `${range.from}-${range.to}` : "");
  add("q", table.term);
  return parts.join("&");
}

function windowText() {
  const all = timeline.start <= 0 && timeline.end >= timeline.all;
  return all ? "" : `t=${timeline.start.toFixed(3)}-${timeline.end.toFixed(3)}`;
}

function writeState() {
  place.asked = false;
  if (place.applying) return;
  const chosen = stateText();
  const text = "#" + [chosen, windowText()].filter(Boolean).join("&");
  if (text === (location.hash || "#")) return;
  try {
    if (chosen === place.chosen) history.replaceState(null, "", text);
    else history.pushState(null, "", text);
  } catch {
    return;  // a page without an address of its own keeps no history
  }
  place.chosen = chosen;
}

// Once for all that changes in one step.
function askWrite() {
  if (place.asked || place.applying) return;
  place.asked = true;
  queueMicrotask(writeState);
}

function readState() {
  const found = new Map(location.hash.slice(1).split("&").filter(Boolean).map((part) => {
    const [key, value] = part.split("=");
    try { return [key, decodeURIComponent(value ?? "")]; } catch { return [key, ""]; }
  }));
  const pair = (key) => (found.get(key) ?? "").split("-").map(Number).filter(Number.isFinite);
  place.applying = true;
  const term = found.get("q") ?? "";
  if (term !== table.term) { $("search").value = table.term = term; fillTable(); tell("search"); }
  const [from, to] = pair("r");
  if (to > from) setRange(Math.max(0, from), Math.min(timeline.all, to));
  else if (range.on) clearRange();
  const call = Number(found.get("c") ?? -1);
  selectCall(call >= 0 && call < calls.count ? call : -1);
  const fn = D.functions.findIndex((f) => f.name === found.get("f"));
  if (fn >= 0) selectFunction(fn);
  else if (state.chosen) unchoose();
  const [start, end] = pair("t");
  timeline.show(...(end > start ? [start, end] : [0, timeline.all]));
  place.chosen = stateText();
  place.applying = false;
}

// As the page was at first: the function of the most time, not chosen by anybody.
function unchoose() {
  state.chosen = false;
  state.fn = -1;
  const most = D.figures.reduce((best, row) => (best && best[3] >= row[3] ? best : row), null);
  if (most) selectFunction(most[0], true);
}

function setUpLocation() {
  for (const what of ["fn", "call", "range", "search"]) when(what, askWrite);
  addEventListener("popstate", readState);
  if (location.hash.length > 1) readState();
}

// The window has moved.
function noteWindow() {
  clearTimeout(place.timer);
  place.timer = setTimeout(askWrite, 250);
}
