// Small things that everything uses: elements made without markup, and how figures are written.
const $ = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else element.setAttribute(key, value);
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const US = D.usPerTick;
const WHOLE = US === 1;
const us = (ticks) => ticks * US;

function group(text) {
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

// Ticks as microseconds, the paper's unit.
function figure(ticks) {
  if (ticks === null || ticks === undefined) return "-";
  if (WHOLE) return group(String(Math.round(ticks)));
  const value = us(ticks);
  const whole = Math.trunc(value);
  const rest = Math.abs(value - whole).toFixed(3).slice(1).replace(/\.?0+$/, "");
  return group(String(whole)) + rest;
}

// One unit and one number of decimals for all times of a column: us, or ms where the longest is long.
function scaleOf(values) {
  const most = values.reduce((top, ticks) => Math.max(top, Math.abs(us(ticks ?? 0))), 0);
  const ms = most >= (WHOLE ? 1e9 : 1e5);
  const decimals = ms || !WHOLE ? 3 : 0;
  const text = (ticks) => {
    if (ticks === null || ticks === undefined) return "-";
    const [whole, rest] = (us(ticks) / (ms ? 1e3 : 1)).toFixed(decimals).split(".");
    return group(whole) + (rest ? "." + rest : "");
  };
  return { unit: ms ? "ms" : "us", text };
}

// A span for people: us, ms or s with three or four digits.
function span(ticks) {
  const value = us(ticks);
  const size = Math.abs(value);
  if (size >= 1e6) return (value / 1e6).toPrecision(4) + " s";
  if (size >= 1e4) return (value / 1e3).toPrecision(4) + " ms";
  return (Number.isInteger(value) ? value : Number(value.toPrecision(4))) + " us";
}

// The paper's time stamp, S:mmm uuu.
function stamp(ticks) {
  const value = us(ticks);
  const whole = Math.floor(value + 1e-9);
  const rest = WHOLE ? "" : (value - whole).toFixed(3).slice(1);
  const pad = (number) => String(number).padStart(3, "0");
  return `${Math.floor(whole / 1e6)}:${pad(Math.floor(whole / 1e3) % 1e3)} ${pad(whole % 1e3)}${rest}`;
}

function percent(part, whole) {
  return (whole ? (100 * part) / whole : 0).toFixed(2) + "%";
}

const fnName = (fn) => D.functions[fn].name;

// The tasks by their marks' names, else by the lowest call of the most time that was seen.
const lowestOf = new Map();
const taskName = (context) => D.tasks[context] ?? lowestOf.get(context) ?? "";

function contextName(context) {
  if (context === 0) return "system";
  const name = taskName(context);
  return `task ${context}${name ? ` (${name})` : ""}`;
}

// A row of exclusive choices that arrows move through.
function choice(box, options, chosen, onChange) {
  const buttons = options.map(([value, label, title]) =>
    make("button", { type: "button", role: "radio", "data-value": value, title: title || label, onclick: () => pick(value, true) }, label));
  function pick(value, tell) {
    for (const button of buttons) {
      const on = button.dataset.value === value;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    }
    if (tell) onChange(value);
  }
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
    buttons[next].focus();
    buttons[next].click();
  });
  box.replaceChildren(...buttons);
  pick(chosen, false);
  return pick;
}

const tip = $("tip");
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 16) + "px";
}
function hideTip() {
  tip.hidden = true;
}
