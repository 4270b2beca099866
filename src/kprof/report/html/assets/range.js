// The chosen range of time, and the figures of it.
//
// Elapsed and net are the time in the range: of a call that reaches over an edge, its part. Calls,
// max, avg, min, distributions and worst calls are those of calls that began in it, as `-r` has
// them. So net, idle and unattributed time add up to the length of the range.
const range = { from: 0, to: 0, on: false };
const whole = { figures: null, ledger: null };
let ledger = D.ledger;

function setRange(from, to) {
  if (to <= from) return clearRange();
  Object.assign(range, { from, to, on: true });
  figures = rangeFigures(from, to);
  ledger = rangeLedger(from, to);
  return tell("range");
}

function clearRange() {
  Object.assign(range, { from: 0, to: 0, on: false });
  figures = whole.figures;
  ledger = D.ledger;
  tell("range");
}

// Put an edge of the range at the selected call's, or at what the pointer is at.
function setEdge(edge) {
  const i = state.call;
  const here = i >= 0 ? (edge === "from" ? calls.entry[i] : calls.exit[i]) : snapped(lastPlace.x, lastPlace.y);
  const other = edge === "from" ? (range.on ? range.to : timeline.all) : range.on ? range.from : 0;
  setRange(Math.min(here, other), Math.max(here, other));
}

const isBooked = (fn) => D.functions[fn].kind === "idle" || D.functions[fn].kind === "user";

// Calls by their numbers: the first that began at a time or later, the first after it.
const firstFrom = (time) => firstWhere(0, calls.count, (i) => calls.entry[i] >= time);
const firstAfter = (time) => firstWhere(0, calls.count, (i) => calls.entry[i] > time);

// The calls that are open at a time and began before it.
function openAt(time) {
  const open = [];
  for (const lane of lanes) {
    if (lane.context < 0) continue;
    for (let level = 0; level < lane.levels; level++) {
      const row = lane.row + level;
      for (let k = firstInRow(everyCall, row, time); k < everyCall.start[row + 1]; k++) {
        const i = everyCall.call[k];
        if (calls.entry[i] >= time) break;
        open.push(i);
        if (level < lane.levels - 1) break;  // the last row holds all that are deeper
      }
    }
  }
  return open.sort((a, b) => a - b);
}

// Each call that has time in the range: then(row, elapsed in it, began in it).
function eachIn(from, to, then) {
  const inside = (i) => ranBetween(calls.context[i], Math.max(from, calls.entry[i]), Math.min(to, calls.exit[i]));
  for (const i of openAt(from)) then(i, inside(i), false);
  const end = firstAfter(to);
  for (let i = firstFrom(from); i < end; i++) then(i, calls.exit[i] <= to ? calls.elapsed[i] : inside(i), true);
}

// The net time of each call in the range: then(row, net, elapsed, began in it).
function eachNet(from, to, then) {
  const cut = new Map();  // calls whose net time in the range is not their net time
  eachIn(from, to, (i, elapsed, began) => {
    if (!began || calls.exit[i] > to) cut.set(i, elapsed);
    const up = calls.parent[i];
    if (cut.has(up)) cut.set(up, cut.get(up) - elapsed);
  });
  eachIn(from, to, (i, elapsed, began) => {
    const net = !cut.has(i) ? calls.net[i] : isBooked(calls.fn[i]) ? 0 : cut.get(i);
    then(i, net, elapsed, began);
  });
}

function rangeFigures(from, to) {
  const found = [], sums = [];
  eachNet(from, to, (i, net, elapsed, began) => {
    const fn = calls.fn[i], flags = calls.flags[i];
    const f = (found[fn] ||= { fn, count: 0, elapsed: 0, net: 0, wall: 0, max: null, avg: null, min: null });
    f.net += net;
    if (flags & ORPHAN) {
      f.elapsed += net;
      f.wall += net;
    } else if (!(flags & INNER)) {
      f.elapsed += elapsed;
      f.wall += Math.min(to, calls.exit[i]) - Math.max(from, calls.entry[i]);
    }
    if (!began || flags & ORPHAN) return;
    f.count++;
    if (flags & OPEN) return;
    const own = calls.net[i];
    const sum = (sums[fn] ||= [0, 0]);
    sum[0] += own;
    sum[1]++;
    f.max = f.max === null ? own : Math.max(f.max, own);
    f.min = f.min === null ? own : Math.min(f.min, own);
    f.avg = Math.trunc(sum[0] / sum[1]);
  });
  return found;
}

// Where the time of the range went. What filters left out cannot be told from idle time.
function rangeLedger(from, to) {
  const elapsed = to - from;
  let net = 0, system = 0, tasks = 0, user = 0, booked = 0;
  for (const lane of lanes) {
    const ran = lane.context < 0 ? 0 : ranBetween(lane.context, from, to);
    if (lane.context === 0) system = ran;
    else tasks += ran;
  }
  const below = new Map();
  eachIn(from, to, (i, time) => {
    if (calls.parent[i] < 0) {
      if (calls.context[i] === 0) system -= time;
      else tasks -= time;
    }
    if (isBooked(calls.fn[i])) below.set(i, time);
    const up = calls.parent[i];
    if (below.has(up)) below.set(up, below.get(up) - time);
  });
  for (const [i, time] of below) {
    if (D.functions[calls.fn[i]].kind === "user") user += time;
    else booked += time;
  }
  eachNet(from, to, (i, own) => { net += own; });
  const idle = system + booked;
  return { elapsed, net, idle, user, unattributed: tasks, run: elapsed - idle, left_out: 0 };
}

// The paths of all calls, by number, made when first asked for.
let pathOfCall = null;
const paths = { fn: [], parent: [] };

function shapePaths() {
  pathOfCall = new Int32Array(calls.count);
  const made = new Map(), functions = D.functions.length;
  for (let i = 0; i < calls.count; i++) {
    const up = calls.parent[i] < 0 ? -1 : pathOfCall[calls.parent[i]];
    const key = (up + 1) * functions + calls.fn[i];
    let path = made.get(key);
    if (path === undefined) {
      made.set(key, (path = paths.fn.length));
      paths.fn.push(calls.fn[i]);
      paths.parent.push(up);
    }
    pathOfCall[i] = path;
  }
}

// The call tree of the range, as `pathTree` has that of the run.
function rangeTree(from, to) {
  if (!pathOfCall) shapePaths();
  const net = new Map(), count = new Map();
  const touch = (path) => { for (let at = path; at >= 0 && !net.has(at); at = paths.parent[at]) net.set(at, 0); };
  eachNet(from, to, (i, own, elapsed, began) => {
    const path = pathOfCall[i];
    touch(path);
    net.set(path, net.get(path) + own);
    if (began && !(calls.flags[i] & ORPHAN)) count.set(path, (count.get(path) || 0) + 1);
  });
  const order = [...net.keys()].sort((a, b) => a - b);
  const number = new Map(order.map((path, at) => [path, at]));
  return {
    fn: order.map((path) => paths.fn[path]), parent: order.map((path) => number.get(paths.parent[path]) ?? -1),
    calls: order.map((path) => count.get(path) || 0), net: order.map((path) => net.get(path)), leftOut: 0,
  };
}

// The calls of a function that began in the range, of all where there is none.
function callsInRange(fn) {
  const mine = callsOf(fn);
  if (!range.on) return mine;
  const first = firstWhere(0, mine.length, (k) => calls.entry[mine[k]] >= range.from);
  return mine.subarray(first, firstWhere(first, mine.length, (k) => calls.entry[mine[k]] > range.to));
}

function setUpRange() {
  whole.figures = figures;
  when("range", drawRangeBar);
  drawRangeBar();
}

function drawRangeBar() {
  $("range-bar").hidden = !range.on;
  $("timeline-hint").hidden = range.on;
  if (!range.on) return;
  const { elapsed, net, idle, unattributed, user } = ledger;
  const part = (label, ticks) => (ticks ? [`${label} ${percent(ticks, elapsed)}`] : []);
  const other = D.left ? part("idle and left out", elapsed - net) : [...part("unattributed", unattributed), ...part("user", user), ...part("idle", idle)];
  $("range-text").textContent = `${stamp(range.from)} to ${stamp(range.to)}: ${span(elapsed)}; ` + [...part("functions", net), ...other].join(", ");
}
