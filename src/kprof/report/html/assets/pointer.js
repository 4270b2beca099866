// The mouse on the timeline: a drag chooses a range of time (its edges snap to those of calls),
// Shift and a finger pan, a drag on the axis zooms, the wheel zooms; two fingers zoom.
const SNAP = 6, GRIP = 4;
const lastPlace = { x: -1, y: -1 };

function setUpPointer() {
  const canvas = $("timeline");
  const fingers = new Map();
  let from = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [x, y] = place(event);
    fingers.set(event.pointerId, [x, y]);
    const { start, end, scroll } = timeline;
    from = { x, y, start, end, scroll, what: dragOf(event, x, y), moved: false };
    if (fingers.size > 1) from = { ...pinchOf(fingers), start, end, what: "pinch", moved: true };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    Object.assign(lastPlace, { x, y });
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, [x, y]);
    if (!from) return hover(event, x, y);
    if (!from.moved && Math.abs(x - from.x) + Math.abs(y - from.y) < 4) return undefined;
    from.moved = true;
    hideTip();
    return dragTo(from, x, y, fingers);
  });
  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (!from) return;
    const [x, y] = place(event);
    const was = from;
    from = null;
    canvas.classList.remove("dragging");
    if (!was.moved) click(x, y);
    else if (was.what === "window") timeline.show(...[timeline.timeAt(was.x), timeline.timeAt(x)].sort((p, q) => p - q));
    else if (was.what !== "pan" && was.what !== "pinch") setRange(range.from, range.to);
  });
  canvas.addEventListener("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    from = null;
    canvas.classList.remove("dragging");
    redraw();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => {
    const hit = hitAt(...place(event));
    if (hit.call >= 0) timeline.showCall(hit.call);
  });
  canvas.addEventListener("wheel", wheel, { passive: false });
  setUpOverview();
}

// What a drag from this place does.
function dragOf(event, x, y) {
  if (event.pointerType === "touch" || event.shiftKey || x < timeline.gutter) return "pan";
  const edge = edgeAt(x);
  if (edge) return edge;
  return y < AXIS ? "window" : "range";
}

// The edge of the range under the pointer.
function edgeAt(x) {
  if (!range.on) return "";
  const at = (t) => timeline.gutter + (t - timeline.start) * timeline.scale;
  if (Math.abs(at(range.to) - x) <= GRIP) return "to";
  return Math.abs(at(range.from) - x) <= GRIP ? "from" : "";
}

function dragTo(from, x, y, fingers) {
  if (from.what === "pinch") {
    const now = pinchOf(fingers);
    const middle = from.start + ((from.x - timeline.gutter) * (from.end - from.start)) / (timeline.width - timeline.gutter);
    const half = ((from.end - from.start) * from.apart) / Math.max(20, now.apart) / 2;
    return timeline.show(middle - half, middle + half);
  }
  if (from.what === "window") return drawWindow(from.x, x);
  if (from.what === "pan") {
    $("timeline").classList.add("dragging");
    const shift = (from.x - x) / timeline.scale;
    timeline.show(from.start + shift, from.end + shift);
    const most = Math.max(0, AXIS + lanes.height - timeline.height);
    timeline.scroll = Math.min(most, Math.max(0, from.scroll + from.y - y));
    $("lane-scroll").scrollTop = timeline.scroll;
    return undefined;
  }
  const here = snapped(x, y);
  if (from.what === "range") from.fixed ??= snapped(from.x, from.y);
  else from.fixed ??= from.what === "to" ? range.from : range.to;
  const [a, b] = here < from.fixed ? [here, from.fixed] : [from.fixed, here];
  Object.assign(range, { from: a, to: b, on: true });
  return redraw();
}

const pinchOf = (fingers) => {
  const [[ax], [bx]] = [...fingers.values()];
  return { x: (ax + bx) / 2, apart: Math.abs(ax - bx) };
};

// The time at a point: that of an edge of a call of the row, where one is near.
function snapped(x, y) {
  const time = Math.max(0, Math.min(timeline.all, timeline.timeAt(Math.max(x, timeline.gutter))));
  const row = rowAt(y);
  const near = row < 0 ? time : edgeNear(row, time, SNAP / timeline.scale);
  return D.step * Math.round(near / D.step);
}

function click(x, y) {
  if (x < timeline.gutter && y > AXIS) {
    const lane = laneAt(y);
    if (lane) foldLane(lane);
    return;
  }
  const hit = hitAt(x, y);
  selectCall(hit.mark >= 0 ? marks.parent[hit.mark] : hit.call);
}

function wheel(event) {
  const canvas = $("timeline");
  const x = event.clientX - canvas.getBoundingClientRect().left;
  if (event.ctrlKey || event.metaKey || (document.activeElement === canvas && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX))) {
    timeline.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.002))), timeline.timeAt(Math.max(x, timeline.gutter)));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    timeline.pan((event.deltaX || event.deltaY) / timeline.width);
  } else {
    return;
  }
  event.preventDefault();
}

function setUpOverview() {
  const canvas = $("overview");
  let moving = false;
  const go = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    const at = ((x - timeline.gutter) / (timeline.width - timeline.gutter)) * timeline.all;
    const half = (timeline.end - timeline.start) / 2;
    timeline.show(at - half, at + half);
  };
  canvas.addEventListener("pointerdown", (event) => {
    moving = true;
    canvas.setPointerCapture(event.pointerId);
    if (timeline.end - timeline.start >= timeline.all * 0.98) timeline.zoom(0.1);
    go(event);
  });
  canvas.addEventListener("pointermove", (event) => { if (moving) go(event); });
  canvas.addEventListener("pointerup", () => { moving = false; });
}

function drawWindow(x0, x1) {
  drawTimeline();
  const g = $("timeline").getContext("2d");
  g.fillStyle = colours.accent;
  g.globalAlpha = 0.18;
  g.fillRect(Math.min(x0, x1), 0, Math.abs(x1 - x0), timeline.height);
  g.globalAlpha = 1;
  $("window-text").textContent = span(Math.abs(x1 - x0) / timeline.scale);
}

function laneAt(y) {
  const inside = y - AXIS + timeline.scroll;
  return lanes.order.find((lane) => inside >= lane.y && inside < lane.y + lane.height);
}

// The row at a height of the canvas, or -1.
function rowAt(y) {
  const lane = y < AXIS ? null : laneAt(y);
  if (!lane) return -1;
  const level = Math.floor((y - AXIS + timeline.scroll - lane.y - LANE_HEAD) / ROW);
  return level < 0 || level >= lane.shown ? -1 : lane.row + level;
}

// What is at a point of the canvas: the row of a mark, or of a call, or -1.
function hitAt(x, y) {
  const none = { call: -1, mark: -1 };
  if (y < AXIS || x < timeline.gutter) return none;
  const inside = y - AXIS + timeline.scroll;
  const lane = laneAt(y);
  if (!lane) return none;
  const time = timeline.timeAt(x), slack = 3 / timeline.scale;
  for (let k = firstWhere(0, lane.marks.length, (at) => marks.time[lane.marks[at]] >= time - slack); k < lane.marks.length; k++) {
    const i = lane.marks[k];
    if (marks.time[i] > time + slack) break;
    const top = lane.y + LANE_HEAD + Math.max(0, marks.level[i] - 1) * ROW;
    if (inside > top - 6 && inside < top + 6) return { call: -1, mark: i };
  }
  const row = rowAt(y);
  return row < 0 ? none : { call: callAt(row, time, slack), mark: -1 };
}

function hover(event, x, y) {
  const { call, mark } = hitAt(x, y);
  $("timeline").classList.toggle("edge", x >= timeline.gutter && Boolean(edgeAt(x)));
  if (mark >= 0) {
    const up = marks.parent[mark];
    const inside = up >= 0 ? ` after the entry of ${fnName(calls.fn[up])}` : "";
    showTip(`== ${D.inlines[marks.name[mark]]}\n${stamp(marks.time[mark])}, ${figure(marks.since[mark])} us${inside}`, event.clientX, event.clientY);
  } else if (call >= 0) {
    showTip(aboutCall(call, timeline.timeAt(x)), event.clientX, event.clientY);
  } else {
    hideTip();
  }
}

// What the tooltip says of a call: times, state, context, caller, and how it ranks.
function aboutCall(i, time) {
  const fn = calls.fn[i], context = calls.context[i], up = calls.parent[i];
  const lines = [fnName(fn), `net ${figure(calls.net[i])} us` + (calls.net[i] === calls.elapsed[i] ? "" : `, ${figure(calls.elapsed[i])} us elapsed`)];
  const away = calls.wall[i] - calls.elapsed[i];
  if (away) lines.push(`wall ${figure(calls.wall[i])} us, ${figure(away)} us of it switched out`);
  const t = Math.floor(time);
  const runs = ranBetween(context, t, t + 1) > 0;
  lines.push(`at ${stamp(calls.entry[i])}, ${contextName(context)}${runs ? "" : ", switched out here"}`);
  lines.push(up >= 0 ? `called from ${fnName(calls.fn[up])}` : "nothing seen below it");
  if (calls.flags[i] & (OPEN | ORPHAN)) {
    lines.push(calls.flags[i] & OPEN ? "still open at the end" : "its entry was not seen");
  } else {
    const [place, of] = rankOf(i);
    lines.push(`${of} ${of === 1 ? "call" : "calls"}; this one ${place === 1 ? "the slowest" : `slowest but ${place - 1}`}`);
  }
  return lines.join("\n");
}

// How many complete calls of its function took longer, and 1; and how many there are.
function rankOf(i) {
  let longer = 1, of = 0;
  for (const other of callsOf(calls.fn[i])) {
    if (calls.flags[other] & (OPEN | ORPHAN)) continue;
    of++;
    if (calls.elapsed[other] > calls.elapsed[i]) longer++;
  }
  return [longer, of];
}
