// The sections of a report of one result.
import { h, section } from "./dom.js";
import * as f from "./format.js";
import { groupVariable, kinds, labelsOf, parts } from "./kinds.js";
import { communication, legend, lineColour, links, memoryLines, stacked } from "./charts.js";
import { clusterDrawing } from "./cluster.js";
import { memoryOverTime } from "./memory.js";
import { table } from "./table.js";
import { Timeline } from "./timeline.js";

const place = (result, r) => (result.ranks.length === (result.plan?.pp ?? 0) || new Set(result.ranks.map((x) => x.stage)).size === result.ranks.length
  ? `stage ${r.stage}` : `rank ${r.rank ?? r.class}`);

export const unitFor = (us) => (us >= 2e6 ? ["s", 1e6] : us >= 2e3 ? ["ms", 1e3] : ["µs", 1]);

function card(title, value, more, attributes = {}) {
  return h("div", { class: `card ${attributes.class ?? ""}` }, h("dt", {}, title),
    h("dd", { ...attributes, class: null }, value), more ? h("dd", { class: "more-text" }, more) : null);
}

export function headline(r) {
  const parts = r.breakdown_us, m = r.memory_bytes;
  const exposed = Object.values(parts.exposed_comm ?? {}).reduce((a, x) => a + x, 0);
  const cards = [card("Step time", f.time(r.step_time_us), r.plan?.gpus > 1 ? `${f.count(r.plan.gpus)} GPUs, ${planText(r.plan)}` : "1 GPU",
    { id: "step-time", "data-us": r.step_time_us, class: "first" })];
  if (r.tokens_per_s) cards.push(card("Throughput", `${f.count(r.tokens_per_s)}`, r.tokens_per_s_per_gpu ? `tokens/s, ${f.count(r.tokens_per_s_per_gpu)} per GPU` : "tokens per second", { id: "tokens" }));
  if (r.mfu) cards.push(card("Model FLOP/s use", f.share(r.mfu), r.tflops_per_gpu ? `${r.tflops_per_gpu.toFixed(0)} TFLOP/s per GPU` : null, { id: "mfu" }));
  cards.push(card(r.plan?.pp > 1 ? "Pipeline bubble" : "Waiting for messages", f.share(parts.bubble / r.step_time_us), f.time(parts.bubble), { id: "bubble", "data-us": parts.bubble }));
  cards.push(card("Exposed communication", f.share(exposed / r.step_time_us), f.time(exposed), { id: "exposed", "data-us": exposed }));
  if (m?.total) {
    const known = m.capacity > 0, fits = m.total <= m.capacity;
    cards.push(card("Memory", f.gib(m.total), known ? `${fits ? "fits in" : "does not fit in"} ${f.gib(m.capacity)}` : "capacity unknown",
      { id: "memory-card", class: known ? (fits ? "good" : "bad") : "" }));
  }
  const t = r.training;
  if (t) cards.push(card("Whole run", `${t.days.toPrecision(3)} days`, `${f.large(t.tokens)} tokens, ${f.large(t.gpu_hours)} GPU-hours${t.cost_usd ? `, ${f.large(t.cost_usd)} USD` : ""}; nothing fails`, { id: "training" }));
  const b = r.band, like = b ? `Band: ${b.mean_error_pct.toFixed(1)} % mean error of ${b.count} published steps (${b.like}), bias ${f.signed(b.bias_pct / 100, f.share)}: ${b.grade}.` : null;
  return h("div", {}, h("dl", { class: "cards" }, cards), b ? h("p", { class: "band", id: "band" }, like) : null);
}

// What was run, in the words of the command line; the rest of the settings below.
const settingTitles = { seq: "sequence", "global-batch": "batch", "micro-batch": "micro-batch", "micro-batches": "micro-batches", dtype: "precision", recompute: "recompute",
  zero: "ZeRO", schedule: "schedule", software: "software", optimizer: "optimizer", "overlap-grad": "gradients overlapped", "sequence-parallel": "sequence parallel" };

export function settingsSection(r) {
  const { model, settings = {}, cluster: c } = r, facts = [];
  if (model?.name) facts.push(["model", `${model.name}, ${(model.parameters / 1e9).toFixed(1)} B parameters${model.active && model.active < model.parameters ? `, ${(model.active / 1e9).toFixed(1)} B active` : ""}`]);
  for (const [key, title] of Object.entries(settingTitles)) if (settings[key] !== undefined) facts.push([title, settings[key]]);
  if (c) facts.push(["machine", `${c.name}${c.gpu ? `, ${c.gpu}` : ""}${c.nic_bytes_per_s ? `, ${c.node_nics} NICs of ${(c.nic_bytes_per_s * 8 / 1e9).toFixed(0)} Gbit/s` : ""}`], ["network", r.net]);
  if (!facts.length) return null;
  const list = (items) => h("dl", { class: "facts" }, items.map(([a, b]) => h("div", {}, h("dt", {}, a), h("dd", {}, String(b)))));
  const rest = Object.entries(settings).filter(([key]) => !(key in settingTitles));
  return section("settings", "What was run", null, list(facts), rest.length ? details("All settings, as they were resolved", list(rest)) : null);
}

export function planText(plan) {
  return ["tp", "cp", "ep", "dp", "pp", "vpp"].filter((k) => plan[k] > 1).map((k) => `${k} ${plan[k]}`).join(" · ") || "each GPU on its own";
}

export function notes(r) {
  const list = r.input?.notes ?? [];
  if (!list.length) return null;
  return section("notes", "Assumptions and notes", "What the input did not say, and what was assumed for it.",
    h("ul", { class: "notes" }, list.map((n) => h("li", {}, h("code", {}, n.code), h("span", {}, n.text)))));
}

// Evenly spaced, where there are too many to show.
const sample = (list, most) => (list.length <= most ? list : list.filter((_, i) => i % Math.ceil(list.length / most) === 0));

export function breakdown(r) {
  const labels = labelsOf([r.breakdown_us, ...r.ranks.map((x) => x.breakdown_us)]);
  const series = parts(r.breakdown_us, labels).map(([key, title, , colour]) => ({ key, title, colour }));
  const used = new Set(), rows = [];
  const classes = sample(r.ranks, 256);
  for (const rank of classes)
    for (const [key, title, value] of parts(rank.breakdown_us, labels)) {
      if (value > 0) used.add(key);
      rows.push({ place: place(r, rank), key, title, value, text: `${f.time(value)} (${f.share(value / rank.step_time_us)})` });
    }
  const shown = series.filter((s) => used.has(s.key)), [unit, scale] = unitFor(r.step_time_us);
  const chart = stacked({ label: "Where the time of each stage or rank goes", rows: rows.filter((x) => used.has(x.key)), series: shown,
    places: [...new Set(classes.map((x) => place(r, x)))], unit, scale });
  return section("breakdown", "Where the time goes", `Ranks that do the same at the same time share a bar. Every picosecond belongs to one part; the parts add up to the step.${classes.length < r.ranks.length ? ` ${classes.length} of ${f.count(r.ranks.length)} bars are shown.` : ""}`,
    legend(shown.map((s) => [s.title, s.colour, s.key === "bubble" ? "bubble" : null])), chart,
    details("Figures by stage or rank", breakdownTable(r, labels, used)));
}

function breakdownTable(r, labels, used) {
  const columns = [{ title: "stage or rank", value: (x) => place(r, x) }, { title: "ranks", number: true, value: (x) => x.ranks, text: (x) => f.count(x.ranks) }];
  parts(r.breakdown_us, labels).forEach(([key, title], i) => {
    if (used.has(key)) columns.push({ title, number: true, value: (x) => parts(x.breakdown_us, labels)[i][2], text: (x) => f.time(parts(x.breakdown_us, labels)[i][2]) });
  });
  columns.push({ title: "step", number: true, value: (x) => x.step_time_us, text: (x) => f.time(x.step_time_us) });
  return table({ id: "breakdown-table", csv: "breakdown.csv", caption: "Breakdown by stage or rank", columns, rows: r.ranks, limit: r.ranks.length > 300 ? 100 : Infinity });
}

export function details(title, ...content) {
  return h("details", {}, h("summary", {}, title), ...content);
}

export function timelineSection(r, decoded) {
  if (!decoded) return section("timeline", "Timeline", null,
    h("p", { class: "empty" }, "This result was saved without its timeline. Run again with --html, or with --json and --timeline."));
  const view = new Timeline([decoded]);
  const detail = { all: `${f.count(decoded.spans)} operations, each where it was simulated to be.`, blocks: `${f.count(decoded.spans)} operations, shown by micro-batch and direction: every block is where it was, within it each kind of time stands side by side.`,
    cells: `${f.count(decoded.spans)} operations, shown in cells of ${f.time(decoded.cell / 1e6)}: what is shorter is added up by kind.` }[decoded.detail];
  const rows = decoded.rows.map((row) => ({ row, sums: row.sums() }));
  const columns = [{ title: "row", value: (x) => place(r, r.ranks[x.row.class] ?? x.row) }];
  kinds.forEach((k, i) => {
    if (rows.some((x) => x.sums[i])) columns.push({ title: k.title, number: true, value: (x) => x.sums[i] / 1e6, text: (x) => f.time(x.sums[i] / 1e6) });
  });
  const node = section("timeline", "Pipeline timeline", detail, view.element, details("Sums of the rows", table({ id: "timeline-table", csv: "timeline.csv", caption: "Time by kind in each row", columns, rows, limit: rows.length > 300 ? 100 : Infinity })));
  node.timeline = view;
  return node;
}

export function pathSection(r) {
  const path = r.critical_path;
  if (!path) return null;
  const total = Object.entries(path.total_us).flatMap(([key, value]) => (key === "comm"
    ? Object.entries(value).map(([label, us]) => ({ title: `${label} communication`, us, colour: groupVariable(label) }))
    : [{ title: kinds.find((k) => k.key === key)?.title ?? key, us: value, colour: `var(--kind-${key})` }])).sort((a, b) => b.us - a.us);
  return section("path", "Critical path", "The chain of operations, each waiting for the one before, that ends with the step. Only making these faster helps.",
    h("div", { class: "strip", role: "img", "aria-label": "Parts of the critical path" },
      total.map((p) => h("i", { style: `flex:${p.us};background:${p.colour}`, title: `${p.title}: ${f.time(p.us)}` }))),
    table({ id: "path-table", csv: "path.csv", caption: "Parts of the critical path", rows: total, columns: [
      { title: "on the path", value: (p) => p.title },
      { title: "time", number: true, value: (p) => p.us, text: (p) => f.time(p.us) },
      { title: "share", number: true, value: (p) => p.us / r.step_time_us, text: (p) => f.share(p.us / r.step_time_us), bar: (p) => p.us / r.step_time_us }] }));
}

export function commSection(r) {
  const rows = Object.entries(r.comm ?? {}).map(([label, c]) => ({ label, ...c, busy: c.busy_us, exposed: c.exposed_us })).filter((c) => c.ops);
  if (!rows.length) return null;
  return section("comm", "Communication", "By group, of one rank. Busy is time on the wire; exposed is the part that no computation hides.",
    legend([["busy", "var(--kind-wait)"], ...rows.map((c) => [`${c.label} exposed`, groupVariable(c.label)])]), communication(rows),
    table({ id: "comm-table", csv: "comm.csv", caption: "Communication by group", rows, columns: [
      { title: "group", value: (c) => c.label },
      { title: "operations", number: true, value: (c) => c.ops, text: (c) => f.count(c.ops) },
      { title: "volume", number: true, value: (c) => c.bytes, text: (c) => f.bytes(c.bytes) },
      { title: "busy", number: true, value: (c) => c.busy_us, text: (c) => f.time(c.busy_us) },
      { title: "exposed", number: true, value: (c) => c.exposed_us, text: (c) => f.time(c.exposed_us) },
      { title: "of the step", number: true, value: (c) => c.exposed_us / r.step_time_us, text: (c) => f.share(c.exposed_us / r.step_time_us), bar: (c) => c.exposed_us / r.step_time_us }] }));
}

const memoryParts = [["weights", "weights", "forward"], ["gradients", "gradients", "recompute"], ["optimizer", "optimizer", "update"],
  ["activations", "activations", "backward"], ["logits", "logits", "wgrad"], ["workspace", "workspace", "skew"],
  ["communication", "NCCL", "comm"], ["context", "CUDA context", "hatch"], ["fragmentation", "fragmentation", "other"]];

// Of at most eight stages, evenly spaced.
function memoryOverStep(r, decoded, by, capacity) {
  const rows = decoded ? sample(decoded.rows, 8) : [], [unit, scale] = unitFor(r.step_time_us);
  const lines = rows.map((row) => ({ name: `stage ${row.stage}`, points: memoryOverTime(row, by.find((m) => m.class === row.class) ?? {}).map((p) => ({ at: p.at / 1e6, bytes: p.bytes })) }))
    .filter((l) => l.points.length);
  if (!lines.length) return null;
  return h("div", {}, h("h3", {}, "Over the step"), h("p", { class: "lead" }, `Activations of a micro-batch from its forward to its backward, on top of what is always there${rows.length < decoded.rows.length ? `; ${rows.length} of ${decoded.rows.length} stages are shown` : ""}.`),
    legend(lines.map((l, i) => [l.name, lineColour(i)])),
    memoryLines({ lines, unit, scale, rule: capacity || null, ruleText: `capacity ${f.gib(capacity)}` }));
}

export function memorySection(r, decoded) {
  const by = r.class_memory_bytes ?? (r.memory_bytes?.total ? [{ stage: 0, ...r.memory_bytes }] : []);
  if (!by.length) return null;
  const capacity = r.memory_bytes?.capacity ?? 0, used = memoryParts.filter(([key]) => by.some((m) => m[key] > 0));
  const where = (m) => `stage ${m.stage}`;
  const rows = by.flatMap((m) => used.map(([key, title]) => ({ place: where(m), key, title, value: m[key], text: f.gib(m[key]) })));
  return section("memory", "Memory", capacity ? `Of one GPU of each stage; it has ${f.gib(capacity)}.` : "Of one GPU of each stage.",
    legend(used.map(([, title, kind]) => [title, `var(--kind-${kind})`])),
    stacked({ label: "Memory of each stage", rows, series: used.map(([key, title, kind]) => ({ key, title, colour: `var(--kind-${kind})` })),
      places: [...new Set(by.map(where))], unit: "GiB", scale: 2 ** 30, rule: capacity || null, ruleText: `capacity ${f.gib(capacity)}` }),
    r.class_memory_bytes ? memoryOverStep(r, decoded, by, capacity) : null,
    details("Figures by stage", table({ id: "memory-table", csv: "memory.csv", caption: "Memory by stage", rows: by, columns: [{ title: "stage", value: where },
      ...used.map(([key, title]) => ({ title, number: true, value: (m) => m[key], text: (m) => f.gib(m[key]) })),
      { title: "total", number: true, value: (m) => used.reduce((a, [key]) => a + m[key], 0), text: (m) => f.gib(used.reduce((a, [key]) => a + m[key], 0)) }] })));
}

export function linkSection(r) {
  const rows = (r.links ?? []).map((l) => ({ name: l.name, bytes: l.bytes, capacity: l.capacity_bytes_per_s ?? l.capacity, share: l.utilisation }))
    .sort((a, b) => b.share - a.share);
  if (!rows.length) return null;
  const seen = {}, kind = (l) => l.name.replace(/\d+/g, "#"); // "gpu#.nvlink.out"
  const most = Math.max(3, 16 / new Set(rows.map(kind)).size);
  const top = rows.filter((l) => (seen[kind(l)] = (seen[kind(l)] ?? 0) + 1) <= most).slice(0, 20);
  return section("links", "Links", `${f.count(rows.length)} links, or sets of links that carry the same; shown are the busiest of each kind.`, links(top),
    details("All links", table({ id: "link-table", csv: "link.csv", caption: "Use of links", rows, search: "Search links", limit: 25, sort: { by: 1, down: true }, columns: [
      { title: "link", value: (l) => l.name },
      { title: "of its capacity", number: true, value: (l) => l.share, text: (l) => f.share(l.share), bar: (l) => l.share },
      { title: "volume", number: true, value: (l) => l.bytes, text: (l) => f.bytes(l.bytes) },
      { title: "capacity", number: true, value: (l) => l.capacity, text: (l) => f.rate(l.capacity) }] })));
}

// Other hardware and settings, as the options of the command line would change them.
function changeTable(r, rows) {
  if (!rows.length) return null;
  const gain = (w) => w.work * r.step_time_us / w.step_time_us - 1;
  return table({ id: "change-table", csv: "changes.csv", caption: "The step with one thing changed", rows, sort: { by: 2, down: true }, columns: [
    { title: "what if", value: (w) => w.title },
    { title: "step time", number: true, value: (w) => w.step_time_us, text: (w) => f.time(w.step_time_us) },
    { title: "throughput", number: true, value: gain, text: (w) => f.signed(gain(w), f.share), bar: gain },
    { title: "memory", value: (w) => (w.fits ? "fits" : "does not fit") }] });
}

export function whatifSection(r) {
  const rows = r.what_if ?? [], changes = r.what_if_changes ?? [];
  if (!rows.length && !changes.length) return null;
  const gain = (us) => 1 - us / r.step_time_us;
  const column = (title, key) => ({ title, number: true, value: (w) => w[key], text: (w) => `${f.time(w[key])}` });
  const saved = (title, key) => ({ title, number: true, value: (w) => gain(w[key]), text: (w) => f.share(gain(w[key])), bar: (w) => gain(w[key]) });
  return section("whatif", "What if", "Each row is the step simulated again, so that what then becomes exposed is counted.", changeTable(r, changes),
    !rows.length ? null : h("h3", {}, "One kind of work in half the time, or none"), !rows.length ? null : table({ id: "whatif-table", csv: "whatif.csv", caption: "Step time with one kind of work faster", rows, sort: { by: 4, down: true }, columns: [
      { title: "work", value: (w) => w.title }, column("half the time", "step_at_half_us"), saved("saved", "step_at_half_us"),
      column("no time", "step_at_zero_us"), saved("saved at most", "step_at_zero_us")] }));
}

// A click shows where the operation is.
function operationName(name, timeline) {
  const text = h("span", { class: "clip", title: name }, name);
  return timeline ? h("button", { type: "button", class: "link", title: `Show ${name} on the timeline`, onclick: () => timeline.search(name) }, text) : text;
}

export function operationSection(r, timeline) {
  const rows = r.operations ?? [];
  if (!rows.length) return null;
  return section("operations", "Operations", "The mean over all ranks, added up over the step. The time communication waited for its peers is shown apart.",
    table({ id: "operation-table", caption: "Operations, longest first", rows, search: "Search operations", limit: 25, sort: { by: 1, down: true }, csv: "operations.csv", columns: [
      { title: "name", value: (o) => o.name, text: (o) => operationName(o.name, timeline) },
      { title: "total", number: true, value: (o) => o.total_us, text: (o) => f.time(o.total_us), bar: (o) => o.total_us / r.step_time_us },
      { title: "kind", value: (o) => (o.group ? `${o.kind.toLowerCase()} · ${o.group}` : o.kind) },
      { title: "phase", value: (o) => o.phase },
      { title: "count", number: true, value: (o) => o.count, text: (o) => f.mean(o.count) },
      { title: "waited", number: true, value: (o) => o.waited_us, text: (o) => (o.waited_us ? f.time(o.waited_us) : "–") },
      { title: "volume", number: true, value: (o) => o.bytes, text: (o) => (o.bytes ? f.bytes(o.bytes) : "–") }] }),
    r.operations_left_out ? h("p", { class: "hint" }, `${f.count(r.operations_left_out)} shorter ones are not listed.`) : null);
}

export function clusterSection(r) {
  const c = r.cluster;
  if (!c) return null;
  const gpus = c.gpus || r.plan?.gpus || 1;
  return section("cluster", "Cluster", c.source ? `${c.name}. ${c.source}` : c.name,
    clusterDrawing({ gpus, nodeGpus: Math.min(gpus, c.node_gpus ?? 8), nics: c.node_nics ?? 8, gpu: c.gpu?.toUpperCase(),
      nvlink: c.nvlink_bytes_per_s ?? c.nvlink, nic: c.nic_bytes_per_s ?? c.nic, fabric: c.fabric?.kind ?? (typeof c.fabric === "string" ? c.fabric : "fabric") }));
}
