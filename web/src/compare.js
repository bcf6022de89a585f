// The page of `stepcast compare A B --html`: both results, and what differs.
import { h, section } from "./dom.js";
import * as f from "./format.js";
import { labelsOf, parts } from "./kinds.js";
import { legend, stacked } from "./charts.js";
import { table } from "./table.js";
import { Timeline } from "./timeline.js";
import { unitFor } from "./report.js";

const relative = (a, b) => (a ? b / a - 1 : b ? Infinity : 0);
const change = (a, b) => (a ? f.signed(relative(a, b), f.share) : b ? "new" : "–");

export function compareHeadline(a, b, names) {
  const one = (title, r, id) => h("div", { class: "card" }, h("dt", {}, title), h("dd", { id, "data-us": r.step_time_us }, f.time(r.step_time_us)),
    h("dd", { class: "more-text" }, r.measured ? "measured" : "simulated"));
  const d = relative(a.step_time_us, b.step_time_us), tokens = (r) => Math.round((r.tokens_per_s ?? 0) * r.step_time_us * 1e-6);
  const uneven = tokens(a) > 0 && tokens(b) > 0 && tokens(a) !== tokens(b); // then the longer step may be the faster one
  return h("dl", { class: "cards" }, one(`A: ${names[0]}`, a, "step-time"), one(`B: ${names[1]}`, b, "step-time-b"),
    h("div", { class: "card first" }, h("dt", {}, "B against A"), h("dd", { id: "difference" }, f.signed(d, f.share)),
      h("dd", { class: "more-text" }, f.signed(b.step_time_us - a.step_time_us, f.time))),
    uneven ? h("div", { class: "card" }, h("dt", {}, "B against A, tokens per second"), h("dd", { id: "difference-tokens" }, f.signed(relative(a.tokens_per_s, b.tokens_per_s), f.share)),
      h("dd", { class: "more-text" }, `steps of ${f.count(tokens(a))} and ${f.count(tokens(b))} tokens`)) : null);
}

// The mean over ranks: it adds up to the step as every single rank does, and
// does not jump when another rank becomes the slowest.
function meanBreakdown(r) {
  const all = r.ranks.reduce((n, x) => n + x.ranks, 0), mean = { exposed_comm: {} };
  for (const { ranks, breakdown_us: b } of r.ranks) {
    for (const key of ["compute", "recompute", "bubble", "skew", "other"]) mean[key] = (mean[key] ?? 0) + b[key] * ranks / all;
    for (const [label, us] of Object.entries(b.exposed_comm)) mean.exposed_comm[label] = (mean.exposed_comm[label] ?? 0) + us * ranks / all;
  }
  return mean;
}

function differences(id, caption, first, rows) {
  return table({ id, caption, rows, limit: 40, csv: `${id}.csv`, sort: { by: 3, down: true }, search: rows.length > 12 ? "Search" : null, columns: [
    { title: first, value: (r) => r.key, text: (r) => h("span", { class: "clip", title: r.key }, r.key) },
    { title: "A", number: true, value: (r) => r.a, text: (r) => f.time(r.a) },
    { title: "B", number: true, value: (r) => r.b, text: (r) => f.time(r.b) },
    { title: "difference", number: true, value: (r) => Math.abs(r.b - r.a), text: (r) => f.signed(r.b - r.a, f.time) },
    { title: "B against A", number: true, value: (r) => relative(r.a, r.b), text: (r) => change(r.a, r.b) }] });
}

export function compareBreakdown(a, b) {
  const means = [meanBreakdown(a), meanBreakdown(b)], labels = labelsOf(means);
  const [pa, pb] = means.map((m) => parts(m, labels));
  const used = pa.map((p, i) => [p, pb[i]]).filter(([x, y]) => x[2] > 0 || y[2] > 0);
  const rows = used.flatMap(([x, y]) => [["A", x], ["B", y]].map(([place, [key, title, value]]) => ({ place, key, title, value, text: f.time(value) })));
  const [unit, scale] = unitFor(Math.max(a.step_time_us, b.step_time_us));
  return section("breakdown", "Where the time goes", "The mean over all ranks of each.",
    legend(used.map(([x]) => [x[1], x[3], x[0] === "bubble" ? "bubble" : null])),
    stacked({ label: "Breakdown of A and B", rows, series: used.map(([[key, title, , colour]]) => ({ key, title, colour })), places: ["A", "B"], unit, scale }),
    differences("part-table", "Differences by part of the step", "part", used.map(([x, y]) => ({ key: x[1], a: x[2], b: y[2] }))));
}

export function compareTimelines(a, b) {
  if (!a || !b) return null;
  return section("timeline", "Timelines", "Both on one axis, stage by stage.", new Timeline([a, b], ["A", "B"]).element);
}

export function compareGroups(a, b) {
  const sum = (r) => {
    const m = new Map(Object.entries(r.groups_left_out_us ?? {}));
    for (const o of r.operations ?? []) if (o.group) m.set(o.group, (m.get(o.group) ?? 0) + o.total_us);
    return m;
  };
  const x = sum(a), y = sum(b);
  const rows = [...new Set([...x.keys(), ...y.keys()])].map((key) => ({ key, a: x.get(key) ?? 0, b: y.get(key) ?? 0 })).filter((r) => r.a || r.b);
  return rows.length && x.size && y.size ? section("comm", "Communication by group", "Time on the wire, mean over all ranks.", differences("group-table", "Differences by group", "group", rows)) : null;
}

export function compareOperations(a, b) {
  const sum = (r) => { const m = new Map(); for (const o of r.operations ?? []) m.set(o.name, (m.get(o.name) ?? 0) + o.total_us); return m; };
  const x = sum(a), y = sum(b);
  if (!x.size || !y.size) return null;
  const rows = [...new Set([...x.keys(), ...y.keys()])].map((key) => ({ key, a: x.get(key) ?? 0, b: y.get(key) ?? 0 }));
  return section("operations", "Operations", "Added up over the step by name, mean over all ranks.", differences("operation-table", "Differences by operation", "operation", rows),
    a.operations_left_out || b.operations_left_out ? h("p", { class: "hint" }, "Only the longest operations of each are listed: one that shows no time on a side may be among its shorter ones.") : null);
}
