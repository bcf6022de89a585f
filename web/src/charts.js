// Charts of the report, drawn by Observable Plot as SVG.
import * as Plot from "@observablehq/plot";
import { h } from "./dom.js";
import * as f from "./format.js";
import { groupVariable } from "./kinds.js";

// Draws again when the width changes.
export function responsive(label, draw) {
  const holder = h("figure", { class: "chart", role: "img", "aria-label": label });
  let width = 0;
  const redraw = () => {
    const now = Math.floor(holder.clientWidth);
    if (!now || now === width) return;
    width = now;
    const chart = draw(width);
    chart.setAttribute("aria-hidden", "true");
    holder.replaceChildren(chart);
  };
  new ResizeObserver(redraw).observe(holder);
  return holder;
}

export function legend(items) {
  return h("ul", { class: "legend" }, items.map(([title, colour, className]) => h("li", {},
    h("i", { class: `swatch ${className ?? ""}`, style: className ? null : `background:${colour}` }), title)));
}

// Stacked bars. rows: [{ place, series, value, text }]; series: [{ key, title, colour }].
export function stacked({ label, rows, series, places, unit, scale, rule, ruleText }) {
  const colour = { domain: series.map((s) => s.key), range: series.map((s) => s.colour) };
  const upright = places.length > 6;
  const tip = { title: (d) => `${d.place}\n${d.title}: ${d.text}` };
  const top = rule ? [rule / scale] : [];
  return responsive(label, (width) => {
    const common = { width, color: colour, style: { background: "none", fontSize: "11px", overflow: "visible" } };
    const thin = upright && (width - 60) / places.length < 34;
    const ticks = places.filter((_, i) => i % Math.ceil(places.length / Math.max(4, (width - 60) / 34)) === 0);
    if (upright) return Plot.plot({ ...common, height: 280, marginLeft: 52, marginBottom: 38, marginTop: 22,
      x: { domain: places, label: places.every((p) => p.startsWith("stage ")) ? "stage →" : null, ticks: thin ? ticks : places, tickFormat: (p) => p.replace(/^(stage|rank) /, ""), tickSize: 0, padding: 0.15 },
      y: { label: `↑ ${unit}`, grid: true, nice: true },
      marks: [Plot.barY(rows, { x: "place", y: (d) => d.value / scale, fill: "key", order: colour.domain }),
        Plot.tip(rows, Plot.pointerX(Plot.stackY({ order: colour.domain }, { x: "place", y: (d) => d.value / scale, z: "key", ...tip }))),
        Plot.ruleY([0]), Plot.ruleY(top, { stroke: "var(--bad)", strokeDasharray: "5 3", strokeWidth: 1.5 }),
        Plot.text(top, { y: (d) => d, text: () => ruleText, frameAnchor: "right", textAnchor: "end", dy: -7, fill: "var(--bad)" })] });
    return Plot.plot({ ...common, height: 60 + places.length * 34, marginLeft: 64, marginBottom: 34, marginTop: rule ? 24 : 10, marginRight: 16,
      y: { domain: places, label: null, tickSize: 0, padding: 0.2 },
      x: { label: `${unit} →`, grid: true, ticks: Math.max(3, width / 110) },
      marks: [Plot.barX(rows, { y: "place", x: (d) => d.value / scale, fill: "key", order: colour.domain }),
        Plot.tip(rows, Plot.pointer(Plot.stackX({ order: colour.domain }, { y: "place", x: (d) => d.value / scale, z: "key", ...tip }))),
        Plot.ruleX([0]), Plot.ruleX(top, { stroke: "var(--bad)", strokeDasharray: "5 3", strokeWidth: 1.5 }),
        Plot.text(top, { x: (d) => d, text: () => ruleText, frameAnchor: "top", textAnchor: "end", dx: -4, dy: -10, fill: "var(--bad)" })] });
  });
}

// Pairs of bars: time on the wire, and the part nothing hides.
export function communication(rows) {
  const scale = Math.max(...rows.map((r) => r.busy)) >= 1e6 ? 1e6 : 1e3, unit = scale === 1e6 ? "s" : "ms";
  return responsive("Busy and exposed time of each group", (width) => Plot.plot({
    width, height: 46 + rows.length * 40, marginLeft: 82, marginRight: 16, marginBottom: 34, marginTop: 8,
    style: { background: "none", fontSize: "11px" },
    y: { domain: rows.map((r) => r.label), label: null, tickSize: 0, padding: 0.25 },
    x: { label: `${unit} →`, grid: true, ticks: Math.max(3, width / 110) },
    marks: [Plot.barX(rows, { y: "label", x: (r) => r.busy / scale, fill: "var(--kind-wait)", title: (r) => `${r.label}: busy ${f.time(r.busy)}` }),
      Plot.barX(rows, { y: "label", x: (r) => r.exposed / scale, fill: (r) => groupVariable(r.label), insetTop: 6, insetBottom: 6, title: (r) => `${r.label}: exposed ${f.time(r.exposed)}` }),
      Plot.ruleX([0])],
  }));
}

const lineColours = ["forward", "backward", "update", "comm", "recompute", "skew", "wgrad", "other"].map((kind) => `var(--kind-${kind})`);
export const lineColour = (i) => lineColours[i % lineColours.length];

// Step-shaped lines over time. lines: [{ name, points: [{ at, bytes }] }], at in us.
export function memoryLines({ lines, unit, scale, rule, ruleText }) {
  const GIB = 2 ** 30, rows = lines.flatMap(({ name, points }) => points.map((p) => ({ name, x: p.at / scale, y: p.bytes / GIB })));
  const top = rule ? [rule / GIB] : [];
  return responsive("Memory of each stage over the step", (width) => Plot.plot({
    width, height: 260, marginLeft: 52, marginBottom: 34, marginTop: 22, style: { background: "none", fontSize: "11px", overflow: "visible" },
    color: { domain: lines.map((l) => l.name), range: lines.map((_, i) => lineColour(i)), type: "ordinal" },
    x: { label: `${unit} →`, ticks: Math.max(3, width / 110) }, y: { label: "↑ GiB", grid: true, zero: true },
    marks: [Plot.line(rows, { x: "x", y: "y", stroke: "name", curve: "step-after", strokeWidth: 1.4 }), Plot.ruleY([0]),
      Plot.tip(rows, Plot.pointer({ x: "x", y: "y", title: (d) => `${d.name}\n${d.y.toFixed(1)} GiB at ${f.time(d.x * scale)}` })),
      Plot.ruleY(top, { stroke: "var(--bad)", strokeDasharray: "5 3", strokeWidth: 1.5 }),
      Plot.text(top, { y: (d) => d, text: () => ruleText, frameAnchor: "right", textAnchor: "end", dy: -7, fill: "var(--bad)" })],
  }));
}

export function links(rows) {
  return responsive("Use of the busiest links", (width) => {
    const left = Math.min(width * 0.42, 12 + 6.4 * Math.max(...rows.map((r) => r.name.length)));
    const short = (name) => { const most = Math.floor((left - 12) / 6.4); return name.length > most ? `${name.slice(0, most - 1)}…` : name; };
    return Plot.plot({ width, height: 46 + rows.length * 20, marginLeft: left, marginRight: 44, marginBottom: 34, marginTop: 8,
      style: { background: "none", fontSize: "11px" },
      y: { domain: rows.map((r) => r.name), label: null, tickSize: 0, tickFormat: short, padding: 0.25 },
      x: { domain: [0, Math.min(100, Math.max(5, 125 * rows[0].share))], label: "% of the capacity over the step →", grid: true, ticks: 5 },
      marks: [Plot.barX(rows, { y: "name", x: (r) => r.share * 100, fill: "var(--kind-forward)", title: (r) => `${r.name}: ${f.bytes(r.bytes)} at ${f.rate(r.capacity)}` }),
        Plot.text(rows, { y: "name", x: (r) => r.share * 100, text: (r) => f.share(r.share), textAnchor: "start", dx: 4, fill: "currentColor" }), Plot.ruleX([0])] });
  });
}
