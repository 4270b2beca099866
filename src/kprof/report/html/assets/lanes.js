// What the timeline draws: a lane a context, a row a level, and in each row its calls in order.
//
// Calls of one row do not overlap, so what is in sight is found by halving, and what is too short
// to be seen is summed up a pixel at a time: a frame costs the pixels, not the calls. A layer is a
// set of calls by rows: all of them, or those that are marked.
const ROW = 17, LANE_HEAD = 7, LANE_GAP = 6;
const lanes = [];
let everyCall = null;

// A layer of the calls for which `rowOf` is not -1; a call may stand in the interrupts' rows too.
function makeLayer(count, list, rowOf, extra) {
  const start = new Uint32Array(rowCount + 1);
  const each = (then) => { if (list) for (const i of list) then(i); else for (let i = 0; i < count; i++) then(i); };
  each((i) => { start[rowOf(i) + 1]++; });
  for (const [, row] of extra) start[row + 1]++;
  for (let r = 0; r < rowCount; r++) start[r + 1] += start[r];
  const call = new Uint32Array(start[rowCount]);
  const next = start.slice();
  each((i) => { call[next[rowOf(i)]++] = i; });
  for (const [i, row] of extra) call[next[row]++] = i;
  return { start, call, exit: Float64Array.from(call, (i) => calls.exit[i]), buckets: null };
}

let rowCount = 0, interruptRows = [];
const rowOfCall = (i) => lanes.of.get(calls.context[i]).row + calls.level[i];

function shapeLanes() {
  const interrupts = D.functions.some((f) => f.interrupt);
  const depth = new Map();
  const tops = interrupts ? interruptLevels() : null;
  const grow = (context, level) => { if (level > (depth.get(context) ?? -1)) depth.set(context, level); };
  for (let i = 0; i < slices.count; i++) grow(slices.context[i], 0);
  for (let i = 0; i < calls.count; i++) grow(calls.context[i], calls.level[i]);
  for (let i = 0; i < marks.count; i++) grow(marks.context[i], Math.max(0, marks.level[i] - 1));
  const add = (context, levels) => {
    lanes.push({
      context, levels, shown: levels, row: rowCount, y: 0, height: 0, busy: 0, hidden: false, pinned: context < 0,
      weight: new Float64Array(levels), slices: [], ran: [0], marks: [],
    });
    rowCount += levels;
  };
  if (interrupts) add(-1, tops.most + 1);
  for (const context of [...depth.keys()].sort((a, b) => a - b)) add(context, depth.get(context) + 1);
  lanes.of = new Map(lanes.map((lane) => [lane.context, lane]));
  if (interrupts) interruptRows = tops.found.map(([i, level]) => [i, lanes[0].row + level]);
  everyCall = makeLayer(calls.count, null, rowOfCall, interruptRows);
  for (let i = 0; i < slices.count; i++) {
    const end = i + 1 < slices.count ? slices.start[i + 1] : D.ledger.elapsed;
    const lane = lanes.of.get(slices.context[i]);
    lane.slices.push(slices.start[i], end);
    lane.ran.push(lane.ran[lane.ran.length - 1] + end - slices.start[i]);
  }
  for (let i = 0; i < marks.count; i++) lanes.of.get(marks.context[i]).marks.push(i);
  weighLanes();
}

// How much of the run each lane worked, at each of its levels, and what its lowest calls are called.
function weighLanes() {
  for (let i = 0; i < calls.count; i++) lanes.of.get(calls.context[i]).weight[calls.level[i]] += calls.elapsed[i];
  for (const [i, row] of interruptRows) lanes[0].weight[row - lanes[0].row] += calls.elapsed[i];
  for (const lane of lanes) lane.busy = lane.context > 0 ? lane.ran[lane.ran.length - 1] : lane.weight[0];
  const longest = new Map();
  for (let i = 0; i < calls.count; i++) {
    if (calls.parent[i] >= 0) continue;
    const best = longest.get(calls.context[i]);
    if (best === undefined || calls.wall[i] > calls.wall[best]) longest.set(calls.context[i], i);
  }
  for (const [context, i] of longest) if (context) lowestOf.set(context, fnName(calls.fn[i]));
}

// The lanes from the top: what is pinned, then the busiest first; at the start as many rows of each
// as there is room for, those of the most time.
function placeLanes() {
  const order = lanes.filter((lane) => !lane.hidden);
  order.sort((a, b) => b.pinned - a.pinned || (b.context < 0) - (a.context < 0) || b.busy - a.busy || a.context - b.context);
  let y = 0;
  for (const lane of lanes) lane.y = -1;
  for (const lane of order) {
    lane.y = y;
    lane.height = LANE_HEAD + lane.shown * ROW + LANE_GAP;
    y += lane.height;
  }
  lanes.height = y;
  lanes.order = order;
}

function fitLanes(height) {
  let room = Math.floor((height - lanes.length * (LANE_HEAD + ROW + LANE_GAP)) / ROW);
  for (const lane of lanes) lane.shown = 1;
  const more = lanes.flatMap((lane) => [...lane.weight.keys()].slice(1).map((level) => [lane, level]));
  more.sort(([a, i], [b, j]) => b.weight[j] - a.weight[i] || i - j);
  for (const [lane, level] of more) if (lane.shown === level && room-- > 0) lane.shown++;
}

// The calls of interrupt functions, each with how many interrupts it interrupted.
function interruptLevels() {
  const found = [];
  const level = new Int16Array(calls.count).fill(-1);
  let most = 0;
  for (let i = 0; i < calls.count; i++) {
    const up = calls.parent[i];
    const above = up >= 0 ? level[up] : -1;
    level[i] = above;
    if (D.functions[calls.fn[i]].interrupt && !(calls.flags[i] & ORPHAN)) {
      level[i] = Math.min(above + 1, 15);
      most = Math.max(most, level[i]);
      found.push([i, level[i]]);
    }
  }
  return { found, most };
}

// How long a context ran between two times.
function ranBetween(context, from, to) {
  const lane = lanes.of.get(context);
  return lane ? ranUpTo(lane, to) - ranUpTo(lane, from) : 0;
}

function ranUpTo({ slices: edges, ran }, time) {
  const k = firstWhere(0, edges.length / 2, (at) => edges[2 * at + 1] > time);
  return ran[k] + (2 * k < edges.length ? Math.max(0, time - edges[2 * k]) : 0);
}

// The first index in [from, to) for which `late` holds; to where there is none. Gallops, then halves.
function firstWhere(from, to, late) {
  let step = 1, low = from, high = from;
  while (high < to && !late(high)) {
    low = high + 1;
    high = Math.min(to, high + step);
    step *= 2;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if (late(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The same for what a frame asks most: the first place of a row that exits after `time`.
function firstExitAfter(exit, from, to, time) {
  let step = 1, low = from, high = from;
  while (high < to && exit[high] <= time) {
    low = high + 1;
    high = Math.min(to, high + step);
    step *= 2;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if (exit[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

const firstInRow = (layer, row, time) => firstExitAfter(layer.exit, layer.start[row], layer.start[row + 1], time);

// The call at a point: `slack` is how far beside it a call may be, in ticks.
function callAt(row, time, slack) {
  const end = everyCall.start[row + 1];
  let best = -1, nearest = slack;
  for (let k = firstInRow(everyCall, row, time - slack - 1e-9); k < end; k++) {
    const i = everyCall.call[k];
    if (calls.entry[i] > time + slack) break;
    const away = time < calls.entry[i] ? calls.entry[i] - time : time > calls.exit[i] ? time - calls.exit[i] : 0;
    if (away === 0 && calls.exit[i] > calls.entry[i]) return i;
    if (away <= nearest) { best = i; nearest = away; }
  }
  return best;
}

// The nearest edge of a call of a row to a time, or the time itself where none is within `slack`.
function edgeNear(row, time, slack) {
  const end = everyCall.start[row + 1];
  let best = time, nearest = slack;
  for (let k = Math.max(everyCall.start[row], firstInRow(everyCall, row, time - slack) - 1); k < end; k++) {
    const i = everyCall.call[k];
    if (calls.entry[i] > time + slack) break;
    for (const edge of [calls.entry[i], calls.exit[i]]) {
      if (Math.abs(edge - time) <= nearest) { best = edge; nearest = Math.abs(edge - time); }
    }
  }
  return best;
}

// The dialog where lanes are shown, hidden, pinned to the top and unfolded.
function setUpLanes() {
  $("lanes-button").addEventListener("click", () => { listLanes(); $("lanes").showModal(); });
  listLanes();
}

function listLanes() {
  const box = (label, checked, change) => {
    const input = make("input", { type: "checkbox", onchange: (event) => { change(event.target.checked); layOut(); } });
    input.checked = checked;
    return make("td", {}, make("label", {}, input, " " + label));
  };
  $("lanes-list").replaceChildren(...[...lanes].sort((a, b) => b.busy - a.busy).map((lane) => {
    const [name, about] = laneText(lane);
    return make("tr", { "data-context": lane.context }, make("th", { scope: "row" }, name), make("td", { class: "figures" }, about),
      box("show", !lane.hidden, (on) => { lane.hidden = !on; }), box("pin", lane.pinned, (on) => { lane.pinned = on; }),
      box(`all ${lane.levels} levels`, lane.shown === lane.levels, (on) => { lane.shown = on ? lane.levels : 1; }));
  }));
}
