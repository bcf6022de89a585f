// The page of `stepcast plans --html`: plans by time and memory, and the best of each
// tensor and pipeline size.
import * as Plot from "@observablehq/plot";
import { h, section } from "./dom.js";
import * as f from "./format.js";
import { responsive } from "./charts.js";
import { copyButton } from "./save.js";
import { table } from "./table.js";

const GIB = 2 ** 30;
const cut = (p) => ["tp", "pp", "cp", "ep", "vpp"].filter((k) => p[k] > 1).map((k) => `${k} ${p[k]}`).join(" · ") || "data parallel only";
const machine = (p) => p.cluster ?? `${f.count(p.gpus)} GPUs`;
const common = (width) => ({ width, marginLeft: 52, marginBottom: 36, marginTop: 20, style: { background: "none", fontSize: "11px", overflow: "visible" } });

export function plansHeadline({ search: s }) {
  const [best] = s.plans, card = (title, value, more, id) => h("div", { class: `card ${id === "best-step" ? "first" : ""}` }, h("dt", {}, title), h("dd", { id }, value), h("dd", { class: "more-text" }, more));
  const cards = [card("Best step", f.time(best.step_time_us), cut(best), "best-step"), card("Model FLOP/s use", f.share(best.mfu), `${f.count(best.gpus)} GPUs, ${best.cluster}`, "best-mfu"),
    card("Memory", f.gib(best.memory_bytes), `of ${f.gib(best.capacity_bytes)}`, "best-memory"), card("Plans", f.count(s.tried), `${f.count(s.fit)} fit, ${f.count(s.simulated)} simulated`, "tried")];
  if (best.days) cards.push(card("Run", `${best.days.toPrecision(4)} days`, best.cost_usd ? `${f.large(best.cost_usd)} $` : "", "days"));
  return h("dl", { class: "cards" }, cards);
}

// Plans that no other beats in both time and memory.
function front(plans) {
  let least = Infinity;
  return [...plans].sort((a, b) => a.step_time_us - b.step_time_us || a.memory_bytes - b.memory_bytes).filter((p) => p.memory_bytes < least && ((least = p.memory_bytes), true));
}

// What the GPUs of each machine hold: machines whose GPUs hold the same share a line.
function capacities(plans) {
  const names = new Map();
  for (const p of plans) names.set(p.capacity_bytes, (names.get(p.capacity_bytes) ?? new Set()).add(machine(p)));
  return [...names].map(([bytes, of]) => ({ y: bytes / GIB, text: `capacity ${f.gib(bytes)}${names.size > 1 ? ` (${[...of].join(", ")})` : ""}` }));
}

export function plansScatter({ simulated }) {
  const several = new Set(simulated.map(machine)).size > 1;
  const point = (p) => ({ x: p.step_time_us / 1e6, y: p.memory_bytes / GIB, text: `${cut(p)}${several ? `\n${machine(p)}` : ""}\nmicro-batch ${p.micro_batch}\n${f.time(p.step_time_us)}, ${f.gib(p.memory_bytes)}, MFU ${f.share(p.mfu)}` });
  const all = simulated.map(point), line = front(simulated).map(point), limits = capacities(simulated);
  return section("scatter", "Time against memory", "Every plan that was simulated to its end; the others were shown to be slower before. The line joins those that no other beats in both.",
    responsive("Plans by time and memory", (width) => Plot.plot({ ...common(width), height: 320, x: { label: "step, s →", grid: true }, y: { label: "↑ GiB", grid: true, zero: true },
      marks: [Plot.ruleY(limits, { y: "y", stroke: "var(--bad)", strokeDasharray: "5 3" }), Plot.text(limits, { y: "y", text: "text", frameAnchor: "right", textAnchor: "end", dy: -7, fill: "var(--bad)" }),
        Plot.line(line, { x: "x", y: "y", stroke: "var(--kind-backward)" }), Plot.dot(all, { x: "x", y: "y", fill: "var(--kind-forward)", fillOpacity: 0.7, r: 4 }),
        Plot.tip(all, Plot.pointer({ x: "x", y: "y", title: "text" }))] })));
}

export function plansHeat({ simulated }) {
  const cells = new Map();
  for (const p of simulated) {
    const key = `${p.tp},${p.pp}`, kept = cells.get(key);
    if (!kept || p.step_time_us < kept.step_time_us) cells.set(key, p);
  }
  const rows = [...cells.values()], sizes = (key) => [...new Set(rows.map((p) => p[key]))].sort((a, b) => a - b);
  if (rows.length < 2) return null;
  return section("heat", "Best step of each tensor and pipeline size", "Of the plans that were simulated; an empty cell has none, for what is in it is slower or does not fit.",
    responsive("Best step by tp and pp", (width) => Plot.plot({ ...common(Math.min(width, 760)), height: 70 + 34 * sizes("pp").length, x: { label: "tp →", domain: sizes("tp"), type: "band" }, y: { label: "pp", domain: sizes("pp"), type: "band" },
      color: { scheme: "YlGnBu", reverse: true, domain: [Math.min(...rows.map((p) => p.step_time_us)), 1.1 * Math.max(...rows.map((p) => p.step_time_us))] },
      marks: [Plot.cell(rows, { x: "tp", y: "pp", fill: "step_time_us", inset: 1 }), Plot.text(rows, { x: "tp", y: "pp", text: (p) => f.time(p.step_time_us), fill: "#fff", stroke: "#1c2530", strokeWidth: 3, fontSize: 12 })] })));
}

export function plansTable({ search: s }) {
  return section("plans", "The best plans", "The best of each family, the fastest first.", table({ id: "plan-table", csv: "plans.csv", caption: "Plans, the fastest first", rows: [...s.plans, ...(s.other_machines ?? [])], sort: { by: 2, down: false }, columns: [
    { title: "plan", value: cut }, { title: "micro-batch", number: true, value: (p) => p.micro_batch }, { title: "step", number: true, value: (p) => p.step_time_us, text: (p) => f.time(p.step_time_us) },
    { title: "MFU", number: true, value: (p) => p.mfu, text: (p) => f.share(p.mfu) }, { title: "bubble", number: true, value: (p) => p.bubble_share, text: (p) => f.share(p.bubble_share), bar: (p) => p.bubble_share },
    { title: "exposed", number: true, value: (p) => p.exposed_share, text: (p) => f.share(p.exposed_share), bar: (p) => p.exposed_share }, { title: "memory", number: true, value: (p) => p.memory_bytes, text: (p) => f.gib(p.memory_bytes) },
    { title: "machine", value: (p) => p.cluster }, { title: "command", value: (p) => p.command, text: (p) => copyButton(p.command, `Copy the command of ${cut(p)}, micro-batch ${p.micro_batch}`) }] }));
}
