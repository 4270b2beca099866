// The page draws itself; `data-ready` on the root says that it has.
async function main() {
  const before = performance.now();
  await readColumns();
  shapeColumns();
  shapeFunctions();
  setTheme(darkMedia.matches ? "dark" : "light");
  darkMedia.addEventListener("change", () => setTheme(darkMedia.matches ? "dark" : "light"));
  drawHeader();
  setUpSource();
  setUpTimeline();
  setUpLanes();
  setUpRange();
  setUpTable();
  setUpFunction();
  setUpFlame();
  setUpMarks();
  setUpKeys();
  drawFlame();
  when("theme", drawRows);
  when("theme", drawCall);
  if (table.rows.length) selectFunction(table.rows[0].fn, true);
  setUpLocation();
  document.documentElement.dataset.ready = String(Math.round(performance.now() - before));
}

main().catch((error) => {
  $("broken").hidden = false;
  $("broken").textContent = `This page cannot be drawn: ${error.message}.`;
  throw error;
});
