// The page of `stepcast train --html`: a run as it goes, where its time goes, and how
// often to write checkpoints.
import * as Plot from "@observablehq/plot";
import { h, section } from "./dom.js";
import * as f from "./format.js";
import { responsive } from "./charts.js";
import { table } from "./table.js";

const DAY = 86400;
const days = (x) => `${x.toPrecision(4)} days`;
const causes = { productive: ["productive", "forward"], checkpoint: ["checkpoints", "recompute"], rework: ["work lost", "skew"], detect: ["detection", "backward"],
  locate: ["localisation", "wgrad"], wait: ["waiting for machines", "comm"], restart: ["restart", "other"], restore: ["restore", "update"], degraded: ["slow GPUs, lost replicas", "hatch"] };
const common = (width) => ({ width, marginLeft: 56, marginBottom: 36, marginTop: 18, style: { background: "none", fontSize: "11px", overflow: "visible" } });

function duration(s) {
  if (s >= 2 * DAY) return `${(s / DAY).toFixed(1)} days`;
  if (s >= 7200) return `${(s / 3600).toFixed(1)} h`;
  return s >= 120 ? `${(s / 60).toFixed(1)} min` : `${s.toFixed(1)} s`;
}

export function trainHeadline(r) {
  const card = (title, value, more, id) => h("div", { class: `card ${id === "days" ? "first" : ""}` }, h("dt", {}, title), h("dd", { id }, value), more ? h("dd", { class: "more-text" }, more) : null);
  const t = r.forecast, cards = [card("Run", days(t.days.p50), `P10 ${days(t.days.p10)}, P90 ${days(t.days.p90)}; ${days(t.days.without_loss)} without any loss`, "days"),
    card("Effective time (ETTR)", f.share(t.ettr), t.ettr_closed_form ? `closed form ${f.share(t.ettr_closed_form)}` : `${f.count(t.seeds)} runs simulated`, "ettr"),
    card("Failures", f.count(t.failures.in_the_run), t.failures.mean_time_between_s ? `one in ${duration(t.failures.mean_time_between_s)}; ${t.failures.recovery}` : t.failures.recovery, "failures"),
    card("Checkpoint every", duration(t.checkpoint.interval_s), `${t.checkpoint.kind}, blocks ${duration(t.checkpoint.blocking_s)}; best: ${duration(t.checkpoint.best_interval_s)}`, "interval"),
    card("GPU-hours", f.large(t.gpu_hours), `${f.count(t.gpus)} GPUs${t.failures.spares ? `, ${t.failures.spares} spare machines` : ""}`, "gpu-hours")];
  if (t.cost_usd) cards.push(card("Cost", `${f.large(t.cost_usd)} $`, `${t.usd_per_gpu_hour} $ per GPU-hour`, "cost"));
  if (t.energy_kwh) cards.push(card("Energy", `${f.count(t.energy_kwh / 1e3)} MWh`, t.co2_kg ? `${f.count(t.co2_kg / 1e3)} t of CO2` : "GPUs only", "energy"));
  return h("dl", { class: "cards" }, cards);
}

// Work that counts against the days that pass; a drop is work lost.
export function trainProgress(r) {
  const points = [{ at: 0, done: 0 }], whole = r.forecast.days.without_loss;
  for (const [at, done, what] of r.progress) points.push({ at: at / DAY, done: done / DAY, what });
  const failures = points.filter((p) => p.what), end = points[points.length - 1].at;
  return section("progress", "A run as it goes", "The run of the first seed: days of work that count against the days that pass. Dashed: nothing ever fails. A tick at the foot is a failure.",
    responsive("Work done against time", (width) => Plot.plot({ ...common(width), height: 300, x: { label: "days →", domain: [0, end] }, y: { label: "↑ days of work", grid: true },
      marks: [Plot.line([[0, 0], [whole, whole]], { stroke: "var(--muted-text)", strokeDasharray: "4 4" }), Plot.line(points, { x: "at", y: "done", stroke: "var(--kind-forward)", strokeWidth: 1.8 }),
        Plot.ruleX(failures.length <= 400 ? failures : [], { x: "at", y1: 0, y2: whole * 0.03, stroke: "var(--kind-skew)", strokeWidth: 1 }),
        Plot.tip(failures, Plot.pointerX({ x: "at", y: "done", title: (p) => `${p.what}\nday ${p.at.toFixed(2)}` })), Plot.ruleY([0])] })));
}

// From the days without any loss to the days it takes, cause by cause.
export function trainLosses(r) {
  const t = r.forecast, mean = t.days.without_loss / t.ettr, rows = [];
  let from = 0;
  for (const [key, [title, kind]] of Object.entries(causes)) {
    const length = t.time_share[key] * mean;
    if (length > 0) rows.push({ title, kind, from, to: from + length, length, share: t.time_share[key] });
    from += length;
  }
  return section("losses", "Where the time goes", "Days by cause, mean over all runs: each bar begins where the one before ends.",
    responsive("Days by cause", (width) => Plot.plot({ ...common(width), marginLeft: Math.min(210, width * 0.42), height: 50 + rows.length * 28, x: { label: "days →", grid: true }, y: { domain: rows.map((x) => x.title), label: null, tickSize: 0 },
      marks: [Plot.barX(rows, { x1: "from", x2: "to", y: "title", fill: (x) => `var(--kind-${x.kind})`, insetTop: 3, insetBottom: 3 }), Plot.ruleX([0])] })),
    table({ id: "loss-table", csv: "losses.csv", caption: "Time by cause", rows, columns: [{ title: "cause", value: (x) => x.title },
      { title: "days", number: true, value: (x) => x.length, text: (x) => x.length.toPrecision(3) }, { title: "share", number: true, value: (x) => x.share, text: (x) => f.share(x.share), bar: (x) => x.share }] }));
}

export function trainInterval(r) {
  if (!r.interval_curve?.length) return null;
  const { interval_s: used, best_interval_s: best } = r.forecast.checkpoint, rows = r.interval_curve.map(([s, ettr]) => ({ s, ettr: ettr * 100 }));
  return section("interval", "How often to write a checkpoint", `Effective time against the interval, by the closed form. The best is every ${duration(best)}${Math.abs(used / best - 1) > 0.01 ? `, this run takes one every ${duration(used)}` : ""}.`,
    responsive("Effective time against the interval of checkpoints", (width) => Plot.plot({ ...common(width), height: 260, x: { type: "log", label: "s →", tickFormat: (s) => f.count(s) }, y: { label: "↑ ETTR, %", grid: true },
      marks: [Plot.line(rows, { x: "s", y: "ettr", stroke: "var(--kind-forward)", strokeWidth: 1.8 }), Plot.ruleX([best], { stroke: "var(--good)", strokeDasharray: "5 3" }), Plot.ruleX([used], { stroke: "var(--kind-skew)" }),
        Plot.tip(rows, Plot.pointerX({ x: "s", y: "ettr", title: (p) => `every ${duration(p.s)}\n${p.ettr.toFixed(2)} %` }))] })));
}

export function trainWhatif(r) {
  const rows = r.forecast.what_if ?? [];
  return rows.length ? section("whatif", "What if", "The run simulated again with one thing changed.", table({ id: "whatif-table", csv: "whatif.csv", caption: "What single changes bring", rows, sort: { by: 1, down: true }, columns: [
    { title: "what", value: (w) => w.title }, { title: "days saved", number: true, value: (w) => w.days_saved, text: (w) => w.days_saved.toFixed(2) },
    { title: "ETTR", number: true, value: (w) => w.ettr, text: (w) => f.share(w.ettr) }] })) : null;
}
