// The selected call: its figures, the way to it, and its nested trace as the paper prints it.
const MOST_LINES = 400;

function drawCall() {
  const i = state.call, card = $("call-card");
  card.hidden = i < 0;
  if (i < 0) return;
  const flags = calls.flags[i];
  const notes = [
    flags & ORPHAN && "its entry was not seen: counted from the switch in",
    flags & OPEN && "still open at the end of the capture",
    flags & UNWOUND && "unwound by the exit of a call below it",
    flags & RESUMED && "was switched out and resumed",
  ].filter(Boolean).join("; ");
  const mine = callsOf(calls.fn[i]);
  const number = firstWhere(0, mine.length, (k) => mine[k] >= i);
  const other = (step, label) => {
    const next = mine[number + step];
    const button = make("button", { type: "button", onclick: () => selectCall(next, true) }, label);
    button.disabled = next === undefined;
    return button;
  };
  const crumbs = make("div", { class: "crumbs" });
  const path = [];
  for (let up = calls.parent[i]; up >= 0 && path.length < 40; up = calls.parent[up]) path.unshift(up);
  for (const up of path) crumbs.append(make("button", { type: "button", class: "link", onclick: () => selectCall(up, true) }, fnName(calls.fn[up])), " > ");
  crumbs.append(fnName(calls.fn[i]));
  const facts = make("dl", { class: "facts" });
  const fact = (label, value) => facts.append(make("dt", {}, label), make("dd", {}, value));
  fact("entry", stamp(calls.entry[i]));
  fact("net", figure(calls.net[i]) + " us");
  fact("elapsed", figure(calls.elapsed[i]) + " us");
  if (calls.wall[i] !== calls.elapsed[i]) fact("wall", `${figure(calls.wall[i])} us, ${figure(calls.wall[i] - calls.elapsed[i])} us switched out`);
  fact("in", `${contextName(calls.context[i])}, depth ${calls.level[i]}`);
  fact("event", group(String(C.event[i])));
  if (notes) fact("note", notes);
  card.replaceChildren(
    make("div", { class: "head" },
      make("i", { class: "swatch", style: `background:${palette[calls.fn[i]]}` }), make("b", {}, fnName(calls.fn[i])),
      make("span", { class: "figures" }, `call ${number + 1} of ${mine.length}`), make("span", { class: "spacer" }),
      other(-1, "Previous"), other(1, "Next"),
      make("button", { type: "button", onclick: () => timeline.showCall(i) }, "Zoom to it")),
    make("div", {}, crumbs, facts),
    listing(i));
}

// -> name (N us, T total) / == NAME (D us) / <-, four columns a depth; a line leads to its call.
function listing(top) {
  const box = make("div", { class: "listing", tabindex: "0", "aria-label": "Trace of the call" });
  let lines = 0;
  const line = (time, depth, text, kind, call) => {
    lines++;
    const what = call === undefined || call === top ? make("span", { class: kind }, text)
      : make("button", { type: "button", class: "link", onclick: () => selectCall(call, true) }, text);
    box.append(make("div", {}, make("span", { class: "stamp" }, stamp(time) + " "), "    ".repeat(Math.min(depth, 30)), what));
  };
  const stack = [[top, 0, false]];
  while (stack.length && lines < MOST_LINES) {
    const [i, depth, closing] = stack.pop();
    if (closing === true) { line(calls.exit[i], depth, "<-", ""); continue; }
    if (closing === "mark") { line(marks.time[i], depth, `== ${D.inlines[marks.name[i]]} (${figure(marks.since[i])} us)`, "mark"); continue; }
    const inside = [...childrenOf(i)].map((c) => [C.event[c], c, false]);
    for (const m of marksOf(i)) inside.push([C.markEvent[m], m, "mark"]);
    inside.sort((a, b) => a[0] - b[0]);
    const total = inside.length ? `, ${figure(calls.elapsed[i])} total` : "";
    line(calls.entry[i], depth, `-> ${fnName(calls.fn[i])} (${figure(calls.net[i])} us${total})`, "", i);
    if (inside.length) stack.push([i, depth, true]);
    for (const [, row, kind] of inside.reverse()) stack.push([row, depth + 1, kind]);
  }
  if (stack.length) box.append(make("div", { class: "hint" }, "... longer: zoom in on the timeline"));
  return box;
}

let markRows = null;
function marksOf(call) {
  if (!markRows) {
    markRows = new Map();
    for (let i = 0; i < marks.count; i++) {
      if (marks.parent[i] < 0) continue;
      const list = markRows.get(marks.parent[i]);
      if (list) list.push(i);
      else markRows.set(marks.parent[i], [i]);
    }
  }
  return markRows.get(call) || [];
}
