// The page of `stepcast sweep --html`: a map of two axes, and all points.
import * as Plot from "@observablehq/plot";
import { h, section } from "./dom.js";
import * as f from "./format.js";
import { responsive } from "./charts.js";
import { table } from "./table.js";

// Points as objects: at[i] is the value of axis i.
const pointsOf = ({ axes, points }) => points.map((p) => {
  const [outcome, step, tokens, mfu, memory] = p.slice(axes.length);
  return { at: p.slice(0, axes.length), outcome, step, tokens, mfu, memory };
});

// Whether steps differ in their tokens (options that leave the batch to the plan, or give it): then the
// shorter one may be the slower one, and tokens per second compare.
function unequal(points) {
  const tokens = points.filter((p) => p.outcome === "ok").map((p) => Math.round((p.tokens ?? 0) * p.step * 1e-6));
  return tokens.length > 0 && Math.min(...tokens) > 0 && tokens.some((n) => n !== tokens[0]);
}

export function sweepMap(sweep) {
  const { axes } = sweep, points = pointsOf(sweep), choice = { x: 0, y: Math.min(1, axes.length - 1) };
  const holder = h("div", {}), select = (which, label) => h("label", { class: "toggle" }, label,
    h("select", { onchange: (e) => { choice[which] = Number(e.target.value); draw(); } }, axes.map((name, i) => h("option", { value: i, selected: i === choice[which] }, name))));
  const draw = () => holder.replaceChildren(map(points, axes, choice));
  draw();
  return section("map", unequal(points) ? "Tokens per second by two options" : "Step time by two options",
    `The fastest of all points of a cell; an empty cell has none that runs.${unequal(points) ? " Steps differ in their tokens, so that tokens per second compare them." : ""}`,
    axes.length > 1 ? h("div", { class: "toolbar" }, select("x", "across"), select("y", "down")) : null, holder);
}

function map(points, axes, { x, y }) {
  const cells = new Map(), byTokens = unequal(points), slowness = (p) => (byTokens ? -p.tokens : p.step);
  for (const p of points.filter((q) => q.outcome === "ok")) {
    const key = `${p.at[x]},${p.at[y]}`, kept = cells.get(key);
    if (!kept || slowness(p) < slowness(kept)) cells.set(key, { ...p, x: p.at[x], y: axes.length > 1 ? p.at[y] : "" });
  }
  const rows = [...cells.values()], domain = (i) => [...new Set(points.map((p) => p.at[i]))], figures = rows.map((p) => (byTokens ? p.tokens : p.step));
  const down = axes.length > 1 ? domain(y) : [""];
  return responsive(`${byTokens ? "Tokens per second" : "Step time"} by ${axes[x]} and ${axes[y]}`, (width) => Plot.plot({ width: Math.min(width, 900), height: 70 + 34 * down.length, marginLeft: 70, marginBottom: 36, marginTop: 20, style: { background: "none", fontSize: "11px", overflow: "visible" },
    x: { label: `${axes[x]} →`, domain: domain(x), type: "band" }, y: { label: axes.length > 1 ? axes[y] : null, domain: down, type: "band" },
    color: { scheme: "YlGnBu", reverse: !byTokens, domain: byTokens ? [Math.min(...figures) / 1.1, Math.max(...figures)] : [Math.min(...figures), 1.1 * Math.max(...figures)] },
    marks: [Plot.cell(rows, { x: "x", y: "y", fill: byTokens ? "tokens" : "step", inset: 1, title: (p) => axes.map((name, i) => `${name} ${p.at[i]}`).join("\n") }),
      Plot.text(width / domain(x).length > 60 ? rows : [], { x: "x", y: "y", text: (p) => (byTokens ? `${f.count(p.tokens)}/s` : f.time(p.step)), fill: "#fff", stroke: "#1c2530", strokeWidth: 3, fontSize: 12 })] }));
}

export function sweepTable(sweep) {
  const rows = pointsOf(sweep), figure = (value, text) => (value == null ? "–" : text(value)), value = (v) => { const n = Number(v); return Number.isNaN(n) ? v : n; };
  return section("points", "All points", null, table({ id: "point-table", csv: "sweep.csv", caption: "All points, the fastest first", rows, limit: 50, search: "Search", sort: unequal(rows) ? { by: sweep.axes.length + 1, down: true } : { by: sweep.axes.length, down: false }, columns: [
    ...sweep.axes.map((name, i) => ({ title: name, value: (p) => value(p.at[i]), text: (p) => p.at[i] })),
    { title: "step", number: true, value: (p) => p.step ?? Infinity, text: (p) => figure(p.step, f.time) }, { title: "tokens/s", number: true, value: (p) => p.tokens ?? 0, text: (p) => figure(p.tokens, f.count) },
    { title: "MFU", number: true, value: (p) => p.mfu ?? 0, text: (p) => figure(p.mfu, f.share) }, { title: "memory", number: true, value: (p) => p.memory ?? 0, text: (p) => figure(p.memory, f.gib) },
    { title: "outcome", value: (p) => p.outcome }] }));
}
