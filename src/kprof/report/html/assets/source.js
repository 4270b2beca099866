// The source of the selected function, with calls, net and max in the margin of each function.
// Functions that begin on one line have a row each with their names, above it.
const sourceByFunction = new Map();
let sourceRows = [];
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
  sourceRows.slice(where.first - 1, where.last).forEach((line) => line.classList.add("here"));
  const begin = sourceRows[where.first - 1];
  if (begin) card.scrollTop = Math.max(0, begin.offsetTop - 60);
  $("source-path").textContent = where.text;
}

function fillSource(index) {
  const { text, lines } = D.sources[index];
  const starts = new Map();
  for (const [fn, first] of lines) starts.set(first, [...(starts.get(first) || []), fn]);
  const row = (cells, code, kind) => make("div", { class: kind }, ...cells.map((cell) => make("span", {}, cell)), code);
  const all = text.split("\n");
  if (all[all.length - 1] === "") all.pop();
  const rows = [row(["# calls", "net us", "max us", "line"], "", "titles")];
  sourceRows = all.map((code, k) => {
    const here = (starts.get(k + 1) || []).map((fn) => [fn, figures[fn]]);
    const cells = ([, f]) => f ? [group(String(f.count)), figure(f.net), figure(f.max)] : ["", "", ""];
    const alone = here.length === 1 ? here[0] : [];
    if (here.length > 1) rows.push(...here.filter(([, f]) => f).map((one) => row([...cells(one), ""], fnName(one[0]) + ":", "of")));
    rows.push(row([...cells(alone), String(k + 1)], code.replace(/\r$/, ""), alone[1] ? "of" : ""));
    return rows[rows.length - 1];
  });
  $("source-card").replaceChildren(...rows);
}
