// A captured step by module: "encoder.layer.3.attention.mm" counts for
// "encoder.layer.*.attention".
import { section } from "./dom.js";
import * as f from "./format.js";
import { kinds, COMM } from "./kinds.js";
import { table } from "./table.js";

const moduleOf = (name) => name.split(".").slice(0, -1).map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");

// Picoseconds of compute of one rank by module and kind.
function sumModules(row, timeline) {
  const { insides } = timeline, sums = new Map();
  for (let b = 0; b < row.blocks.n; b++) {
    const inside = row.blocks.inside[b];
    for (let k = insides.first[inside]; k < insides.first[inside + 1]; k++) {
      const what = insides.what[k] < 0 ? null : timeline.what[insides.what[k]];
      if (!what || insides.kind[k] >= COMM) continue;
      const name = moduleOf(what[0]) || "outside of modules", sum = sums.get(name) ?? { name, total: 0, byKind: new Float64Array(kinds.length) };
      sum.total += insides.length[k];
      sum.byKind[insides.kind[k]] += insides.length[k];
      sums.set(name, sum);
    }
  }
  return [...sums.values()];
}

export function moduleSection(r, timeline) {
  if (r.input?.format !== "capture" || !timeline || timeline.detail !== "all") return null;
  const rows = sumModules(timeline.rows[0], timeline), us = (ps) => ps / 1e6;
  const used = kinds.map((k, i) => [k, i]).filter(([, i]) => rows.some((m) => m.byKind[i] > 0));
  return section("modules", "Modules", "GPU time of the first rank by module of the program; layers of one kind together.",
    table({ id: "module-table", csv: "modules.csv", caption: "Time by module", rows, search: "Search modules", limit: 30, sort: { by: 1, down: true }, columns: [
      { title: "module", value: (m) => m.name }, { title: "total", number: true, value: (m) => us(m.total), text: (m) => f.time(us(m.total)), bar: (m) => us(m.total) / r.step_time_us },
      ...used.map(([k, i]) => ({ title: k.title, number: true, value: (m) => us(m.byKind[i]), text: (m) => (m.byKind[i] ? f.time(us(m.byKind[i])) : "–") }))] }));
}
