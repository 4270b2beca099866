// The timeline's window on the run: where it is, how it moves, what its keys do.
const MIN_SPAN = 8 * D.step, SCROLLBAR = 13;
const timeline = { start: 0, end: 1, width: 900, height: 300, scroll: 0, scale: 1, gutter: 132, queued: false };

function setUpTimeline() {
  shapeLanes();
  readColours();
  timeline.end = timeline.all = Math.max(MIN_SPAN, D.ledger.elapsed);
  const most = Math.max(200, Math.round(innerHeight * 0.5));
  fitLanes(most - AXIS);
  layOut(most);
  $("lane-scroll").addEventListener("scroll", (event) => { timeline.scroll = event.target.scrollTop; redraw(); }, { passive: true });
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width) - ($("lane-scroll").hidden ? 0 : SCROLLBAR);
    if (width === timeline.width && timeline.overview) return;
    timeline.width = width;
    timeline.gutter = width < 640 ? 76 : 132;
    drawOverview();
    redraw();
  }).observe($("timeline-card"));
  when("theme", () => { readColours(); drawOverview(); redraw(); });
  when("call", redraw);
  when("marked", redraw);
  when("range", redraw);
  $("timeline").addEventListener("keydown", timelineKey);
  setUpPointer();
}

// Place the lanes anew; the canvas is at most as high as `most`.
function layOut(most) {
  timeline.most = most ?? timeline.most;
  placeLanes();
  timeline.height = Math.min(timeline.most, AXIS + lanes.height);
  timeline.scroll = Math.max(0, Math.min(timeline.scroll, AXIS + lanes.height - timeline.height));
  // For scripts that drive the page: where the rows of each context begin.
  $("timeline").dataset.lanes = JSON.stringify(lanes.order.map((lane) => [lane.context, AXIS + lane.y + LANE_HEAD, lane.shown, lane.levels]));
  $("lane-scroll").hidden = AXIS + lanes.height <= timeline.height;
  $("lane-scroll").firstElementChild.style.height = AXIS + lanes.height + "px";
  redraw();
}

// Show all rows of a lane, or one.
function foldLane(lane) {
  lane.shown = lane.shown < lane.levels ? lane.levels : 1;
  layOut();
}

// Draw once in the next frame, however often it is asked for.
function redraw() {
  if (timeline.queued) return;
  timeline.queued = true;
  requestAnimationFrame(() => {
    timeline.queued = false;
    drawTimeline();
    const { start, end, scroll, gutter } = timeline;
    Object.assign($("timeline").dataset, { start, end, scroll, gutter, range: range.on ? `${range.from} ${range.to}` : "" });
    noteWindow();
    $("window-text").textContent = `${stamp(Math.max(0, start))} to ${stamp(end)}, ${span(end - start)}`;
  });
}

// Show start..end, kept to the run and not shorter than a few microseconds.
timeline.show = (start, end) => {
  const length = Math.min(Math.max(end - start, MIN_SPAN), timeline.all);
  const middle = (start + end) / 2;
  timeline.start = Math.min(Math.max(middle - length / 2, 0), timeline.all - length);
  timeline.end = timeline.start + length;
  redraw();
};

timeline.zoom = (factor, about) => {
  const { start, end } = timeline;
  const length = Math.min(Math.max((end - start) * factor, MIN_SPAN), timeline.all);
  const center = about === undefined ? (start + end) / 2 : about;
  const part = (center - start) / (end - start);
  timeline.start = Math.min(Math.max(center - part * length, 0), timeline.all - length);
  timeline.end = timeline.start + length;
  redraw();
};

timeline.pan = (part) => {
  const length = timeline.end - timeline.start;
  timeline.start = Math.min(Math.max(timeline.start + part * length, 0), timeline.all - length);
  timeline.end = timeline.start + length;
  redraw();
};

// Of the window as it is now, drawn or not: several wheel steps may come between two frames.
timeline.timeAt = (x) => timeline.start + ((x - timeline.gutter) * (timeline.end - timeline.start)) / (timeline.width - timeline.gutter);

// Bring a call into sight, with some of what is around it.
timeline.showCall = (i) => {
  const wide = Math.max(calls.wall[i], 1);
  timeline.show(calls.entry[i] - wide * 0.6, calls.exit[i] + wide * 0.6);
  const lane = lanes.of.get(calls.context[i]);
  if (lane.hidden || calls.level[i] >= lane.shown) {
    lane.hidden = false;
    lane.shown = Math.max(lane.shown, calls.level[i] + 1);
    layOut();
  }
  timeline.scrollTo(lane.y + LANE_HEAD + calls.level[i] * ROW);
  $("timeline-section").scrollIntoView({ block: "nearest" });
};

timeline.scrollTo = (y) => {
  const view = timeline.height - AXIS;
  if (y < timeline.scroll) timeline.scroll = Math.max(0, y - LANE_HEAD);
  else if (y + ROW > timeline.scroll + view) timeline.scroll = y + 2 * ROW - view;
  $("lane-scroll").scrollTop = timeline.scroll;
};

const timelineKeys = {
  ArrowLeft: () => timeline.pan(-0.15), ArrowRight: () => timeline.pan(0.15),
  a: () => timeline.pan(-0.15), d: () => timeline.pan(0.15),
  "+": () => timeline.zoom(0.6), "=": () => timeline.zoom(0.6), w: () => timeline.zoom(0.6),
  "-": () => timeline.zoom(1 / 0.6), s: () => timeline.zoom(1 / 0.6),
  0: () => timeline.show(0, timeline.all),
  Home: () => timeline.pan(-1e9), End: () => timeline.pan(1e9),
  PageUp: () => timeline.pan(-0.9), PageDown: () => timeline.pan(0.9),
  ArrowUp: () => moveCall("parent"), ArrowDown: () => moveCall("child"),
  ",": () => moveCall("before"), ".": () => moveCall("after"),
  Enter: () => (state.call < 0 ? firstInSight() : timeline.showCall(state.call)),
  "[": () => setEdge("from"), "]": () => setEdge("to"),
  Escape: () => (state.call >= 0 ? selectCall(-1) : range.on ? clearRange() : clearMarks()),
};

function timelineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = timelineKeys[event.key];
  if (!act) return;
  act();
  event.preventDefault();
  event.stopPropagation();
}

// From the selected call to the one that called it, its first call, the call before or after it.
function moveCall(where) {
  const i = state.call;
  if (i < 0) return firstInSight();
  let next = -1;
  if (where === "parent") next = calls.parent[i];
  else if (where === "child") next = childrenOf(i)[0] ?? -1;
  else {
    const row = rowOfCall(i);
    let k = firstWhere(everyCall.start[row], everyCall.start[row + 1], (at) => everyCall.call[at] >= i);
    k += where === "before" ? -1 : 1;
    if (k >= everyCall.start[row] && k < everyCall.start[row + 1]) next = everyCall.call[k];
  }
  if (next < 0) return undefined;
  selectCall(next);
  const { start, end } = timeline;
  if (calls.entry[next] < start || calls.exit[next] > end || (calls.wall[next] || 1) * timeline.scale < 3) timeline.showCall(next);
  return undefined;
}

function firstInSight() {
  for (const lane of lanes.order) {
    const i = everyCall.call[firstInRow(everyCall, lane.row, timeline.start)];
    if (lane.context >= 0 && i !== undefined && calls.entry[i] < timeline.end) return selectCall(i);
  }
  return undefined;
}
