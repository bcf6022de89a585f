// The pipeline timeline: one row per stage, or per set of ranks that do the same,
// drawn on a canvas (paint.js). The upper band of a row is what the class did at
// each moment; the thin bands below are its streams. One or two timelines on one axis.
import { h } from "./dom.js";
import * as f from "./format.js";
import { firstAfter } from "./decode.js";
import { COMM, groupVariable, kinds } from "./kinds.js";
import { contextOf, LANE, paint, paintAxis } from "./paint.js";
import { occurrences } from "./find.js";
import { saveBlob, saveCsv } from "./save.js";
import { table } from "./table.js";

const AXIS = 22, GAP = 3, MOST_ROWS_WITH_STREAMS = 8;
const us = (ps) => ps / 1e6;

export class Timeline {
  constructor(timelines, names) {
    this.timelines = timelines;
    this.rows = this.interleave(timelines, names);
    this.end = Math.max(...timelines.map((t) => t.end));
    this.view = { from: 0, to: this.end };
    this.showLanes = this.rows.length <= MOST_ROWS_WITH_STREAMS;
    this.showPath = true;
    this.pinned = null;
    this.pointers = new Map();
    this.element = this.build();
    new ResizeObserver(() => this.layout()).observe(this.holder);
    window.addEventListener("themechange", () => this.draw());
    this.layout();
  }

  // Rows of equal stage side by side where there are two timelines.
  interleave(timelines, names) {
    const rows = [];
    timelines.forEach((t, which) => t.rows.forEach((row, i) => {
      const place = row.name || (t.rows.length > 1 || timelines.length > 1 ? `stage ${row.stage}` : `rank ${row.rank}`);
      const short = t.rows.length > new Set(t.rows.map((r) => r.stage)).size ? row.rank : row.stage;
      rows.push({ row, t, which, index: i, label: names ? `${names[which]} ${short}` : place,
        order: row.stage * 1e6 + row.rank + which * 0.5 });
    }));
    const stages = new Set(timelines[0].rows.map((r) => r.stage));
    if (!names && stages.size < timelines[0].rows.length) rows.forEach((r) => (r.label = `rank ${r.row.rank}`));
    return names ? rows.sort((a, b) => a.order - b.order) : rows;
  }

  // ---- elements ----

  build() {
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline", class: "timeline",
      "aria-label": "Pipeline timeline. A and D or the arrow keys pan, W and S or plus and minus zoom, 0 shows everything, Enter pins what is in the middle, Escape lets go." });
    this.axis = h("canvas", { class: "axis", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: true, role: "status" });
    this.marked = h("div", { class: "selection", hidden: true });
    this.holder = h("div", { class: "timeline-holder" }, this.axis, this.canvas, this.marked);
    this.range = h("output", { class: "range" });
    this.panel = h("div", { class: "panel", hidden: true, role: "region", "aria-label": "What is pinned" });
    this.listen();
    return h("div", { class: "timeline-box" }, this.toolbar(), this.holder, this.tip, this.panel, this.legend(),
      h("p", { class: "hint" }, "Click to pin what is there and see its kernels, double-click to zoom into it. Drag to pan, Shift + drag to add up a range; Ctrl + wheel or pinch to zoom. Keys: W/S or +/− zoom, A/D or arrows pan, 0 all, F the pinned or marked range, Esc lets go. The frame is the critical path. Where operations are too thin to see, a column shows what share of its time each kind took."));
  }

  toolbar() {
    const button = (text, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    const toggle = (text, on, action) => h("label", { class: "toggle" },
      h("input", { type: "checkbox", checked: on, onchange: (e) => { action(e.target.checked); this.layout(); } }), text);
    const hasPath = this.timelines.some((t) => t.path), hasLanes = this.rows.some((r) => r.row.lanes.length);
    this.found = h("output", { class: "found" });
    return h("div", { class: "toolbar" },
      button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)),
      button("‹", "Pan left", () => this.pan(-0.25)), button("›", "Pan right", () => this.pan(0.25)),
      button("All", "All: show the whole step", () => this.show(0, this.end)),
      hasPath ? toggle("critical path", this.showPath, (on) => (this.showPath = on)) : null,
      hasLanes ? toggle("streams", this.showLanes, (on) => (this.showLanes = on)) : null,
      h("label", { class: "search" }, h("span", {}, "Find"),
        h("input", { type: "search", class: "find", placeholder: "operation, then Enter", onkeydown: (e) => { if (e.key === "Enter") this.search(e.target.value); } })), this.found,
      button("PNG", "Save the picture as PNG", () => this.savePng()), button("CSV", "Save what is shown as CSV", () => this.saveCsv()),
      this.range);
  }

  legend() {
    const seen = new Set(), groups = new Set();
    for (const t of this.timelines) {
      t.insides.kind.forEach((k, i) => { if (k === COMM && t.insides.what[i] >= 0) groups.add(t.what[t.insides.what[i]][3]); else seen.add(k); });
      for (const [, , , group] of t.what) if (group) groups.add(group);
    }
    return h("ul", { class: "legend", "aria-label": "Colours of the timeline" },
      [...seen].sort((a, b) => a - b).map((k) => h("li", {}, h("i", { class: `swatch ${kinds[k].key}` }), kinds[k].title)),
      [...groups].sort().map((g) => h("li", {}, h("i", { class: "swatch", style: `background:${groupVariable(g)}` }), `${g} communication`)));
  }

  // ---- input ----

  listen() {
    const c = this.canvas;
    c.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom(Math.exp(e.deltaY * 0.0025), this.timeAt(e.offsetX));
    }, { passive: false });
    c.addEventListener("dblclick", (e) => this.zoomToBlock(e));
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      this.pressed = { x: e.offsetX, y: e.offsetY };
      if (e.shiftKey) this.selecting = e.offsetX;
      else this.pointers.set(e.pointerId, e.offsetX);
    });
    c.addEventListener("pointerup", (e) => this.release(e));
    for (const name of ["pointerup", "pointercancel"]) c.addEventListener(name, (e) => this.pointers.delete(e.pointerId));
    c.addEventListener("pointermove", (e) => this.move(e));
    c.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  release(e) {
    if (this.selecting != null) { this.endSelection(e); return; }
    const still = this.pressed && Math.abs(e.offsetX - this.pressed.x) < 3 && Math.abs(e.offsetY - this.pressed.y) < 3;
    if (still) this.pin(this.find(e.offsetX, e.offsetY));
  }

  move(e) {
    if (this.selecting != null) { this.tip.hidden = true; this.mark(e.offsetX); return; }
    if (!this.pointers.has(e.pointerId)) { this.hover(e); return; }
    this.tip.hidden = true;
    const before = this.pointers.get(e.pointerId), others = [...this.pointers].filter(([id]) => id !== e.pointerId);
    this.pointers.set(e.pointerId, e.offsetX);
    if (!others.length) { this.shift((before - e.offsetX) * this.perPixel()); return; }
    const fixed = others[0][1], was = Math.abs(before - fixed), is = Math.abs(e.offsetX - fixed);
    if (was > 8 && is > 8) this.zoom(was / is, this.timeAt(fixed));
  }

  key(e) {
    const width = this.view.to - this.view.from;
    const action = { ArrowLeft: () => this.pan(-0.1), a: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1), d: () => this.pan(0.1),
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), w: () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), s: () => this.zoom(1 / 0.6),
      "0": () => this.show(0, this.end), Home: () => this.show(0, width), End: () => this.show(this.end - width, this.end),
      f: () => this.zoomToPinned(), Enter: () => this.pinMiddle(), Escape: () => this.letGo() }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    action();
  }

  // ---- the range of time that is shown ----

  perPixel() { return (this.view.to - this.view.from) / this.plotWidth; }
  timeAt(x) { return this.view.from + (x - this.left) * this.perPixel(); }
  x(t) { return this.left + (t - this.view.from) / this.perPixel(); }
  pan(part) { this.shift(part * (this.view.to - this.view.from)); }

  shift(by) {
    const width = this.view.to - this.view.from;
    const from = Math.min(Math.max(0, this.view.from + by), this.end - width);
    this.show(from, from + width);
  }

  zoom(factor, around = (this.view.from + this.view.to) / 2) {
    const width = Math.min(this.end, Math.max(1000, (this.view.to - this.view.from) * factor));
    const part = (around - this.view.from) / (this.view.to - this.view.from);
    const from = Math.min(Math.max(0, around - part * width), this.end - width);
    this.show(from, from + width);
  }

  show(from, to) {
    this.view = { from, to };
    this.tip.hidden = true;
    this.schedule();
  }

  schedule() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(); });
  }

  // With some room on both sides.
  showAround(start, end) {
    const room = Math.max(500, (end - start) * 0.1), from = Math.max(0, start - room);
    this.show(from, Math.min(this.end, end + room));
  }

  zoomToPinned() {
    if (this.pinned) this.showAround(this.pinned.start, this.pinned.end);
    else if (this.marks) this.show(...this.marks);
  }

  // From a stage to a micro-batch, then to what is in it.
  zoomToBlock(e) {
    const hit = this.find(e.offsetX, e.offsetY);
    if (!hit) { this.zoom(0.4, this.timeAt(e.offsetX)); return; }
    const { row } = hit.r, { blocks } = row, b = Math.min(blocks.n - 1, firstAfter(blocks.end, blocks.n, this.timeAt(e.offsetX)));
    const inBlock = this.view.to - this.view.from < 2 * (blocks.end[b] - blocks.start[b]);
    if (hit.lane >= 0 || inBlock) this.showAround(hit.items.start[hit.i], hit.items.end[hit.i]);
    else this.showAround(blocks.start[b], blocks.end[b]);
  }

  // ---- geometry ----

  layout() {
    const width = this.holder.clientWidth || 800, n = this.rows.length;
    this.band = n <= 8 ? 24 : n <= 20 ? 18 : n <= 36 ? 13 : n <= 100 ? 8 : 5;
    this.left = width < 500 ? 58 : 74;
    this.plotWidth = Math.max(50, width - this.left - 1);
    let y = 2;
    for (const r of this.rows) {
      r.y = y;
      r.height = this.band + (this.showLanes ? r.row.lanes.length * LANE + 2 : 0);
      y += r.height + (this.band > 10 ? GAP : 1);
    }
    this.width = width;
    this.height = y + 2;
    this.draw();
  }

  lanesOf(r) { return r.t.lanes(r.row); }
  laneY(r, lane) { return r.y + this.band + 2 + lane * LANE; }

  draw() {
    paintAxis(this, this.axis, AXIS);
    paint(this, this.canvas);
    this.range.textContent = `${f.time(us(this.view.from))} to ${f.time(us(this.view.to))} of ${f.time(us(this.end))}`;
    this.canvas.dataset.from = this.view.from;
    this.canvas.dataset.to = this.view.to;
  }

  // Single operations where there is room for them, else blocks by kind.
  items(r) {
    const { row } = r, { blocks } = row;
    const first = firstAfter(blocks.end, blocks.n, this.view.from), last = Math.min(blocks.n, firstAfter(blocks.end, blocks.n, this.view.to) + 1);
    const roomy = this.plotWidth / (last - first + 1) > 7 && this.plotWidth / (row.segmentsIn(first, last) + 1) > 4;
    return roomy ? row.fine(first, last) : row.coarse;
  }

  // ---- what is where ----

  find(x, y) {
    const r = this.rows.find((c) => y >= c.y && y < c.y + c.height);
    if (!r || x < this.left) return null;
    const lanes = this.showLanes ? this.lanesOf(r) : [], lane = y < r.y + this.band || !lanes.length ? -1 : Math.min(lanes.length - 1, Math.floor((y - this.laneY(r, 0)) / LANE));
    const items = lane < 0 ? this.items(r) : lanes[lane], t = this.timeAt(x);
    let i = firstAfter(items.end, items.n, t);
    const near = (k) => k >= 0 && k < items.n && items.start[k] <= t + this.perPixel() * 1.5 && items.end[k] >= t - this.perPixel() * 1.5;
    if (!near(i)) i -= 1;
    return near(i) ? { r, items, i, lane } : null;
  }

  hover(e) {
    const hit = this.find(e.offsetX, e.offsetY);
    this.tip.hidden = !hit;
    if (!hit) return;
    this.tip.replaceChildren(...this.describe(hit));
    const box = this.element.getBoundingClientRect(), w = this.tip.offsetWidth;
    const x = e.clientX - box.left, y = e.clientY - box.top;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - w - 4))}px`;
    this.tip.style.top = `${y + 18}px`;
  }

  describe({ r, items, i, lane }) {
    const what = items.what[i] >= 0 ? r.t.what[items.what[i]] : null;
    const [name, kind, phase, group, size, inLayer] = what ?? [];
    const title = lane < 0 ? kinds[items.kind[i]].title : items.name;
    const lines = [["time", f.time(us(items.end[i] - items.start[i]))], ["from", f.time(us(items.start[i]))]];
    if (name) lines.unshift([items.count[i] > 1 ? "longest" : "operation", name]);
    if (kind) lines.push(["kind", `${kind}, ${phase}`]);
    if (items.microBatch[i] >= 0) lines.push(["micro-batch", items.microBatch[i] + (items.chunk[i] ? `, chunk ${items.chunk[i]}` : "")]);
    if (inLayer && items.layer && items.count[i] === 1) lines.push(["layer", items.layer[i]]);
    if (group) lines.push(["group", group]);
    if (size) lines.push(["bytes", f.bytes(size)]);
    if (items.wait?.[i]) lines.push(["waited", f.time(us(items.wait[i]))]);
    if (items.count[i] > 1) lines.push(["operations", f.count(items.count[i])]);
    return [h("strong", {}, `${title} · ${r.label}`), h("dl", {}, lines.flatMap(([a, b]) => [h("dt", {}, a), h("dd", {}, String(b))]))];
  }

  // ---- pin ----

  pin(hit) {
    if (!hit) { this.letGo(); return; }
    const { r, items, i, lane } = hit;
    this.pinned = { r, lane, start: items.start[i], end: items.end[i] };
    this.marks = null;
    this.marked.hidden = true;
    this.tip.hidden = true;
    this.fillPanel(this.describe(hit), lane < 0 ? this.kernels(r, items.start[i]) : null);
    this.schedule();
  }

  pinMiddle() {
    const r = this.pinned?.r ?? this.rows[0];
    this.pin(this.find(this.x((this.view.from + this.view.to) / 2), r.y + 1));
  }

  letGo() {
    this.pinned = this.marks = null;
    this.marked.hidden = this.panel.hidden = true;
    this.schedule();
  }

  fillPanel(head, body) {
    const button = (text, action) => h("button", { type: "button", onclick: action }, text);
    this.panel.replaceChildren(h("div", { class: "panel-head" }, h("div", {}, head),
      h("div", { class: "panel-buttons" }, button("Zoom to it", () => this.zoomToPinned()), button("Let go", () => this.letGo()))), ...(body ? [body] : []));
    this.panel.hidden = false;
  }

  // The operations of the block at a moment, one by one.
  kernels(r, at) {
    const { blocks } = r.row, b = firstAfter(blocks.end, blocks.n, at);
    if (b >= blocks.n) return null;
    const s = r.row.pieces(b, b + 1, false), rows = [];
    for (let i = 0; i < s.n; i++) {
      const what = s.what[i] >= 0 ? r.t.what[s.what[i]] : null;
      rows.push({ name: what?.[0] ?? kinds[s.kind[i]].title, kind: kinds[s.kind[i]].title, layer: what?.[5] ? s.layer[i] : -1,
        at: us(s.start[i]), time: us(s.end[i] - s.start[i]), count: s.count[i] });
    }
    if (rows.length < 2) return null;
    const where = blocks.microBatch[b] >= 0 ? `micro-batch ${blocks.microBatch[b]} of ${r.label}` : r.label;
    return table({ id: "kernel-table", caption: `In ${where}`, showCaption: true, rows, limit: 60, sort: { by: 3, down: false }, csv: "kernels.csv", columns: [
      { title: "operation", value: (k) => k.name }, { title: "layer", number: true, value: (k) => k.layer, text: (k) => (k.layer < 0 ? "–" : String(k.layer)) },
      { title: "as", value: (k) => k.kind }, { title: "from", number: true, value: (k) => k.at, text: (k) => f.time(k.at) },
      { title: "time", number: true, value: (k) => k.time, text: (k) => f.time(k.time) }, { title: "count", number: true, value: (k) => k.count }] });
  }

  // ---- a range added up: Shift + drag ----

  mark(x) {
    const a = Math.max(this.left, Math.min(x, this.selecting)), b = Math.max(x, this.selecting);
    this.marked.hidden = false;
    this.marked.style.left = `${a}px`;
    this.marked.style.width = `${b - a}px`;
    return [a, b];
  }

  endSelection(e) {
    const [a, b] = this.mark(e.offsetX);
    this.selecting = null;
    this.marked.hidden = true;
    if (b - a > 4) this.addUp(Math.max(0, this.timeAt(a)), Math.min(this.end, this.timeAt(b)));
  }

  addUp(from, to) {
    this.pinned = null;
    this.marks = [from, to];
    const total = (to - from) * this.rows.length, sums = kinds.map(() => 0);
    for (const r of this.rows) r.row.sums(from, to).forEach((ps, kind) => (sums[kind] += ps));
    const rows = kinds.map((k, i) => ({ title: k.title, ps: sums[i] })).filter((x) => x.ps > 0);
    this.fillPanel([h("strong", {}, `${f.time(us(to - from))} from ${f.time(us(from))}, all rows`)],
      table({ id: "range-table", caption: "Time by kind in the range, mean over the rows", showCaption: true, rows, sort: { by: 1, down: true }, csv: "range.csv", columns: [
        { title: "kind", value: (x) => x.title }, { title: "time", number: true, value: (x) => us(x.ps / this.rows.length), text: (x) => f.time(us(x.ps / this.rows.length)) },
        { title: "share", number: true, value: (x) => x.ps / total, text: (x) => f.share(x.ps / total), bar: (x) => x.ps / total }] }));
    this.schedule();
  }

  // ---- search ----

  // Pins the next operation of that name, row by row.
  search(name) {
    if (name !== this.sought?.name) this.sought = { name, iterator: occurrences(this.rows, name) };
    let next = this.sought.iterator.next();
    if (next.done) {
      this.sought.iterator = occurrences(this.rows, name);
      next = this.sought.iterator.next();
    }
    this.found.textContent = next.done ? "not on the timeline" : "";
    if (next.done) { this.sought = null; return false; }
    const { r, start, end } = next.value;
    this.showLanes = this.showLanes && this.rows.length <= MOST_ROWS_WITH_STREAMS;
    this.show(Math.max(0, start - 4 * (end - start)), Math.min(this.end, end + 4 * (end - start)));
    const items = this.items(r), i = firstAfter(items.end, items.n, start);
    this.pin({ r, items, i, lane: -1 });
    this.element.scrollIntoView({ block: "nearest" });
    return true;
  }

  // ---- export ----

  savePng() {
    const whole = document.createElement("canvas"), g = contextOf(whole, this.width, this.height + AXIS);
    g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--card");
    g.fillRect(0, 0, this.width, this.height + AXIS);
    g.drawImage(this.axis, 0, 0, this.width, AXIS);
    g.drawImage(this.canvas, 0, AXIS, this.width, this.height);
    whole.toBlob((blob) => saveBlob(blob, "timeline.png"));
  }

  saveCsv() {
    const lines = [["row", "start_us", "end_us", "kind", "operation", "micro_batch", "chunk", "operations"]];
    for (const r of this.rows) {
      const s = this.items(r);
      for (let i = firstAfter(s.end, s.n, this.view.from); i < s.n && s.start[i] < this.view.to; i++)
        lines.push([r.label, us(s.start[i]), us(s.end[i]), kinds[s.kind[i]].key, s.what[i] >= 0 ? r.t.what[s.what[i]][0] : "", s.microBatch[i] < 0 ? "" : s.microBatch[i], s.chunk[i], s.count[i]]);
    }
    saveCsv(lines, "timeline.csv");
  }
}
