// Drawing the timeline and its overview on canvases.
const AXIS = 24;
const colours = {};

function readColours() {
  for (const name of ["card", "ink", "soft", "line", "wash", "accent", "hot", "idle", "run", "page", "wait"]) colours[name] = ink("--" + name);
  colours.flameInk = ink("--flame-ink");
  colours.font = "11px " + ink("--mono");
  if (everyCall) everyCall.buckets = null;
  if (marked.layer) marked.layer.buckets = null;
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
  const { start, end, width, height, scroll, gutter } = timeline;
  const g = fitCanvas($("timeline"), width, height);
  const view = { g, start, end, scale: (width - gutter) / (end - start), right: width, x: (t) => gutter + (t - start) * timeline.scale, labels: [] };
  timeline.scale = view.scale;
  g.font = colours.font;
  g.textBaseline = "middle";
  timeline.charWidth = timeline.charWidth || g.measureText("0").width;
  drawGrid(view, height);
  g.save();
  g.beginPath();
  g.rect(0, AXIS, width, height - AXIS);
  g.clip();
  for (const lane of lanes.order) {
    const top = AXIS + lane.y - scroll;
    if (top > height || top + lane.height < AXIS) continue;
    drawLane(view, lane, top);
  }
  drawSelected(view);
  g.restore();
  drawRange(view);
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
    if (x < timeline.gutter) continue;
    g.moveTo(x, 0);
    g.lineTo(x, height);
    if (x + 70 < view.right) g.fillText(stamp(t), x + 4, AXIS / 2);
  }
  g.moveTo(0, AXIS - 0.5);
  g.lineTo(view.right, AXIS - 0.5);
  g.stroke();
}

function drawLane(view, lane, top) {
  const { g } = view, { gutter } = timeline;
  const bottom = top + lane.height;
  g.fillStyle = colours.line;
  g.fillRect(0, bottom - 1, view.right, 1);
  g.save();
  g.beginPath();
  g.rect(gutter, top, view.right - gutter, lane.height);
  g.clip();
  const dim = marked.layer !== null;
  if (dim) g.globalAlpha = 0.35;
  drawLaneRows(view, everyCall, lane, top, !dim);
  g.globalAlpha = 1;
  if (dim) drawLaneRows(view, marked.layer, lane, top, true);
  if (lane.context >= 0) {
    drawAway(view, lane, top);
    drawMarks(view, lane, top);
  }
  for (const [text, x, y, room] of view.labels) drawLabel(g, text, x, y, room);
  view.labels.length = 0;
  g.restore();
  drawLaneHead(view, lane, top);
}

function drawLaneHead(view, lane, top) {
  const { g } = view, { gutter } = timeline;
  g.fillStyle = colours.card;
  g.fillRect(0, top, gutter - 1, lane.height - 1);
  const y = top + LANE_HEAD + ROW / 2;
  const [name, about] = laneText(lane);
  const most = Math.floor((gutter - 22) / timeline.charWidth);
  g.fillStyle = colours.soft;
  g.fillText(lane.shown < lane.levels ? "\u25b8" : "\u25be", 4, y);
  g.fillStyle = lane.context < 0 ? colours.hot : colours.ink;
  g.fillText(name.length <= most ? name : name.slice(0, most - 1) + "\u2026", 16, y);
  g.fillStyle = colours.soft;
  if (lane.shown > 1) g.fillText(about, 16, y + ROW);
  if (lane.shown > 2 && lane.shown < lane.levels) g.fillText(`+${lane.levels - lane.shown} levels`, 16, y + (lane.shown - 1) * ROW);
  g.fillStyle = colours.line;
  g.fillRect(gutter - 1, top, 1, lane.height);
}

// A lane's name, and its part of the run.
function laneText(lane) {
  const share = percent(lane.busy, D.ledger.elapsed).replace(/\.(\d)\d%/, ".$1%");
  if (lane.context < 0) return ["interrupts", share];
  if (lane.context === 0) return ["system", share];
  const name = taskName(lane.context);
  return name ? [name, `task ${lane.context}, ${share}`] : [`task ${lane.context}`, share];
}

// The rows of a lane. What is shorter than a pixel and a half is summed up: the mean of the colours,
// as strong as the pixel is covered.
function drawLaneRows(view, layer, lane, top, labelled) {
  const { g } = view;
  const width = Math.max(1, Math.ceil(view.right - timeline.gutter));
  const sums = pixelSums(width), image = pixelImage(width, lane.shown);
  let any = false;
  for (let level = 0; level < lane.shown; level++) {
    const y = top + LANE_HEAD + level * ROW;
    if (y > timeline.height || y + ROW < AXIS) continue;
    if (!drawLaneRow(view, layer, lane.row + level, y, sums, labelled)) continue;
    any = true;
    shadePixels(sums, image.pixels, level * width, width, view.scale);
    sums.fill(0);
  }
  if (!any) return;
  image.context.putImageData(image.data, 0, 0);
  image.pixels.fill(0);
  g.imageSmoothingEnabled = false;
  for (let level = 0; level < lane.shown; level++) {
    g.drawImage(image.canvas, 0, level, width, 1, timeline.gutter, top + LANE_HEAD + level * ROW, width, ROW - 2);
  }
}

function drawLaneRow(view, layer, row, y, sums, labelled) {
  const { g } = view, { gutter } = timeline;
  const { exit } = layer;
  const end = layer.start[row + 1];
  let k = firstInRow(layer, row, view.start);
  const perPixel = 1 / view.scale;
  let short = false;
  while (k < end) {
    const i = layer.call[k];
    const from = calls.entry[i];
    if (from > view.end) break;
    const x0 = Math.max(view.x(from), gutter - 2), x1 = Math.min(view.x(calls.exit[i]), view.right + 2);
    const wide = x1 - x0;
    if (wide >= 1.5) {
      g.fillStyle = palette[calls.fn[i]];
      g.fillRect(x0, y, Math.max(wide - 0.6, 1), ROW - 2);
      if (labelled && wide > 26) view.labels.push([fnName(calls.fn[i]), x0 + 4, y + ROW / 2 - 0.5, wide - 8]);
      k++;
    } else {
      const pixel = Math.floor(x0) - gutter;
      const next = firstExitAfter(exit, k + 1, end, view.start + (pixel + 1) * perPixel);
      if (pixel >= 0) addPixel(layer, k, next, sums, 4 * pixel);
      short = true;
      k = next;
    }
  }
  return short;
}

const BUCKET = 32;
const scratch = { sums: new Float32Array(0), canvas: null, data: null, pixels: null };

function pixelSums(width) {
  if (scratch.sums.length !== 4 * width) scratch.sums = new Float32Array(4 * width);
  return scratch.sums;
}

function pixelImage(width, height) {
  const canvas = (scratch.canvas ||= document.createElement("canvas"));
  if (canvas.width !== width || canvas.height < height || !scratch.data) {
    canvas.width = width;
    canvas.height = Math.max(height, canvas.height);
    scratch.context = canvas.getContext("2d");
    scratch.data = scratch.context.createImageData(width, canvas.height);
    scratch.pixels = new Uint32Array(scratch.data.data.buffer);
  }
  return scratch;
}

// Add the calls from `from` on to the sums of a pixel: time, and the colours by time.
function addPixel(layer, from, to, sums, at) {
  const buckets = (layer.buckets ||= fillBuckets(layer));
  let k = from;
  while (k < to) {
    if (k % BUCKET === 0 && k + BUCKET <= to) {
      const b = (k / BUCKET) * 4;
      for (let c = 0; c < 4; c++) sums[at + c] += buckets[b + c];
      k += BUCKET;
    } else {
      addColour(sums, at, layer.call[k++]);
    }
  }
}

function addColour(sums, at, i) {
  const time = calls.wall[i] || 0.5, colour = shades[calls.fn[i]];
  sums[at] += time;
  sums[at + 1] += time * (colour >> 16);
  sums[at + 2] += time * ((colour >> 8) & 255);
  sums[at + 3] += time * (colour & 255);
}

function fillBuckets(layer) {
  const buckets = new Float32Array(4 * Math.ceil(layer.call.length / BUCKET));
  for (let k = 0; k < layer.call.length; k++) addColour(buckets, 4 * Math.floor(k / BUCKET), layer.call[k]);
  return buckets;
}

function shadePixels(sums, pixels, at, width, scale) {
  for (let x = 0; x < width; x++) {
    const time = sums[4 * x];
    if (!time) continue;
    const strength = Math.round(255 * (0.3 + 0.7 * Math.min(1, time * scale)));
    pixels[at + x] = (strength << 24) | ((sums[4 * x + 3] / time) << 16) | ((sums[4 * x + 2] / time) << 8) | (sums[4 * x + 1] / time);
  }
}

function drawLabel(g, text, x, y, room) {
  const most = Math.floor(room / timeline.charWidth);
  if (most < 2) return;
  g.fillStyle = colours.flameInk;
  g.fillText(text.length <= most ? text : text.slice(0, most - 1) + "\u2026", x, y);
}

// Where a context does not run, what waits is pale with a line through it; where it runs a line at
// the lane's top says so.
function drawAway(view, lane, top) {
  const { g } = view;
  const edges = lane.slices;
  const from = 2 * firstWhere(0, edges.length / 2, (k) => edges[2 * k + 1] > view.start);
  let at = timeline.gutter;
  const on = [], off = [];
  for (let k = from; k < edges.length && edges[k] < view.end; k += 2) {
    const x0 = view.x(edges[k]), x1 = view.x(edges[k + 1]);
    if (x1 < at) continue;
    if (x0 - at >= 1) off.push(at, x0);
    on.push(Math.max(x0, at), x1);
    at = Math.max(at, x1);
  }
  if (view.right - at >= 1) off.push(at, view.right);
  g.fillStyle = colours.card;
  g.globalAlpha = 0.62;
  for (let k = 0; k < off.length; k += 2) g.fillRect(off[k], top, off[k + 1] - off[k], lane.height - 2);
  g.globalAlpha = 1;
  g.fillStyle = colours.wait;
  for (let k = 0; k < off.length; k += 2) {
    const [x0, x1] = [off[k], off[k + 1]];
    if (x1 - x0 < 4) continue;
    const middle = timeline.timeAt((x0 + x1) / 2);
    for (let level = 0; level < lane.shown; level++) {
      const i = callAt(lane.row + level, middle, 0);
      if (i < 0) continue;
      g.fillRect(x0, top + LANE_HEAD + level * ROW + ROW - 4, x1 - x0, 2);
    }
  }
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
    const level = Math.max(0, marks.level[i] - 1);
    if (x - last < 2 || level >= lane.shown) continue;
    last = x;
    const y = top + LANE_HEAD + level * ROW;
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
  const { g } = view, { gutter } = timeline;
  const lane = lanes.of.get(calls.context[i]);
  if (lane.hidden) return;
  const x0 = Math.max(view.x(calls.entry[i]), gutter - 3), x1 = Math.min(view.x(calls.exit[i]), view.right + 3);
  if (x1 < gutter || x0 > view.right) return;
  const y = AXIS + lane.y - timeline.scroll + LANE_HEAD + Math.min(calls.level[i], lane.shown - 1) * ROW;
  g.strokeStyle = colours.accent;
  g.lineWidth = 2;
  g.strokeRect(x0 - 1, y - 1, Math.max(3, x1 - x0 + 1), ROW);
  g.globalAlpha = 0.07;
  g.fillStyle = colours.accent;
  g.fillRect(x0, AXIS, Math.max(1, x1 - x0), timeline.height);
  g.globalAlpha = 1;
}

// The chosen range: what is outside is washed out; its two edges, and the time between them.
function drawRange(view) {
  if (!range.on) return;
  const { g } = view, { gutter } = timeline;
  const x0 = Math.max(view.x(range.from), gutter), x1 = Math.min(view.x(range.to), view.right);
  g.fillStyle = colours.page;
  g.globalAlpha = 0.55;
  g.fillRect(gutter, AXIS, Math.max(0, Math.min(x0, view.right) - gutter), timeline.height);
  g.fillRect(Math.max(x1, gutter), AXIS, Math.max(0, view.right - Math.max(x1, gutter)), timeline.height);
  g.globalAlpha = 0.12;
  g.fillStyle = colours.accent;
  if (x1 > x0) g.fillRect(x0, 0, x1 - x0, AXIS);
  g.globalAlpha = 1;
  for (const t of [range.from, range.to]) {
    const x = Math.round(view.x(t));
    if (x >= gutter - 1 && x <= view.right + 1) g.fillRect(x - 1, 0, 2, timeline.height);
  }
  const text = span(range.to - range.from), room = text.length * timeline.charWidth;
  if (x1 - x0 > room + 8) {
    g.fillStyle = colours.card;
    g.fillRect((x0 + x1 - room) / 2 - 4, 3, room + 8, AXIS - 6);
    g.fillStyle = colours.accent;
    g.fillText(text, (x0 + x1 - room) / 2, AXIS / 2);
  }
}
