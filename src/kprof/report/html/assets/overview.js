// The overview: how deep the stack was in each pixel of the whole run, and the window of the timeline.
function drawOverview() {
  const { width } = timeline;
  const height = 44, pixels = Math.max(1, Math.floor(width - timeline.gutter));
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
    if (tall) g.fillRect(timeline.gutter + x, height - 2 - tall, 1, tall);
  }
  timeline.overview = canvas;
}

function drawOverviewWindow() {
  const { start, end, width } = timeline;
  const height = 44;
  const g = fitCanvas($("overview"), width, height);
  if (timeline.overview && timeline.overview.width) g.drawImage(timeline.overview, 0, 0, width, height);
  const scale = (width - timeline.gutter) / (D.ledger.elapsed || 1);
  const x0 = timeline.gutter + start * scale, x1 = Math.max(x0 + 2, timeline.gutter + end * scale);
  g.fillStyle = colours.page;
  g.globalAlpha = 0.65;
  g.fillRect(timeline.gutter, 0, x0 - timeline.gutter, height);
  g.fillRect(x1, 0, width - x1, height);
  g.globalAlpha = 1;
  if (range.on) {
    g.fillStyle = colours.accent;
    g.globalAlpha = 0.25;
    g.fillRect(timeline.gutter + range.from * scale, 0, Math.max(2, (range.to - range.from) * scale), height);
    g.globalAlpha = 1;
  }
  g.strokeStyle = colours.accent;
  g.lineWidth = 1.5;
  g.strokeRect(x0 + 0.5, 1, x1 - x0 - 1, height - 2);
}
