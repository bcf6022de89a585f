// The pipeline timeline: one row per stage, or per set of ranks that do the same, drawn on a canvas. The
// upper band of a row is what the class did at each moment; the thin bands
// below are its communication streams. One or two timelines on one axis.
import { h } from "./dom.js";
import * as f from "./format.js";
import { BUBBLE, COMM, color, kinds } from "./kinds.js";

const AXIS = 22, GAP = 3, LANE = 4;
const us = (ps) => ps / 1e6;

// First index whose end is after t.
function firstAfter(end, n, t) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle] > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

function niceStep(span, most) {
  const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
}

export class Timeline {
  constructor(timelines, names) {
    this.timelines = timelines;
    this.rows = this.interleave(timelines, names);
    this.end = Math.max(...timelines.map((t) => t.end));
    this.view = { from: 0, to: this.end };
    this.showLanes = this.rows.length <= 40;
    this.showPath = false;
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

  build() {
    const button = (text, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    const toggle = (text, on, action) => h("label", { class: "toggle" },
      h("input", { type: "checkbox", checked: on, onchange: (e) => { action(e.target.checked); this.layout(); } }), text);
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline",
      "aria-label": "Pipeline timeline. Arrow keys pan, plus and minus zoom, 0 shows everything.", class: "timeline" });
    this.tip = h("div", { class: "tip", hidden: true, role: "status" });
    this.marked = h("div", { class: "selection", hidden: true });
    this.holder = h("div", { class: "timeline-holder" }, this.canvas, this.marked);
    this.range = h("output", { class: "range" });
    const hasPath = this.timelines.some((t) => t.path), hasLanes = this.rows.some((r) => r.row.lanes.length);
    this.listen();
    return h("div", { class: "timeline-box" },
      h("div", { class: "toolbar" },
        button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)),
        button("‹", "Pan left", () => this.pan(-0.25)), button("›", "Pan right", () => this.pan(0.25)),
        button("All", "All: show the whole step", () => this.show(0, this.end)),
        hasPath ? toggle("critical path", this.showPath, (on) => (this.showPath = on)) : null,
        hasLanes ? toggle("streams", this.showLanes, (on) => (this.showLanes = on)) : null,
        this.range),
      this.holder, this.tip, this.legend(),
      h("p", { class: "hint" }, "Drag to pan, Shift + drag to zoom into a range; Ctrl + wheel or pinch to zoom; with the keyboard: arrows, + and −, 0. Where operations are too thin to see, a column shows what share of its time each kind took."));
  }

  legend() {
    const seen = new Set();
    for (const { row } of this.rows) for (const k of row.segments.kind) seen.add(k);
    return h("ul", { class: "legend", "aria-label": "Colours of the timeline" },
      [...seen].sort((a, b) => a - b).map((k) => h("li", {}, h("i", { class: `swatch ${kinds[k].key}` }), kinds[k].title)));
  }

  // ---- input ----

  listen() {
    const c = this.canvas;
    c.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom(Math.exp(e.deltaY * 0.0025), this.timeAt(e.offsetX));
    }, { passive: false });
    c.addEventListener("dblclick", (e) => this.zoom(0.4, this.timeAt(e.offsetX)));
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      if (e.shiftKey) this.selecting = e.offsetX;
      else this.pointers.set(e.pointerId, e.offsetX);
    });
    c.addEventListener("pointerup", (e) => this.endSelection(e));
    for (const name of ["pointerup", "pointercancel"]) c.addEventListener(name, (e) => this.pointers.delete(e.pointerId));
    c.addEventListener("pointermove", (e) => this.move(e));
    c.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  // Shift + drag marks a range; letting go shows it.
  select(x) {
    const a = Math.max(this.left, Math.min(x, this.selecting)), b = Math.max(x, this.selecting);
    this.marked.hidden = false;
    this.marked.style.left = `${a}px`;
    this.marked.style.width = `${b - a}px`;
    return [a, b];
  }

  endSelection(e) {
    if (this.selecting == null) return;
    const [a, b] = this.select(e.offsetX);
    this.marked.hidden = true;
    this.selecting = null;
    if (b - a > 4) this.show(Math.max(0, this.timeAt(a)), Math.min(this.end, this.timeAt(b)));
  }

  move(e) {
    if (this.selecting != null) { this.tip.hidden = true; this.select(e.offsetX); return; }
    if (!this.pointers.has(e.pointerId)) { this.hover(e); return; }
    this.tip.hidden = true;
    const before = this.pointers.get(e.pointerId), others = [...this.pointers].filter(([id]) => id !== e.pointerId);
    this.pointers.set(e.pointerId, e.offsetX);
    if (!others.length) { this.shift((before - e.offsetX) * this.perPixel()); return; }
    const fixed = others[0][1], was = Math.abs(before - fixed), is = Math.abs(e.offsetX - fixed);
    if (was > 8 && is > 8) this.zoom(was / is, this.timeAt(fixed));
  }

  key(e) {
    const action = { ArrowLeft: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1), "+": () => this.zoom(0.6),
      "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), "0": () => this.show(0, this.end),
      Home: () => this.show(0, this.view.to - this.view.from), End: () => this.show(this.end - (this.view.to - this.view.from), this.end) }[e.key];
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    action();
  }

  perPixel() { return (this.view.to - this.view.from) / this.plotWidth; }
  timeAt(x) { return this.view.from + (x - this.left) * this.perPixel(); }
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

  // ---- geometry ----

  layout() {
    const width = this.holder.clientWidth || 800;
    const n = this.rows.length;
    this.band = n <= 8 ? 24 : n <= 20 ? 18 : n <= 36 ? 13 : n <= 100 ? 8 : 5;
    this.left = width < 500 ? 58 : 74;
    this.plotWidth = Math.max(50, width - this.left - 1);
    let y = AXIS;
    for (const r of this.rows) {
      r.y = y;
      r.height = this.band + (this.showLanes ? r.row.lanes.length * (LANE + 1) : 0);
      y += r.height + (this.band > 10 ? GAP : 1);
    }
    this.width = width;
    this.height = y + 2;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    this.draw();
  }

  x(t) { return this.left + (t - this.view.from) / this.perPixel(); }

  // ---- drawing ----

  draw() {
    const g = this.canvas.getContext("2d"), scale = window.devicePixelRatio || 1;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    this.palette = kinds.map((k) => color(k.key));
    this.ink = color("ink");
    this.palette[BUBBLE] = this.hatch(g, color("bubble"), color("hatch"));
    this.axis(g);
    g.save();
    g.beginPath();
    g.rect(this.left, AXIS - 4, this.plotWidth, this.height);
    g.clip();
    for (const r of this.rows) this.row(g, r);
    if (this.showPath) this.path(g);
    g.restore();
    this.labels(g);
    this.range.textContent = `${f.time(us(this.view.from))} to ${f.time(us(this.view.to))} of ${f.time(us(this.end))}`;
    this.canvas.dataset.from = this.view.from;
    this.canvas.dataset.to = this.view.to;
  }

  hatch(g, back, line) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = tile.getContext("2d");
    t.fillStyle = back;
    t.fillRect(0, 0, 6, 6);
    t.strokeStyle = line;
    t.beginPath();
    for (const d of [-3, 3, 9]) { t.moveTo(d - 3, 6); t.lineTo(d + 3, 0); }
    t.stroke();
    return g.createPattern(tile, "repeat");
  }

  axis(g) {
    const span = this.view.to - this.view.from, step = niceStep(span, Math.max(2, this.plotWidth / 110));
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = color("muted");
    g.strokeStyle = color("line");
    g.textBaseline = "middle";
    g.textAlign = "center";
    for (let t = Math.ceil(this.view.from / step) * step; t <= this.view.to; t += step) {
      const x = Math.round(this.x(t)) + 0.5, text = t === 0 ? "0" : f.time(us(t)).replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
      g.beginPath();
      g.moveTo(x, AXIS - 5);
      g.lineTo(x, this.height);
      g.stroke();
      const half = g.measureText(text).width / 2;
      g.fillText(text, Math.min(Math.max(x, this.left + half), this.width - half - 1), 8);
    }
  }

  labels(g) {
    g.font = `${Math.min(12, Math.max(9, this.band))}px system-ui, sans-serif`;
    g.textAlign = "right";
    g.textBaseline = "middle";
    const each = Math.ceil(11 / (this.rows[0].height + 1));
    this.rows.forEach((r, i) => {
      if (i % each) return;
      g.fillStyle = r.which ? color("second") : this.ink;
      g.fillText(r.label, this.left - 7, r.y + this.band / 2 + 0.5);
    });
  }

  // Blocks where the single segments would be too thin to see.
  items(r) {
    const { segments, blocks } = r.row;
    const first = firstAfter(segments.end, segments.n, this.view.from), last = firstAfter(segments.end, segments.n, this.view.to);
    return this.plotWidth / (last - first + 1) < 7 && blocks.n < segments.n ? blocks : segments;
  }

  row(g, r) {
    const { lanes } = r.row, segments = this.items(r);
    g.globalAlpha = this.showPath ? 0.32 : 1;
    this.segments(g, segments, r.y);
    if (this.band >= 11) this.numbers(g, segments, r.y);
    if (this.showLanes) lanes.forEach((lane, k) => {
      const y = r.y + this.band + 1 + k * (LANE + 1);
      this.lane(g, lane, y);
      this.waits(g, lane, y);
    });
    g.globalAlpha = 1;
  }

  // Rectangles. What is too thin to be told apart is gathered in columns of two
  // pixels, each kind with its share of the height: the area stays true.
  segments(g, { start, end, kind, n }, y) {
    const share = new Float64Array(kinds.length), column = 2;
    let at = -1, sum = 0;
    const flush = () => {
      let from = y;
      for (let k = 0; sum && k < share.length; k++) {
        if (!share[k]) continue;
        const height = this.band * share[k] / sum;
        g.fillStyle = this.palette[k];
        g.fillRect(at * column, from, column, height);
        from += height;
        share[k] = 0;
      }
      sum = 0;
    };
    for (let i = firstAfter(end, n, this.view.from); i < n && start[i] < this.view.to; i++) {
      const a = this.x(start[i]), b = this.x(end[i]);
      if (b - a >= 3.5) {
        flush();
        g.fillStyle = this.palette[kind[i]];
        g.fillRect(a, y, b - a - 0.6, this.band);
        continue;
      }
      for (let from = a; from < b;) { // over the columns it touches
        const c = Math.floor(from / column), to = Math.min(b, (c + 1) * column);
        if (c !== at) { flush(); at = c; }
        share[kind[i]] += to - from;
        sum += to - from;
        from = to;
      }
    }
    flush();
  }

  lane(g, { start, end, n }, y) {
    g.fillStyle = this.palette[COMM];
    let drawn = -1;
    for (let i = firstAfter(end, n, this.view.from); i < n && start[i] < this.view.to; i++) {
      const a = Math.max(this.x(start[i]), drawn), b = Math.max(this.x(end[i]), a + 0.7);
      if (b - a < 0.2) continue;
      g.fillRect(a, y, b - a, LANE);
      drawn = b;
    }
  }

  // The part of a transfer that waits for its peers is lighter.
  waits(g, lane, y) {
    g.fillStyle = color("wait");
    for (let i = firstAfter(lane.end, lane.n, this.view.from); i < lane.n && lane.start[i] < this.view.to; i++) {
      const a = this.x(lane.start[i]), b = this.x(lane.start[i] + lane.wait[i]);
      if (b - a >= 1 && lane.count[i] === 1) g.fillRect(a, y, b - a, LANE);
    }
  }

  numbers(g, s, y) {
    g.font = `600 ${Math.min(11, this.band - 3)}px system-ui, sans-serif`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    for (let i = firstAfter(s.end, s.n, this.view.from); i < s.n && s.start[i] < this.view.to; i++) {
      if (s.microBatch[i] < 0 || s.kind[i] >= COMM) continue;
      const a = this.x(s.start[i]), b = this.x(s.end[i]);
      if (b - a < 18) continue;
      g.fillStyle = color(`on-${kinds[s.kind[i]].key}`);
      g.fillText(String(s.microBatch[i]), (a + b) / 2, y + this.band / 2 + 0.5);
    }
  }

  path(g) {
    this.timelines.forEach((t, which) => {
      if (!t.path) return;
      const rows = new Map(this.rows.filter((r) => r.which === which).map((r) => [r.row.class, r]));
      let before = null;
      for (const p of t.path) {
        const r = rows.get(p.class);
        if (!r) continue; // one of many classes without a row
        if (p.end >= this.view.from && p.start <= this.view.to) {
          const a = this.x(p.start), b = this.x(p.end);
          g.fillStyle = this.palette[p.kind];
          g.fillRect(a, r.y, Math.max(1, b - a), this.band);
          g.fillStyle = this.ink;
          g.fillRect(a, r.y - 1, Math.max(1, b - a), 1.5);
          g.fillRect(a, r.y + this.band - 0.5, Math.max(1, b - a), 1.5);
          if (before && before !== r) g.fillRect(a - 0.75, Math.min(before.y, r.y), 1.5, Math.abs(before.y - r.y) + this.band);
        }
        before = r;
      }
    });
  }

  // ---- tips ----

  find(x, y) {
    const r = this.rows.find((c) => y >= c.y && y < c.y + c.height);
    if (!r || x < this.left) return null;
    const lane = y < r.y + this.band ? -1 : Math.floor((y - r.y - this.band - 1) / (LANE + 1));
    const items = lane < 0 ? this.items(r) : r.row.lanes[Math.min(lane, r.row.lanes.length - 1)];
    const t = this.timeAt(x);
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
    const [name, kind, phase, group, size, layer] = what ?? [];
    const title = lane < 0 ? kinds[items.kind[i]].title : items.name;
    const lines = [["time", f.time(us(items.end[i] - items.start[i]))], ["from", f.time(us(items.start[i]))]];
    if (name) lines.unshift([items.count[i] > 1 ? "longest" : "operation", name]);
    if (kind) lines.push(["kind", `${kind}, ${phase}`]);
    if (items.microBatch[i] >= 0) lines.push(["micro-batch", items.microBatch[i] + (items.chunk[i] ? `, chunk ${items.chunk[i]}` : "")]);
    if (layer >= 0 && items.count[i] === 1) lines.push(["layer", layer]);
    if (group) lines.push(["group", group]);
    if (size) lines.push(["bytes", f.bytes(size)]);
    if (items.wait?.[i]) lines.push(["waited", f.time(us(items.wait[i]))]);
    if (items.count[i] > 1) lines.push(["operations", f.count(items.count[i])]);
    return [h("strong", {}, `${title} · ${r.label}`), h("dl", {}, lines.flatMap(([a, b]) => [h("dt", {}, a), h("dd", {}, String(b))]))];
  }
}
