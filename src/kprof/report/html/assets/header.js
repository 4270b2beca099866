// The paper's totals, and the ledger that they add up to as one bar.
function drawHeader() {
  const { elapsed, run, idle, unattributed, net } = D.ledger;
  document.title = D.capture.split(/[\\/]/).pop() + " - kprof";
  $("capture").textContent = D.capture + (D.before ? "  after  " + D.before.capture : "");
  const seconds = (ticks) => {
    const whole = Math.floor(us(ticks) / 1e6);
    const rest = us(ticks) - whole * 1e6;
    return [`${whole} sec `, (WHOLE ? String(Math.round(rest)).padStart(6, "0") : rest.toFixed(3).padStart(10, "0")) + " us"];
  };
  const total = (label, ticks, colour, before) => {
    const [big, small] = seconds(ticks);
    const share = colour ? ` (${percent(ticks, elapsed)})` : "";
    const delta = before === undefined ? null : make("small", {}, ` was ${percent(before, D.before.ledger.elapsed)}`);
    return make("div", { class: "total" },
      make("span", { class: "label" }, colour ? make("i", { class: "swatch", style: `background:${colour}` }) : null, label),
      make("span", { class: "value" }, big, small, make("small", {}, share), delta));
  };
  const was = (key) => (D.before ? D.before.ledger[key] : undefined);
  const parts = [
    total("Elapsed time", elapsed, ""),
    total("Accumulated run time", run, "var(--run)", was("run")),
    total("Idle time", idle, "var(--idle)", was("idle")),
  ];
  if (unattributed) parts.push(total("Unattributed, below the calls seen entering", unattributed, "var(--unknown)"));
  $("totals").replaceChildren(...parts);
  const piece = (ticks, colour) => make("i", { style: `background:${colour};width:${(100 * ticks) / (elapsed || 1)}%` });
  $("ledger-bar").replaceChildren(piece(net, "var(--run)"), piece(unattributed, "var(--unknown)"), piece(idle, "var(--idle)"));
  $("ledger-bar").setAttribute("aria-label", `run ${percent(run, elapsed)}, idle ${percent(idle, elapsed)}`);
  const odd = Object.entries(D.anomalies).filter(([, count]) => count).map(([what, count]) => `${count} ${what}`);
  $("said").textContent = [D.said, `${calls.count} calls`, `${D.contexts} task contexts`, ...odd].join("; ");
}
