// Keys that work anywhere on the page but in an input.
const KEYS = [
  ["/", "search functions", () => focusInput("search")],
  ["f", "search the flame graph", () => focusInput("flame-search")],
  ["1 2 3", "go to the timeline, the functions, the flame graph", null],
  ["arrows, a d", "timeline: pan; with a call selected up and down: its caller, its first call", null],
  ["+ - w s", "timeline: zoom; 0 shows the whole run", null],
  [", .", "timeline: the call before, after, at the same level", null],
  ["[ ]", "timeline: the range begins, ends at the selected call, or at the pointer; Escape clears it", null],
  ["n p", "next, previous call of the selected function", null],
  ["x", "the worst call of the selected function", worstCall],
  ["Enter", "functions: its worst call; flame graph: zoom; timeline: zoom to the call", null],
  ["Backspace", "flame graph: back to the whole", null],
  ["t", "light or dark", flipTheme],
  ["?", "this list", () => $("help").showModal()],
];
const goTo = { 1: "timeline", 2: "table-card", 3: "flame" };

function focusInput(id) {
  $(id).focus();
  $(id).select();
  $(id).scrollIntoView({ block: "nearest" });
}

function nextCall(step) {
  if (state.fn < 0) return;
  const mine = callsOf(state.fn);
  const at = state.call >= 0 ? firstWhere(0, mine.length, (k) => mine[k] >= state.call) + step : 0;
  if (mine[at] !== undefined) selectCall(mine[at], true);
}

function setUpKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, dialog")) return;
    const known = KEYS.find(([key, , act]) => key === event.key && act);
    if (known) known[2]();
    else if (goTo[event.key]) $(goTo[event.key]).focus();
    else if (event.key === "n") nextCall(1);
    else if (event.key === "p") nextCall(-1);
    else if ("+=-0".includes(event.key)) return void timelineKey(event);
    else return;
    event.preventDefault();
  });
  $("help-list").replaceChildren(...KEYS.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]));
  $("help-about").textContent = "Drawn with d3-flame-graph and uPlot; their licences are in this file.";
  $("help-button").addEventListener("click", () => $("help").showModal());
  $("theme-button").addEventListener("click", flipTheme);
  const buttons = { "zoom-in": () => timeline.zoom(0.5), "zoom-out": () => timeline.zoom(2), "zoom-all": () => timeline.show(0, timeline.all), "zoom-range": () => timeline.show(range.from, range.to), "clear-range": clearRange, "flame-all": resetFlame };
  for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", buttons[button.dataset.do]);
}
