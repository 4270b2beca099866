// What the timeline draws: a lane a context, a row a level, and in each row its calls in order.
//
// Calls of one row do not overlap, so what is in sight is found by halving, and what is too short
// to be seen is stepped over a pixel at a time: a frame costs the pixels, not the calls.
const ROW = 17, LANE_HEAD = 7, LANE_GAP = 6;
const lanes = [];
const rows = { start: null, call: null, exit: null };

function shapeLanes() {
  const interrupts = D.functions.some((f) => f.interrupt);
  const depth = new Map();
  const tops = interrupts ? interruptLevels() : null;
  const grow = (context, level) => { if (level > (depth.get(context) ?? -1)) depth.set(context, level); };
  for (let i = 0; i < slices.count; i++) grow(slices.context[i], 0);
  for (let i = 0; i < calls.count; i++) grow(calls.context[i], calls.level[i]);
  for (let i = 0; i < marks.count; i++) grow(marks.context[i], Math.max(0, marks.level[i] - 1));
  let y = 0, row = 0;
  const add = (context, name, levels) => {
    lanes.push({ context, name, levels, y, row, height: LANE_HEAD + levels * ROW + LANE_GAP, slices: [], marks: [] });
    y += LANE_HEAD + levels * ROW + LANE_GAP;
    row += levels;
  };
  if (interrupts) add(-1, "interrupts", tops.most + 1);
  for (const context of [...depth.keys()].sort((a, b) => a - b)) add(context, contextName(context), depth.get(context) + 1);
  lanes.height = y;
  lanes.of = new Map(lanes.map((lane) => [lane.context, lane]));
  // Counting sort of the calls by row; they are in order of entry already.
  rows.start = new Uint32Array(row + 1);
  const rowOf = (i) => lanes.of.get(calls.context[i]).row + calls.level[i];
  for (let i = 0; i < calls.count; i++) rows.start[rowOf(i) + 1]++;
  const first = interrupts ? lanes[0] : null;
  if (first) for (const [, level] of tops.found) rows.start[first.row + level + 1]++;
  for (let r = 0; r < row; r++) rows.start[r + 1] += rows.start[r];
  rows.call = new Uint32Array(rows.start[row]);
  const next = rows.start.slice();
  for (let i = 0; i < calls.count; i++) rows.call[next[rowOf(i)]++] = i;
  if (first) for (const [i, level] of tops.found) rows.call[next[first.row + level]++] = i;
  rows.exit = Float64Array.from(rows.call, (i) => calls.exit[i]);
  for (let i = 0; i < slices.count; i++) {
    const end = i + 1 < slices.count ? slices.start[i + 1] : D.ledger.elapsed;
    lanes.of.get(slices.context[i]).slices.push(slices.start[i], end);
  }
  for (let i = 0; i < marks.count; i++) lanes.of.get(marks.context[i]).marks.push(i);
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
function firstExitAfter(from, to, time) {
  const exit = rows.exit;
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

const firstInRow = (row, time) => firstExitAfter(rows.start[row], rows.start[row + 1], time);

// The call at a point: `slack` is how far beside it a call may be, in ticks.
function callAt(row, time, slack) {
  const end = rows.start[row + 1];
  let best = -1, nearest = slack;
  for (let k = firstInRow(row, time - slack - 1e-9); k < end; k++) {
    const i = rows.call[k];
    if (calls.entry[i] > time + slack) break;
    const away = time < calls.entry[i] ? calls.entry[i] - time : time > calls.exit[i] ? time - calls.exit[i] : 0;
    if (away === 0 && calls.exit[i] > calls.entry[i]) return i;
    if (away <= nearest) { best = i; nearest = away; }
  }
  return best;
}
