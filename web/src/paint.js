// Draws a timeline on its canvas. `view` is the Timeline: rows with y and height,
// the range of time shown, and what is switched on.
import * as f from "./format.js";
import { firstAfter } from "./decode.js";
import { BUBBLE, COMM, color, groupColor, kinds } from "./kinds.js";

export const LANE = 8;
const us = (ps) => ps / 1e6;

function niceStep(span, most) {
  const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
}

function hatch(g, back, line) {
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

// Colours of this theme: one per kind, and one per group of communication.
function paletteOf(g) {
  const palette = kinds.map((k) => color(k.key)), groups = new Map();
  palette[BUBBLE] = hatch(g, color("bubble"), color("hatch"));
  const group = (t, what) => {
    const label = what < 0 ? "" : t.what[what][3];
    if (!groups.has(label)) groups.set(label, label ? groupColor(label) : palette[COMM]);
    return groups.get(label);
  };
  return { of: (t, kind, what) => (kind === COMM ? group(t, what) : palette[kind]), group, ink: color("ink"), wait: color("wait"), host: palette[kinds.length - 1] };
}

export function contextOf(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

const roundTime = (ps) => (ps === 0 ? "0" : f.time(us(ps)).replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, ""));

function ticks(view) {
  const { from, to } = view.view, step = niceStep(to - from, Math.max(2, view.plotWidth / 110)), list = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) list.push(t);
  return list;
}

export function paintAxis(view, canvas, height) {
  const g = contextOf(canvas, view.width, height);
  g.font = "11px system-ui, sans-serif";
  g.fillStyle = color("muted");
  g.strokeStyle = color("line");
  g.textBaseline = "middle";
  g.textAlign = "center";
  for (const t of ticks(view)) {
    const x = view.x(t), text = roundTime(t), half = g.measureText(text).width / 2;
    g.fillText(text, Math.min(Math.max(x, view.left + half), view.width - half - 1), height / 2);
    g.beginPath();
    g.moveTo(Math.round(x) + 0.5, height - 4);
    g.lineTo(Math.round(x) + 0.5, height);
    g.stroke();
  }
}

export function paint(view, canvas) {
  const g = contextOf(canvas, view.width, view.height), palette = paletteOf(g);
  paintGrid(view, g);
  g.save();
  g.beginPath();
  g.rect(view.left, 0, view.plotWidth, view.height);
  g.clip();
  for (const r of view.rows) paintRow(view, g, r, palette);
  if (view.showPath) paintPath(view, g, palette);
  if (view.pinned) paintPin(view, g, palette);
  g.restore();
  paintLabels(view, g, palette);
}

function paintGrid(view, g) {
  g.strokeStyle = color("line");
  for (const t of ticks(view)) {
    const x = Math.round(view.x(t)) + 0.5;
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, view.height);
    g.stroke();
  }
}

function paintLabels(view, g, palette) {
  g.textAlign = "right";
  g.textBaseline = "middle";
  const each = Math.ceil(11 / (view.rows[0].height + 1));
  view.rows.forEach((r, i) => {
    if (i % each) return;
    g.font = `${Math.min(12, Math.max(9, view.band))}px system-ui, sans-serif`;
    g.fillStyle = r.which ? color("second") : palette.ink;
    g.fillText(r.label, view.left - 7, r.y + view.band / 2 + 0.5);
    if (!view.showLanes) return;
    g.font = "9px system-ui, sans-serif";
    g.fillStyle = color("muted");
    view.lanesOf(r).forEach((lane, k) => g.fillText(lane.group ?? lane.name, view.left - 7, view.laneY(r, k) + LANE / 2 + 0.5));
  });
}

function paintRow(view, g, r, palette) {
  const items = view.items(r);
  paintSegments(view, g, r, items, palette);
  if (view.band >= 11) paintNumbers(view, g, items, r.y);
  if (view.showLanes) view.lanesOf(r).forEach((lane, k) => paintLane(view, g, r, lane, view.laneY(r, k), palette));
}

// Rectangles. What is too thin to be told apart is gathered in columns of two
// pixels, each colour with its share of the height: the area stays true.
function paintSegments(view, g, r, { start, end, kind, what, n }, palette) {
  const shares = new Map(), column = 2;
  let at = -1;
  const flush = () => {
    let from = r.y, sum = 0;
    for (const share of shares.values()) sum += share;
    for (const [fill, share] of shares) {
      g.fillStyle = fill;
      g.fillRect(at * column, from, column, view.band * share / sum);
      from += view.band * share / sum;
    }
    shares.clear();
  };
  for (let i = firstAfter(end, n, view.view.from); i < n && start[i] < view.view.to; i++) {
    const a = view.x(start[i]), b = view.x(end[i]), fill = palette.of(r.t, kind[i], what[i]);
    if (b - a >= 3.5) {
      flush();
      g.fillStyle = fill;
      g.fillRect(a, r.y, b - a - 0.6, view.band);
      continue;
    }
    for (let from = a; from < b;) { // over the columns it touches
      const c = Math.floor(from / column), to = Math.min(b, (c + 1) * column);
      if (c !== at) { flush(); at = c; }
      shares.set(fill, (shares.get(fill) ?? 0) + to - from);
      from = to;
    }
  }
  flush();
}

// Transfers in the colour of their group; the part that waits for peers is lighter.
function paintLane(view, g, r, lane, y, palette) {
  let drawn = -1;
  for (let i = firstAfter(lane.end, lane.n, view.view.from); i < lane.n && lane.start[i] < view.view.to; i++) {
    const a = Math.max(view.x(lane.start[i]), drawn), b = Math.max(view.x(lane.end[i]), a + 0.7);
    if (b - a < 0.2) continue;
    g.fillStyle = lane.group ? palette.group(r.t, lane.what[i]) : palette.host;
    g.fillRect(a, y, b - a, LANE - 1);
    drawn = b;
    const ready = view.x(lane.start[i] + lane.wait[i]);
    if (ready - a < 1 || lane.count[i] !== 1) continue;
    g.fillStyle = palette.wait;
    g.fillRect(a, y, ready - a, LANE - 1);
  }
}

function paintNumbers(view, g, s, y) {
  g.font = `600 ${Math.min(11, view.band - 3)}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (let i = firstAfter(s.end, s.n, view.view.from); i < s.n && s.start[i] < view.view.to; i++) {
    if (s.microBatch[i] < 0 || s.kind[i] >= COMM) continue;
    const a = view.x(s.start[i]), b = view.x(s.end[i]);
    if (b - a < 18) continue;
    g.fillStyle = color(`on-${kinds[s.kind[i]].key}`);
    g.fillText(String(s.microBatch[i]), (a + b) / 2, y + view.band / 2 + 0.5);
  }
}

// Pieces framed, and lines where the path goes over to another row.
function paintPath(view, g, palette) {
  g.fillStyle = palette.ink;
  view.timelines.forEach((t, which) => {
    if (!t.path) return;
    const rows = new Map(view.rows.filter((r) => r.which === which).map((r) => [r.row.class, r]));
    let before = null;
    for (const p of t.path) {
      const r = rows.get(p.class);
      if (!r) continue; // one of many classes without a row
      if (p.end >= view.view.from && p.start <= view.view.to) {
        const a = view.x(p.start), width = Math.max(1, view.x(p.end) - a);
        g.fillRect(a, r.y - 1, width, 2);
        g.fillRect(a, r.y + view.band - 1, width, 2);
        if (before && before !== r) g.fillRect(a - 0.75, Math.min(before.y, r.y), 1.5, Math.abs(before.y - r.y) + view.band);
      }
      before = r;
    }
  });
}

function paintPin(view, g, palette) {
  const { r, start, end, lane } = view.pinned, y = lane < 0 ? r.y : view.laneY(r, lane);
  const a = view.x(start), width = Math.max(2, view.x(end) - a);
  g.strokeStyle = palette.ink;
  g.lineWidth = 2;
  g.strokeRect(a, y + 1, width, (lane < 0 ? view.band : LANE) - 2);
  g.lineWidth = 1;
}
