// The machine, drawn: one node in full, how many more there are, and the
// fabric between them.
import { h, svg } from "./dom.js";
import * as f from "./format.js";

const W = 620;
const text = (x, y, content, extra) => svg("text", { x, y, "text-anchor": "middle", class: "cluster-text", ...extra }, content);
const box = (x, y, w, hgt, className) => svg("rect", { x, y, width: w, height: hgt, rx: 4, class: className });
const line = (x1, y1, x2, y2, className) => svg("line", { x1, y1, x2, y2, class: className });

function node(c, x, width, title, gpus, nics) {
  const parts = [box(x, 92, width, 148, "cluster-node"), text(x + width / 2, 232, title, { class: "cluster-text strong" })];
  const shown = Math.min(gpus, 8), gap = (width - 16) / shown;
  parts.push(box(x + 8, 184, width - 16, 16, "cluster-nvlink"),
    text(x + width / 2, 196, width > 150 ? c.inside : "NVLink", { class: "cluster-text on" }));
  for (let i = 0; i < shown; i++) {
    const gx = x + 8 + gap * i;
    parts.push(line(gx + gap / 2, 168, gx + gap / 2, 184, "cluster-line"), box(gx + 2, 144, gap - 4, 24, "cluster-gpu"));
    if (gap > 24) parts.push(text(gx + gap / 2, 160, i === shown - 1 && gpus > shown ? `…${gpus - 1}` : String(i), { class: "cluster-text on" }));
  }
  const ports = Math.min(nics, 8), span = (width - 16) / Math.max(1, ports);
  for (let i = 0; i < ports; i++) {
    const nx = x + 8 + span * i + span / 2;
    parts.push(line(nx, 116, nx, 144, "cluster-line"), box(nx - Math.min(14, span / 2 - 1), 104, Math.min(28, span - 2), 12, "cluster-nic"), line(nx, 104, nx, 62, "cluster-wire"));
  }
  return parts;
}

// c: { name, gpu, gpus, nodeGpus, nics, nvlink, nic, fabric } in bytes per second.
export function clusterDrawing(c) {
  const nodes = Math.max(1, Math.ceil(c.gpus / c.nodeGpus)), shown = Math.min(nodes, 3);
  c.inside = `NVLink${c.nvlink ? ` ${f.rate(c.nvlink)} per GPU` : ""}`;
  const widths = shown === 1 ? [420] : shown === 2 ? [296, 296] : [270, 150, 150];
  const parts = [];
  let x = shown === 1 ? 100 : 8;
  widths.forEach((w, i) => {
    const number = i === shown - 1 && nodes > shown ? nodes - 1 : i;
    parts.push(...node(c, x, w, nodes === 1 ? "the node" : `node ${number}`, c.nodeGpus, c.nics));
    if (i === shown - 2 && nodes > shown) parts.push(text(x + w + 8, 168, "…"));
    x += w + (i === shown - 2 && nodes > shown ? 18 : 12);
  });
  if (nodes > 1) parts.unshift(box(8, 34, W - 16, 28, "cluster-fabric"), text(W / 2, 52, c.fabric || "fabric", { class: "cluster-text strong" }));
  const title = `${f.count(c.gpus)} ${c.gpu ? `${c.gpu} ` : ""}GPUs, ${f.count(nodes)} node${nodes > 1 ? "s" : ""} of ${c.nodeGpus}`;
  const facts = [c.nvlink ? `NVLink ${f.rate(c.nvlink)} per GPU and direction` : null,
    nodes > 1 && c.nic ? `${c.nics} NICs of ${(c.nic * 8 / 1e9).toFixed(0)} Gbit/s per node` : null].filter(Boolean);
  return h("figure", { class: "cluster" },
    svg("svg", { viewBox: `0 ${nodes > 1 ? 28 : 96} ${W} ${nodes > 1 ? 216 : 148}`, role: "img", "aria-label": `${title}. ${facts.join(". ")}` }, parts),
    h("figcaption", {}, h("strong", {}, title), facts.length ? ` · ${facts.join(" · ")}` : ""));
}
