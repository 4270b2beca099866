// The inert blocks of the page: D is the JSON object, C its columns as typed arrays.
const D = JSON.parse(document.getElementById("data").textContent);
const C = {};
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

// The columns lie in one deflate stream, piece after piece (see columns.py).
async function readColumns() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack the data (needs DecompressionStream: Chrome 80, Firefox 113, Safari 16.4)");
  }
  const unpack = new DecompressionStream("deflate");
  const writing = feed(unpack.writable.getWriter());
  const take = taker(unpack.readable.getReader());
  const columns = Object.entries(D.columns).map(([name, entry]) => ({ ...entry, name, at: 0, sum: 0, values: new ARRAYS[entry.array](entry.count) }));
  for (const column of columns) C[column.name] = column.values;
  for (const [place, count, planes, signed] of D.pieces) {
    const column = columns[place];
    fill(column, count, planes, signed, planes * count ? await take(planes * count) : null);
    column.at += count;
  }
  await writing;
}

async function feed(writer) {
  for (const element of document.querySelectorAll("script.columns")) {
    const binary = atob(element.textContent.trim());
    const packed = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
    await writer.write(packed);
    element.remove();
  }
  await writer.close();
}

// A function that gives the next `length` bytes of a stream.
function taker(reader) {
  let held = new Uint8Array(0), at = 0;
  return async (length) => {
    const out = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      if (at === held.length) {
        const next = await reader.read();
        if (next.done) throw new Error("its data are cut short; expected the whole file");
        [held, at] = [next.value, 0];
      }
      const part = held.subarray(at, at + length - done);
      out.set(part, done);
      done += part.length;
      at += part.length;
    }
    return out;
  };
}

function fill(column, count, planes, signed, bytes) {
  const { values, delta, by, at } = column;
  const places = by ? C[by] : null;
  let sum = column.sum;
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let plane = planes - 1; plane >= 0; plane--) value = value * 256 + bytes[plane * count + i];
    if (signed) value = value % 2 ? -(value + 1) / 2 : value / 2;
    if (delta) value = sum += value;
    values[places ? places[at + i] : at + i] = value;
  }
  column.sum = sum;
}

// The columns as the rest of the page uses them: times in ticks, rows -1 where there is none.
const ORPHAN = 8, OPEN = 4, UNWOUND = 2, RESUMED = 1, INNER = 16;
const calls = {}, marks = {}, slices = {};

function shapeColumns() {
  const n = C.exit.length;
  Object.assign(calls, { count: n, fn: C.function, exit: C.exit, wall: C.wall, level: C.level, context: C.context, flags: C.flags });
  calls.entry = new Float64Array(n);
  calls.elapsed = new Float64Array(n);
  calls.net = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    calls.entry[i] = C.exit[i] - C.wall[i];
    calls.elapsed[i] = C.wall[i] - C.away[i];
    calls.net[i] = calls.elapsed[i] - C.inside[i];
  }
  calls.parent = parents();
  Object.assign(marks, {
    count: C.markTime.length, name: C.markName, time: C.markTime, since: C.markSince, level: C.markLevel, context: C.markContext,
  });
  marks.parent = Int32Array.from(C.markParent, (p) => p - 1);
  Object.assign(slices, { count: C.sliceStart.length, start: C.sliceStart, context: C.sliceContext });
}

// Who called each call: the last of its context that began before it and ended after it. Backwards
// in the order in which they ended, what is above the caller on the context's stack began later.
function parents() {
  const up = new Int32Array(calls.count);
  const top = [];
  for (let k = calls.count - 1; k >= 0; k--) {
    const i = C.call[k], context = calls.context[i];
    let above = top[context] ?? -1;
    while (above > i) above = up[above];
    up[i] = above;
    top[context] = i;
  }
  delete C.call;
  return up;
}
