// The page of `stepcast flows --net packet --html`: links over time, pauses, and how
// long flows took, for one congestion control or several beside each other. The same of
// the transfers of a step stands in its report.
import * as Plot from "@observablehq/plot";
import { h, section } from "./dom.js";
import * as f from "./format.js";
import { legend, lineColour, responsive } from "./charts.js";
import { table } from "./table.js";

const style = { background: "none", fontSize: "11px", overflow: "visible" };
const nameOf = (run) => run.cc ?? (run.net === "flow" ? "flow engine" : "packets");
const linkName = (l) => l.name ?? `${l.from} → ${l.to}`;
// What runs beside each other differ in.
const kindOf = (page) => page.of ?? "control";
const lost = (run) => run.counters.buffer_losses + run.counters.link_losses;
const unfinished = (run) => run.stuck + run.cut_off;
const watched = ({ runs }) => runs.filter((run) => run.links?.length);
const factor = (x) => (x == null ? "–" : `${x.toPrecision(4)} ×`);

// Times of an axis in the unit that fits the longest, in ns.
function unitFor(ns) {
  const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]].find(([, s]) => ns >= 2 * s) ?? ["ns", 1];
  return { unit, size };
}

export function packetHeadline({ runs }) {
  const card = (title, value, more, id) => h("div", { class: `card ${id === "last-end" ? "first" : ""}` }, h("dt", {}, title), h("dd", { id }, value), h("dd", { class: "more-text" }, more));
  const simulated = runs.filter((run) => run.net !== "flow"), several = simulated.length > 1;
  const best = simulated.reduce((a, b) => (unfinished(b) < unfinished(a) || (unfinished(b) === unfinished(a) && b.makespan_ns < a.makespan_ns) ? b : a));
  const of = several ? `${nameOf(best)}, the first of ${simulated.length} controls to end` : `${f.count(best.ended)} of ${f.count(best.count)} flows ended`;
  return h("dl", { class: "cards" }, card("Last flow ends", f.time(best.makespan_ns / 1e3), of, "last-end"),
    card("Slowdown, 99th percentile", factor(best.slowdown.p99), `mean ${factor(best.slowdown.mean)}, worst ${factor(best.slowdown.max)}`, "p99"),
    card("Pauses", f.count(best.counters.pauses), `${f.count(best.counters.marks)} packets marked`, "pauses"),
    card("Lost packets", f.count(lost(best)), best.counters.trims ? `${f.count(best.counters.trims)} trimmed` : `of ${f.large(best.counters.data_packets)}`, "losses"),
    several ? card("Flows", f.count(best.count), "under each control", "flows") : card("Base round trip", f.time(best.counters.base_rtt_ns / 1e3), `window ${f.bytes(best.counters.window_bytes)}`, "rtt"));
}

export function packetControls(page) {
  const { runs } = page;
  if (runs.length < 2 && !page.of) return null;
  const number = (title, value, text = f.count) => ({ title, number: true, value, text: (run) => text(value(run)) });
  const [title, lead, caption] = page.of ? ["Packets", "The transfers that take most of the step's communication, each by itself.", "Transfers, those that take most of the step first"] : ["Congestion controls", "The same flows on the same links.", "Congestion controls, the first to end first"];
  return section("controls", title, lead, table({ id: "control-table", csv: `${kindOf(page)}s.csv`, caption, rows: runs, sort: page.of ? undefined : { by: 1, down: false }, columns: [
    { title: kindOf(page), value: nameOf }, number("last end", (r) => r.makespan_ns, (ns) => f.time(ns / 1e3)), number("slowdown mean", (r) => r.slowdown.mean ?? 0, factor), number("p99", (r) => r.slowdown.p99 ?? 0, factor),
    number("worst", (r) => r.slowdown.max ?? 0, factor), number("pauses", (r) => r.counters.pauses), number("marks", (r) => r.counters.marks), number("trimmed", (r) => r.counters.trims), number("lost", lost), number("not over", unfinished)] }));
}

// What the heat map can show; shares come in thousandths.
const thousandths = (v) => f.share(v / 1000);
const values = { use: { title: "use", key: "use_over_time", text: thousandths, most: 1000, label: "use of the link" },
  queue: { title: "queue", key: "queue_over_time", text: f.bytes, label: "longest queue" },
  paused: { title: "paused", key: "paused_over_time", text: thousandths, most: 1000, label: "share of the time paused" } };

function choice(label, options, current, change) {
  return h("label", { class: "toggle" }, label, h("select", { onchange: (e) => change(e.target.value) }, options.map(([value, title]) => h("option", { value, selected: value === current }, title))));
}

// Links down, time across. Arrow keys move a frame from cell to cell; its figures stand
// below.
export function packetHeat(page) {
  const runs = watched(page);
  if (!runs.length) return null;
  const state = { run: 0, value: "use", row: 0, column: 0, moved: false, chart: null };
  const holder = h("div", { class: "heat", id: "heat-map", tabindex: 0, role: "application", "aria-label": "Links over time: arrow keys move from cell to cell" });
  const note = h("p", { class: "cell", "aria-live": "polite", id: "heat-cell" }), cursor = h("i", { class: "heat-cursor", hidden: true });
  const shown = () => runs[state.run], unit = () => unitFor(shown().intervals * shown().interval_ns).size;
  function place() {
    const run = shown(), link = run.links[state.row], from = state.column * run.interval_ns, at = (value) => value.text(link[value.key][state.column] ?? 0);
    note.textContent = `${linkName(link)}, ${f.time(from / 1e3)} to ${f.time((from + run.interval_ns) / 1e3)}: use ${at(values.use)}, queue ${at(values.queue)}, paused ${at(values.paused)}`;
    if (!state.chart || !state.moved) return;
    const x = state.chart.scale("x"), y = state.chart.scale("y"), left = x.apply(from / unit()), right = x.apply((from + run.interval_ns) / unit()), top = y.apply(state.row), bottom = y.apply(state.row + 1);
    cursor.hidden = false;
    cursor.style.cssText = `left:${left}px;top:${top}px;width:${Math.max(4, right - left)}px;height:${Math.max(4, bottom - top)}px`;
  }
  const figure = h("figure", { class: "chart", role: "img" });
  holder.append(figure, cursor);
  // At once, as paper does not wait: a page is printed in light colours.
  function draw() {
    const width = Math.floor(figure.clientWidth), value = values[state.value];
    figure.setAttribute("aria-label", `Heat map: ${value.label} of ${shown().links.length} links over time`);
    if (width) {
      state.chart = heat(shown(), value, width);
      state.chart.setAttribute("aria-hidden", "true");
      figure.replaceChildren(state.chart);
    }
    place();
  }
  let drawn = 0;
  new ResizeObserver(() => { if (figure.clientWidth !== drawn) { drawn = figure.clientWidth; draw(); } }).observe(figure);
  window.addEventListener("themechange", draw);
  function move(row, column) {
    const run = shown();
    Object.assign(state, { row: Math.min(run.links.length - 1, Math.max(0, row)), column: Math.min(run.intervals - 1, Math.max(0, column)), moved: true });
    place();
  }
  holder.addEventListener("keydown", (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] }[e.key];
    if (!step) return;
    e.preventDefault();
    move(state.row + step[0], state.column + step[1]);
  });
  holder.addEventListener("pointermove", (e) => {
    if (!state.chart) return;
    const box = holder.getBoundingClientRect(), run = shown();
    const column = Math.floor((state.chart.scale("x").invert(e.clientX - box.left) * unit()) / run.interval_ns), row = Math.floor(state.chart.scale("y").invert(e.clientY - box.top));
    if (row >= 0 && row < run.links.length && column >= 0 && column < run.intervals) move(row, column);
  });
  place();
  const cut = runs.some((r) => r.links_used > r.links.length) ? ` ${runs[0].links.length} of ${f.count(runs[0].links_used)} are shown.` : "";
  return section("heat", "Links over time", `Each way of a link is a row: those that were paused first, then those with the longest queues.${cut}`,
    h("div", { class: "toolbar" }, choice("show", Object.entries(values).map(([k, v]) => [k, v.title]), "use", (v) => { state.value = v; draw(); }),
      runs.length > 1 ? choice(kindOf(page), runs.map((r, i) => [String(i), nameOf(r)]), "0", (v) => { Object.assign(state, { run: Number(v), row: 0, column: 0, moved: false }); cursor.hidden = true; draw(); }) : null,
      h("span", { class: "ramp" }, "nothing", h("i", { "aria-hidden": "true" }), "most")), holder, note);
}

const ramp = () => ["--heat-none", "--heat-some", "--heat-most"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim());

function heat(run, value, width) {
  const end = run.intervals * run.interval_ns, { unit, size } = unitFor(end), rows = run.links.length, columns = run.intervals, top = 26, tall = Math.max(120, Math.min(900, rows * 14));
  const grid = new Float64Array(rows * columns);
  run.links.forEach((l, i) => l[value.key].forEach((v, k) => { grid[i * columns + k] = v; }));
  const most = value.most ?? Math.max(1, grid.reduce((a, x) => Math.max(a, x), 0)), every = Math.ceil(rows / 40), marked = run.links.map((_, i) => i).filter((i) => i % every === 0);
  const left = Math.min(width * 0.34, 14 + 6.4 * Math.max(...run.links.map((l) => linkName(l).length))), letters = Math.floor((left - 12) / 6.4);
  const short = (name) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
  return Plot.plot({ width, height: top + tall + 36, marginLeft: left, marginRight: 14, marginTop: top, marginBottom: 36, style,
    x: { domain: [0, end / size], label: `${unit} →`, ticks: Math.max(3, width / 110) },
    y: { domain: [0, rows], range: [top, top + tall], label: null, ticks: marked.map((i) => i + 0.5), tickFormat: (i) => short(linkName(run.links[Math.floor(i)])), tickSize: 0 },
    color: { domain: [0, most / 2, most], range: ramp(), type: "linear" },
    marks: [Plot.raster(grid, { width: columns, height: rows, x1: 0, y1: 0, x2: end / size, y2: rows, imageRendering: "pixelated" }), Plot.frame({ stroke: "var(--border)" }),
      Plot.text([`${value.label}, up to ${value.text(most)}`], { frameAnchor: "top-right", dy: -16, fill: "currentColor" })] });
}

const coloursOf = (runs) => runs.map((run, i) => [nameOf(run), lineColour(i)]);
const colourScale = (runs) => ({ domain: runs.map(nameOf), range: coloursOf(runs).map(([, colour]) => colour) });

export function packetPauses(page) {
  const runs = watched(page);
  if (!runs.length) return null;
  const rows = runs.flatMap((run) => run.paused_links.map((y, k) => ({ name: nameOf(run), at: k * run.interval_ns, y }))), end = Math.max(...runs.map((r) => r.intervals * r.interval_ns)), { unit, size } = unitFor(end);
  const lead = "How many links PFC keeps from sending, at a time.";
  if (!rows.some((p) => p.y > 0)) return section("pause", "Pauses", lead, h("p", { class: "empty" }, "No link was paused."));
  return section("pause", "Pauses", lead, runs.length > 1 ? legend(coloursOf(runs)) : null,
    responsive("Links that are paused over time", (width) => Plot.plot({ width, height: 200, marginLeft: 46, marginBottom: 34, marginTop: 20, style, x: { label: `${unit} →`, domain: [0, end / size], ticks: Math.max(3, width / 110) }, y: { label: "↑ links paused", grid: true, zero: true },
      color: colourScale(runs), marks: [Plot.line(rows, { x: (p) => p.at / size, y: "y", stroke: "name", curve: "step-after" }), Plot.ruleY([0])] })));
}

function distribution(runs, key, { label, scale, text, id }) {
  const point = (run, v, i) => ({ name: nameOf(run), x: v / scale, share: (i / run[key].length) * (run.ended / run.count) });
  const rows = runs.flatMap((run) => [point(run, run[key][0], 0), ...run[key].map((v, i) => point(run, v, i + 1))]);
  const most = Math.max(...rows.map((p) => p.x)), least = Math.min(...rows.map((p) => p.x));
  return h("div", { id }, responsive(`Distribution: ${label}`, (width) => Plot.plot({ width, height: 240, marginLeft: 46, marginBottom: 36, marginTop: 20, style,
    x: { label: `${label} →`, type: most > 20 * least && least > 0 ? "log" : "linear", grid: true, ticks: Math.max(3, width / 120), tickFormat: (x) => String(x) }, y: { label: "↑ share of the flows", domain: [0, 1], grid: true, tickFormat: "%" },
    color: colourScale(runs),
    marks: [Plot.line(rows, { x: "x", y: "share", stroke: "name", curve: "step-after" }), Plot.ruleY([0]),
      Plot.tip(rows, Plot.pointerX({ x: "x", y: "share", title: (p) => `${p.name}\n${f.share(p.share)} within ${text(p.x)}` }))] })));
}

export function packetDistributions({ runs }) {
  const some = runs.filter((run) => run.ended);
  if (!some.length) return section("distribution", "Completion of flows", null, h("p", { class: "empty" }, "No flow ended."));
  const { unit, size } = unitFor(Math.max(...some.map((run) => run.fct_ns.at(-1))));
  return section("distribution", "Completion of flows", "The share of all flows that took no longer, and that were slowed down no more; slowdown is the time taken over that with nothing in the way. Flows that did not end are missing at the top.",
    some.length > 1 ? legend(coloursOf(some)) : null,
    distribution(some, "fct_ns", { label: `completion time, ${unit}`, scale: size, text: (x) => f.time((x * size) / 1e3), id: "fct" }), distribution(some, "slowdowns", { label: "slowdown", scale: 1, text: factor, id: "slowdown" }));
}

export function packetLinks(page) {
  const runs = watched(page);
  if (!runs.length) return null;
  const rows = runs.flatMap((run) => run.links.map((l) => ({ ...l, cc: nameOf(run) })));
  const columns = [{ title: "link", value: linkName }, { title: "rate", number: true, value: (l) => l.rate_bps, text: (l) => `${l.rate_bps / 1e9} Gb/s` }, { title: "bytes", number: true, value: (l) => l.bytes, text: (l) => f.bytes(l.bytes) },
    { title: "use", number: true, value: (l) => l.use, text: (l) => f.share(l.use), bar: (l) => l.use }, { title: "longest queue", number: true, value: (l) => l.peak_queue_bytes, text: (l) => f.bytes(l.peak_queue_bytes) },
    { title: "pauses", number: true, value: (l) => l.pauses }, { title: "paused", number: true, value: (l) => l.paused_ns, text: (l) => f.time(l.paused_ns / 1e3) }, { title: "marks", number: true, value: (l) => l.marks }, { title: "lost", number: true, value: (l) => l.losses }];
  if (runs.length > 1) columns.splice(1, 0, { title: kindOf(page), value: (l) => l.cc });
  return section("links", "Links", null, table({ id: "link-table", csv: "links.csv", caption: "Links, the most used first", rows, limit: 12, search: "Search links", sort: { by: columns.findIndex((c) => c.title === "use"), down: true }, columns }));
}

export function packetFlows(page) {
  const { runs } = page;
  const rows = runs.flatMap((run) => run.slowest.map((x) => ({ ...x, cc: nameOf(run) })));
  const columns = [{ title: "flow", value: (x) => `${x.src} → ${x.dst}` }, { title: "bytes", number: true, value: (x) => x.bytes, text: (x) => f.bytes(x.bytes) }, { title: "start", number: true, value: (x) => x.start_ns ?? Infinity, text: (x) => (x.start_ns == null ? "–" : f.time(x.start_ns / 1e3)) },
    { title: "time", number: true, value: (x) => x.fct_ns ?? Infinity, text: (x) => (x.fct_ns == null ? "did not end" : f.time(x.fct_ns / 1e3)) }, { title: "at best", number: true, value: (x) => x.ideal_ns, text: (x) => f.time(x.ideal_ns / 1e3) },
    { title: "slowdown", number: true, value: (x) => x.slowdown ?? Infinity, text: (x) => factor(x.slowdown) }];
  if (runs.length > 1) columns.splice(1, 0, { title: kindOf(page), value: (x) => x.cc });
  return section("slowest", "The slowest flows", runs.some((run) => run.count > run.slowest.length) ? `The ${runs[0].slowest.length} most slowed down of ${f.count(runs[0].count)}.` : null,
    table({ id: "flow-table", csv: "flows.csv", caption: "Flows, the most slowed down first", rows, limit: 12, search: "Search flows", sort: { by: columns.findIndex((c) => c.title === "slowdown"), down: true }, columns }));
}
