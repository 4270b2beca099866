// The source of the selected function, with calls, net and max in the margin of each function.
const sourceByFunction = new Map();
let sourceShown = -1;

function setUpSource() {
  D.sources.forEach((source, index) => {
    for (const [fn, first, last] of source.lines) sourceByFunction.set(fn, { index, first, last, text: `${source.path}:${first}` });
  });
}

const sourceOf = (fn) => sourceByFunction.get(fn);

function showSource(fn) {
  const where = sourceOf(fn);
  const section = $("source-section");
  section.hidden = !where || !D.sources[where.index].text;
  if (section.hidden) return;
  const card = $("source-card");
  if (sourceShown !== where.index) fillSource(where.index);
  sourceShown = where.index;
  card.querySelectorAll(".here").forEach((line) => line.classList.remove("here"));
  const lines = card.children;
  for (let k = where.first; k <= where.last && k < lines.length; k++) lines[k].classList.add("here");
  if (lines[where.first]) card.scrollTop = Math.max(0, lines[where.first].offsetTop - 60);
  $("source-path").textContent = where.text;
}

function fillSource(index) {
  const { text, lines } = D.sources[index];
  const starts = new Map(lines.map(([fn, first]) => [first, fn]));
  const row = (cells, code, kind) => make("div", { class: kind }, ...cells.map((cell) => make("span", {}, cell)), code);
  const all = text.split("\n");
  if (all[all.length - 1] === "") all.pop();
  $("source-card").replaceChildren(row(["# calls", "net us", "max us", "line"], "", "titles"), ...all.map((code, k) => {
    const f = starts.has(k + 1) ? figures[starts.get(k + 1)] : null;
    const cells = f ? [group(String(f.count)), figure(f.net), figure(f.max)] : ["", "", ""];
    return row([...cells, String(k + 1)], code.replace(/\r$/, ""), f ? "of" : "");
  }));
}
