// What is marked on the timeline: all calls of the function that was chosen, or of those that a
// search matches; the others dim.
const marked = { layer: null, functions: null };

function markFunctions(functions) {
  const wanted = new Set(functions);
  if (!wanted.size) return clearMarks();
  const row = (i) => rowOfCall(i);
  const list = [];
  for (const fn of wanted) for (const i of callsOf(fn)) list.push(i);
  if (wanted.size > 1) list.sort((a, b) => a - b);
  const again = interruptRows.filter(([i]) => wanted.has(calls.fn[i]));
  marked.layer = makeLayer(0, list, row, again);
  marked.functions = wanted;
  $("timeline").dataset.marked = String(list.length);
  return tell("marked");
}

function clearMarks() {
  marked.layer = marked.functions = null;
  $("timeline").dataset.marked = "";
  tell("marked");
}

// Those that the table's search matches; without one the chosen function.
function markChosen() {
  if (table.term) markFunctions(table.rows.map((f) => f.fn));
  else if (state.fn >= 0 && state.chosen) markFunctions([state.fn]);
  else clearMarks();
}

function setUpMarks() {
  when("fn", () => { if (!table.term) markChosen(); });
  when("search", markChosen);
}
