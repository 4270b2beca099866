// The two inert blocks of the page: D is the JSON object, C its columns as typed arrays.
const D = JSON.parse(document.getElementById("data").textContent);
const C = {};
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

async function readColumns() {
  const text = document.getElementById("columns").textContent.trim();
  const binary = atob(text);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack the data (needs DecompressionStream: Chrome 80, Firefox 113, Safari 16.4)");
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 0;
  for (const [name, entry] of Object.entries(D.columns)) {
    C[name] = column(bytes, at, entry);
    at += entry.planes * entry.count;
  }
}

function column(bytes, at, { planes, count, delta, signed, array }) {
  const out = new ARRAYS[array](count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let plane = planes - 1; plane >= 0; plane--) value = value * 256 + bytes[at + plane * count + i];
    if (signed) value = value % 2 ? -(value + 1) / 2 : value / 2;
    out[i] = delta ? (sum += value) : value;
  }
  return out;
}

// The columns as the rest of the page uses them: times in ticks, rows -1 where there is none.
const ORPHAN = 8, OPEN = 4, UNWOUND = 2, RESUMED = 1;
const INLINE = 2, SWITCH_OUT = 3, SWITCH_IN = 4;
const calls = {}, marks = {}, slices = {};

function shapeColumns() {
  const n = C.entry.length;
  Object.assign(calls, { count: n, fn: C.function, entry: C.entry, level: C.level, context: C.context, flags: C.flags });
  calls.exit = new Float64Array(n);
  calls.elapsed = new Float64Array(n);
  calls.net = new Float64Array(n);
  calls.parent = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    calls.exit[i] = C.entry[i] + C.wall[i];
    calls.elapsed[i] = C.wall[i] - C.away[i];
    calls.net[i] = calls.elapsed[i] - C.inside[i];
    calls.parent[i] = C.parent[i] ? i - C.parent[i] : -1;
  }
  calls.wall = C.wall;
  const m = C.markTime.length;
  Object.assign(marks, {
    count: m, kind: C.markKind, name: C.markName, time: C.markTime, since: C.markSince, level: C.markLevel, context: C.markContext,
  });
  marks.parent = Int32Array.from(C.markParent, (p) => p - 1);
  Object.assign(slices, { count: C.sliceStart.length, start: C.sliceStart, context: C.sliceContext });
}
