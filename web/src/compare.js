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
  const d = relative(a.step_time_us, b.step_time_us);
  return h("dl", { class: "cards" }, one(`A: ${names[0]}`, a, "step-time"), one(`B: ${names[1]}`, b, "step-time-b"),
    h("div", { class: "card first" }, h("dt", {}, "B against A"), h("dd", { id: "difference" }, f.signed(d, f.share)),
      h("dd", { class: "more-text" }, f.signed(b.step_time_us - a.step_time_us, f.time))));
}

function differences(id, caption, first, rows) {
  return table({ id, caption, rows, limit: 40, sort: { by: 3, down: true }, search: rows.length > 12 ? "Search" : null, columns: [
    { title: first, value: (r) => r.key },
    { title: "A", number: true, value: (r) => r.a, text: (r) => f.time(r.a) },
    { title: "B", number: true, value: (r) => r.b, text: (r) => f.time(r.b) },
    { title: "difference", number: true, value: (r) => Math.abs(r.b - r.a), text: (r) => f.signed(r.b - r.a, f.time) },
    { title: "B against A", number: true, value: (r) => relative(r.a, r.b), text: (r) => change(r.a, r.b) }] });
}

export function compareBreakdown(a, b) {
  const labels = labelsOf([a.breakdown_us, b.breakdown_us]);
  const pa = parts(a.breakdown_us, labels), pb = parts(b.breakdown_us, labels);
  const used = pa.map((p, i) => [p, pb[i]]).filter(([x, y]) => x[2] > 0 || y[2] > 0);
  const rows = used.flatMap(([x, y]) => [["A", x], ["B", y]].map(([place, [key, title, value]]) => ({ place, key, title, value, text: f.time(value) })));
  const [unit, scale] = unitFor(Math.max(a.step_time_us, b.step_time_us));
  return section("breakdown", "Where the time goes", "Of the slowest rank of each.",
    legend(used.map(([x]) => [x[1], x[3], x[0] === "bubble" ? "bubble" : null])),
    stacked({ label: "Breakdown of A and B", rows, series: used.map(([[key, title, , colour]]) => ({ key, title, colour })), places: ["A", "B"], unit, scale }),
    differences("class-table", "Differences by class of time", "class", used.map(([x, y]) => ({ key: x[1], a: x[2], b: y[2] }))));
}

export function compareTimelines(a, b) {
  if (!a || !b) return null;
  return section("timeline", "Timelines", "Both on one axis, stage by stage.", new Timeline([a, b], ["A", "B"]).element);
}

export function compareGroups(a, b) {
  const keys = [...new Set([...Object.keys(a.comm ?? {}), ...Object.keys(b.comm ?? {})])];
  const rows = keys.map((key) => ({ key, a: a.comm?.[key]?.exposed_us ?? 0, b: b.comm?.[key]?.exposed_us ?? 0 })).filter((r) => r.a || r.b);
  return rows.length ? section("comm", "Exposed communication by group", null, differences("group-table", "Differences by group", "group", rows)) : null;
}

export function compareOperations(a, b) {
  const sum = (r) => { const m = new Map(); for (const o of r.operations ?? []) m.set(o.name, (m.get(o.name) ?? 0) + o.total_us); return m; };
  const x = sum(a), y = sum(b);
  if (!x.size || !y.size) return null;
  const rows = [...new Set([...x.keys(), ...y.keys()])].map((key) => ({ key, a: x.get(key) ?? 0, b: y.get(key) ?? 0 }));
  return section("operations", "Operations", "Added up over the step, by name.", differences("operation-table", "Differences by operation", "operation", rows));
}
