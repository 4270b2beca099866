// The mouse on the timeline: drag pans, shift-drag and the axis choose a window, the wheel zooms.
function setUpPointer() {
  const canvas = $("timeline");
  let from = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [x, y] = place(event);
    from = { x, y, start: timeline.start, end: timeline.end, scroll: timeline.scroll, window: event.shiftKey || y < AXIS, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!from) return hover(event, x, y);
    if (!from.moved && Math.abs(x - from.x) + Math.abs(y - from.y) < 4) return undefined;
    from.moved = true;
    hideTip();
    if (from.window) return drawChosen(from.x, x);
    canvas.classList.add("dragging");
    const shift = (from.x - x) / timeline.scale;
    timeline.show(from.start + shift, from.end + shift);
    const most = Math.max(0, AXIS + lanes.height - timeline.height);
    timeline.scroll = Math.min(most, Math.max(0, from.scroll + from.y - y));
    $("lane-scroll").scrollTop = timeline.scroll;
    return undefined;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [x, y] = place(event);
    const was = from;
    from = null;
    canvas.classList.remove("dragging");
    if (was.moved && was.window) {
      const [a, b] = [timeline.timeAt(was.x), timeline.timeAt(x)].sort((p, q) => p - q);
      timeline.show(a, b);
    } else if (!was.moved) {
      const hit = hitAt(x, y);
      selectCall(hit.mark >= 0 ? marks.parent[hit.mark] : hit.call);
    }
  });
  canvas.addEventListener("pointercancel", () => { from = null; canvas.classList.remove("dragging"); redraw(); });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => {
    const hit = hitAt(...place(event));
    if (hit.call >= 0) timeline.showCall(hit.call);
  });
  canvas.addEventListener("wheel", (event) => {
    const [x] = place(event);
    if (event.ctrlKey || event.metaKey || (document.activeElement === canvas && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX))) {
      timeline.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.002))), timeline.timeAt(Math.max(x, GUTTER)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      timeline.pan((event.deltaX || event.deltaY) / timeline.width);
    } else {
      return;
    }
    event.preventDefault();
  }, { passive: false });
  setUpOverview();
}

function setUpOverview() {
  const canvas = $("overview");
  let moving = false;
  const go = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    const at = ((x - GUTTER) / (timeline.width - GUTTER)) * timeline.all;
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

function drawChosen(x0, x1) {
  drawTimeline();
  const g = $("timeline").getContext("2d");
  g.fillStyle = colours.accent;
  g.globalAlpha = 0.18;
  g.fillRect(Math.min(x0, x1), 0, Math.abs(x1 - x0), timeline.height);
  g.globalAlpha = 1;
  $("window-text").textContent = span(Math.abs(x1 - x0) / timeline.scale);
}

// What is at a point of the canvas: the row of a mark, or of a call, or -1.
function hitAt(x, y) {
  const none = { call: -1, mark: -1 };
  if (y < AXIS || x < GUTTER) return none;
  const inside = y - AXIS + timeline.scroll;
  const lane = lanes.find((l) => inside >= l.y && inside < l.y + l.height);
  if (!lane) return none;
  const level = Math.floor((inside - lane.y - LANE_HEAD) / ROW);
  const time = timeline.timeAt(x), slack = 3 / timeline.scale;
  for (let k = firstWhere(0, lane.marks.length, (at) => marks.time[lane.marks[at]] >= time - slack); k < lane.marks.length; k++) {
    const i = lane.marks[k];
    if (marks.time[i] > time + slack) break;
    const top = lane.y + LANE_HEAD + Math.max(0, marks.level[i] - 1) * ROW;
    if (inside > top - 6 && inside < top + 6) return { call: -1, mark: i };
  }
  if (level < 0 || level >= lane.levels) return none;
  return { call: callAt(lane.row + level, time, slack), mark: -1 };
}

function hover(event, x, y) {
  const { call, mark } = hitAt(x, y);
  if (mark >= 0) {
    const up = marks.parent[mark];
    const inside = up >= 0 ? ` after the entry of ${fnName(calls.fn[up])}` : "";
    showTip(`== ${D.inlines[marks.name[mark]]}\n${stamp(marks.time[mark])}, ${figure(marks.since[mark])} us${inside}`, event.clientX, event.clientY);
  } else if (call >= 0) {
    const nested = calls.net[call] === calls.elapsed[call] ? "" : `, ${figure(calls.elapsed[call])} us elapsed`;
    showTip(`${fnName(calls.fn[call])}\nnet ${figure(calls.net[call])} us${nested}\nat ${stamp(calls.entry[call])}`, event.clientX, event.clientY);
  } else {
    hideTip();
  }
}
