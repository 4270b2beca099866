// Drawing the timeline and its overview on canvases.
const GUTTER = 86, AXIS = 24;
const colours = {};

function readColours() {
  for (const name of ["card", "ink", "soft", "line", "wash", "accent", "hot", "idle", "run", "page"]) colours[name] = ink("--" + name);
  colours.flameInk = ink("--flame-ink");
  colours.font = "11px " + ink("--mono");
}

function fitCanvas(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const w = Math.round(width * scale), h = Math.round(height * scale);
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  canvas.style.height = height + "px";
  canvas.style.width = width + "px";
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function drawTimeline() {
  const { start, end, width, height, scroll } = timeline;
  const g = fitCanvas($("timeline"), width, height);
  const view = { g, start, end, scale: (width - GUTTER) / (end - start), right: width, x: (t) => GUTTER + (t - start) * timeline.scale };
  timeline.scale = view.scale;
  g.font = colours.font;
  g.textBaseline = "middle";
  timeline.charWidth = timeline.charWidth || g.measureText("0").width;
  drawGrid(view, height);
  g.save();
  g.beginPath();
  g.rect(0, AXIS, width, height - AXIS);
  g.clip();
  for (const lane of lanes) {
    const top = AXIS + lane.y - scroll;
    if (top > height || top + lane.height < AXIS) continue;
    drawLane(view, lane, top);
  }
  g.restore();
  drawSelected(view);
  drawOverviewWindow();
}

function drawGrid(view, height) {
  const { g } = view;
  const least = 92 / view.scale;
  let step = 10 ** Math.floor(Math.log10(least * US)) / US;
  for (const factor of [1, 2, 5, 10]) if (step * factor >= least) { step *= factor; break; }
  step = Math.max(step, 1);
  g.fillStyle = colours.soft;
  g.strokeStyle = colours.line;
  g.lineWidth = 1;
  g.beginPath();
  for (let t = Math.ceil(view.start / step) * step; t <= view.end; t += step) {
    const x = Math.round(view.x(t)) + 0.5;
    if (x < GUTTER) continue;
    g.moveTo(x, 0);
    g.lineTo(x, height);
    if (x + 70 < view.right) g.fillText(stamp(t), x + 4, AXIS / 2);
  }
  g.moveTo(0, AXIS - 0.5);
  g.lineTo(view.right, AXIS - 0.5);
  g.stroke();
}

function drawLane(view, lane, top) {
  const { g } = view;
  const bottom = top + lane.height;
  g.fillStyle = colours.line;
  g.fillRect(0, bottom - 1, view.right, 1);
  g.save();
  g.beginPath();
  g.rect(GUTTER, top, view.right - GUTTER, lane.height);
  g.clip();
  for (let level = 0; level < lane.levels; level++) drawRow(view, lane.row + level, top + LANE_HEAD + level * ROW);
  if (lane.context >= 0) {
    drawAway(view, lane, top);
    drawMarks(view, lane, top);
  }
  g.restore();
  g.fillStyle = colours.card;
  g.fillRect(0, top, GUTTER - 1, lane.height - 1);
  g.fillStyle = lane.context < 0 ? colours.hot : colours.ink;
  g.fillText(lane.name, 10, top + LANE_HEAD + ROW / 2);
  g.fillStyle = colours.line;
  g.fillRect(GUTTER - 1, top, 1, lane.height);
}

function drawRow(view, row, y) {
  const { g } = view;
  const end = rows.start[row + 1];
  let k = firstInRow(row, view.start);
  const perPixel = 1 / view.scale;
  let colour = -1;
  while (k < end) {
    const i = rows.call[k];
    const from = calls.entry[i];
    if (from > view.end) break;
    const x0 = Math.max(view.x(from), GUTTER - 2), x1 = Math.min(view.x(calls.exit[i]), view.right + 2);
    const wide = x1 - x0;
    if (wide >= 1.5) {
      g.fillStyle = palette[calls.fn[i]];
      colour = -1;
      g.fillRect(x0, y, Math.max(wide - 0.6, 1), ROW - 2);
      if (wide > 26) drawLabel(g, fnName(calls.fn[i]), x0 + 4, y + ROW / 2 - 0.5, wide - 8);
      k++;
    } else {
      // Shorter than a pixel and a half: one stroke stands for all that end in this pixel.
      if (colour !== calls.fn[i]) g.fillStyle = palette[colour = calls.fn[i]];
      g.fillRect(Math.floor(x0), y, 1, ROW - 2);
      const next = view.start + (Math.floor(x0) + 1 - GUTTER) * perPixel;
      k = firstExitAfter(k + 1, end, next);
    }
  }
}

function drawLabel(g, text, x, y, room) {
  const most = Math.floor(room / timeline.charWidth);
  if (most < 2) return;
  g.fillStyle = colours.flameInk;
  g.fillText(text.length <= most ? text : text.slice(0, most - 1) + "\u2026", x, y);
}

// The time in which a context does not run is washed out, and where it runs a line says so.
function drawAway(view, lane, top) {
  const { g } = view;
  const edges = lane.slices;
  const from = 2 * firstWhere(0, edges.length / 2, (k) => edges[2 * k + 1] > view.start);
  let at = GUTTER;
  g.fillStyle = colours.card;
  g.globalAlpha = 0.8;
  const away = (x0, x1) => { if (x1 - x0 >= 1) g.fillRect(x0, top, x1 - x0, lane.height - 2); };
  const on = [];
  for (let k = from; k < edges.length && edges[k] < view.end; k += 2) {
    const x0 = view.x(edges[k]), x1 = view.x(edges[k + 1]);
    if (x1 < at) continue;
    away(at, x0);
    on.push(Math.max(x0, at), x1);
    at = Math.max(at, x1);
  }
  away(at, view.right);
  g.globalAlpha = 1;
  g.fillStyle = lane.context ? colours.run : colours.idle;
  for (let k = 0; k < on.length; k += 2) g.fillRect(on[k], top + 1, Math.max(1, on[k + 1] - on[k]), 3);
}

// Inline triggers: a flag at the level of the call that they stand in, with the name where there is room.
function drawMarks(view, lane, top) {
  const { g } = view;
  const list = lane.marks;
  let last = -9, flag = -20;
  for (let k = firstWhere(0, list.length, (at) => marks.time[list[at]] >= view.start); k < list.length; k++) {
    const i = list[k];
    const t = marks.time[i];
    if (t > view.end) break;
    const x = view.x(t);
    if (x - last < 2) continue;
    last = x;
    const y = top + LANE_HEAD + Math.max(0, marks.level[i] - 1) * ROW;
    g.fillStyle = colours.hot;
    g.fillRect(Math.round(x), y - 1, 1, ROW);
    if (x - flag < 9) continue;
    flag = x;
    g.beginPath();
    g.moveTo(x - 3, y - 3);
    g.lineTo(x + 4, y - 3);
    g.lineTo(x + 0.5, y + 2.5);
    g.fill();
    const room = k + 1 < list.length ? view.x(marks.time[list[k + 1]]) - x : view.right - x;
    const name = D.inlines[marks.name[i]];
    if (room > (name.length + 2) * timeline.charWidth && view.scale > 1.2) {
      g.fillText(name, x + 4, y + ROW + ROW / 2 - 1);
    }
  }
}

function drawSelected(view) {
  const i = state.call;
  if (i < 0) return;
  const { g } = view;
  for (const lane of lanes) {
    const mine = lane.context === calls.context[i];
    if (!mine) continue;
    const y = AXIS + lane.y - timeline.scroll + LANE_HEAD + calls.level[i] * ROW;
    if (y < AXIS - ROW) continue;
    const x0 = Math.max(view.x(calls.entry[i]), GUTTER - 3), x1 = Math.min(view.x(calls.exit[i]), view.right + 3);
    if (x1 < GUTTER || x0 > view.right) continue;
    g.strokeStyle = colours.accent;
    g.lineWidth = 2;
    g.strokeRect(x0 - 1, y - 1, Math.max(3, x1 - x0 + 1), ROW);
    g.globalAlpha = 0.07;
    g.fillStyle = colours.accent;
    g.fillRect(x0, AXIS, Math.max(1, x1 - x0), timeline.height);
    g.globalAlpha = 1;
  }
}

// The overview: how deep the stack was in each pixel of the whole run, and the window of the timeline.
function drawOverview() {
  const { width } = timeline;
  const height = 44, pixels = Math.max(1, Math.floor(width - GUTTER));
  const scale = pixels / (D.ledger.elapsed || 1);
  const deepest = new Uint8Array(pixels);
  let top = 1;
  for (let i = 0; i < calls.count; i++) {
    if (calls.wall[i] !== calls.elapsed[i]) continue;
    const level = Math.min(calls.level[i] + 1, 255);
    if (level > top) top = level;
    const to = Math.min(pixels - 1, Math.floor(calls.exit[i] * scale));
    for (let x = Math.floor(calls.entry[i] * scale); x <= to; x++) if (deepest[x] < level) deepest[x] = level;
  }
  const canvas = document.createElement("canvas");
  const g = fitCanvas(canvas, width, height);
  g.font = colours.font;
  g.textBaseline = "middle";
  g.fillStyle = colours.soft;
  g.fillText("whole run", 10, height / 2);
  g.fillStyle = colours.run;
  g.globalAlpha = 0.75;
  for (let x = 0; x < pixels; x++) {
    const tall = (deepest[x] / top) * (height - 10);
    if (tall) g.fillRect(GUTTER + x, height - 2 - tall, 1, tall);
  }
  timeline.overview = canvas;
}

function drawOverviewWindow() {
  const { start, end, width } = timeline;
  const height = 44;
  const g = fitCanvas($("overview"), width, height);
  if (timeline.overview && timeline.overview.width) g.drawImage(timeline.overview, 0, 0, width, height);
  const scale = (width - GUTTER) / (D.ledger.elapsed || 1);
  const x0 = GUTTER + start * scale, x1 = Math.max(x0 + 2, GUTTER + end * scale);
  g.fillStyle = colours.page;
  g.globalAlpha = 0.65;
  g.fillRect(GUTTER, 0, x0 - GUTTER, height);
  g.fillRect(x1, 0, width - x1, height);
  g.globalAlpha = 1;
  g.strokeStyle = colours.accent;
  g.lineWidth = 1.5;
  g.strokeRect(x0 + 0.5, 1, x1 - x0 - 1, height - 2);
}
