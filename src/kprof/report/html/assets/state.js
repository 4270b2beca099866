// What is selected, and who wants to know: a function (`chosen`: by somebody), a call, a range of
// time, what is marked, what is searched, the theme.
const state = { fn: -1, call: -1, chosen: false };
const listeners = { fn: [], call: [], range: [], marked: [], search: [], theme: [] };
const when = (what, then) => listeners[what].push(then);
const tell = (what) => listeners[what].forEach((then) => then());

function selectFunction(fn, first) {
  if (fn === state.fn && state.chosen) return;
  state.fn = fn;
  state.chosen = !first;
  tell("fn");
}

// Select a call and its function; `show` moves the timeline to it.
function selectCall(call, show) {
  state.call = call;
  if (call >= 0) selectFunction(calls.fn[call]);
  tell("call");
  if (show && call >= 0) timeline.showCall(call);
}

// The figures of each function, by its number, and the rows of its calls in order of entry.
let figures = [];
let callRows = null;
let callStarts = null;

function shapeFunctions() {
  for (const [fn, count, elapsed, net, wall, max, avg, min] of D.figures) {
    figures[fn] = { fn, count, elapsed, net, wall, max, avg, min };
  }
  const functions = D.functions.length;
  callStarts = new Uint32Array(functions + 1);
  for (let i = 0; i < calls.count; i++) callStarts[calls.fn[i] + 1]++;
  for (let fn = 0; fn < functions; fn++) callStarts[fn + 1] += callStarts[fn];
  callRows = new Uint32Array(calls.count);
  const next = callStarts.slice();
  for (let i = 0; i < calls.count; i++) callRows[next[calls.fn[i]]++] = i;
}

const callsOf = (fn) => callRows.subarray(callStarts[fn], callStarts[fn + 1]);

// Children of a call: rows after it whose parent it is. One list for all calls, made when first asked.
let childStart = null;
let childRows = null;
function childrenOf(call) {
  if (!childStart) {
    childStart = new Uint32Array(calls.count + 1);
    for (let i = 0; i < calls.count; i++) if (calls.parent[i] >= 0) childStart[calls.parent[i] + 1]++;
    for (let i = 0; i < calls.count; i++) childStart[i + 1] += childStart[i];
    childRows = new Uint32Array(childStart[calls.count]);
    const next = childStart.slice();
    for (let i = 0; i < calls.count; i++) if (calls.parent[i] >= 0) childRows[next[calls.parent[i]]++] = i;
  }
  return childRows.subarray(childStart[call], childStart[call + 1]);
}

// A colour a function: hues of the golden angle in the order of net time, so that neighbours in the
// table differ most; the same in every part of the page.
const palette = [], shades = [];
function shapePalette() {
  const order = D.figures.slice().sort((a, b) => b[3] - a[3]).map((row) => row[0]);
  const known = new Set(order);
  D.functions.forEach((_, fn) => { if (!known.has(fn)) order.push(fn); });
  const dark = document.documentElement.dataset.theme === "dark";
  order.forEach((fn, rank) => {
    const hue = (40 + rank * 137.508) % 360;
    const chroma = rank < 12 ? 0.1 : rank < 26 ? 0.065 : 0.035;
    const light = dark ? 0.47 + 0.05 * (rank % 3) : 0.8 + 0.035 * (rank % 3);
    palette[fn] = plainColour(`oklch(${light} ${chroma} ${hue})`);
    shades[fn] = parseInt(palette[fn].slice(1), 16);
  });
}

// A colour as #rrggbb, which a canvas takes in quickest.
const dot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function plainColour(colour) {
  dot.fillStyle = colour;
  dot.fillRect(0, 0, 1, 1);
  const [r, g, b] = dot.getImageData(0, 0, 1, 1).data;
  return "#" + ((r << 16) | (g << 8) | b).toString(16).padStart(6, "0");
}

// Light or dark: what the system says until the button is pressed.
const darkMedia = matchMedia("(prefers-color-scheme: dark)");
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  shapePalette();
  tell("theme");
}
const flipTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
