// The paper's totals, and the ledger that they add up to as one bar.
function drawHeader() {
  const { elapsed, run, idle, net } = D.ledger;
  document.title = D.capture.split(/[\\/]/).pop() + " - kprof";
  $("capture").textContent = D.capture + (D.before ? "  after  " + D.before.capture : "");
  const seconds = (ticks) => {
    const whole = Math.floor(us(ticks) / 1e6);
    const rest = us(ticks) - whole * 1e6;
    return [`${whole} sec `, (WHOLE ? String(Math.round(rest)).padStart(6, "0") : rest.toFixed(3).padStart(10, "0")) + " us"];
  };
  const total = (label, ticks, colour, before, about) => {
    const [big, small] = seconds(ticks);
    const share = colour ? ` (${percent(ticks, elapsed)})` : "";
    const delta = before === undefined ? null : make("small", {}, ` was ${percent(before, D.before.ledger.elapsed)}`);
    return make("div", { class: "total" },
      make("span", { class: "label" }, colour ? make("i", { class: "swatch", style: `background:${colour}` }) : null, label),
      make("span", { class: "value" }, big, small, make("small", {}, share), delta),
      about ? make("span", { class: "label about" }, about) : null);
  };
  const was = (key) => (D.before ? D.before.ledger[key] : undefined);
  const parts = [
    total("Elapsed time", elapsed, ""),
    total("Accumulated run time", run, "var(--run)", was("run"), runParts()),
    total("Idle time", idle, "var(--idle)", was("idle")),
  ];
  $("totals").replaceChildren(...parts);
  const piece = (ticks, colour) => make("i", { style: `background:${colour};width:${(100 * ticks) / (elapsed || 1)}%` });
  $("ledger-bar").replaceChildren(piece(net, "var(--run)"), piece(run - net, "var(--unknown)"), piece(idle, "var(--idle)"));
  $("ledger-bar").setAttribute("aria-label", `run ${percent(run, elapsed)}, idle ${percent(idle, elapsed)}; ${runParts()}`);
  const odd = Object.entries(D.anomalies).filter(([, count]) => count).map(([what, count]) => `${count} ${what}`);
  $("said").textContent = [D.said, `${calls.count} calls`, `${D.contexts} task contexts`, ...odd].join("; ");
}

// What the run time is made of, in figures that add up to it.
function runParts() {
  const { net, unattributed, user } = D.ledger;
  const parts = [["in functions", net], ["unattributed, below the calls seen entering", unattributed], ["user", user || 0]];
  return parts.filter(([, ticks], at) => ticks || !at).map(([label, ticks]) => `${figure(ticks)} us ${label}`).join(" + ");
}
