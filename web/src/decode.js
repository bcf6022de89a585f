// The compact timeline of a result (docs/report.md), unfolded.
// Times stay in picoseconds here: whole numbers, so that sums are exact.
import { COMM, kindIndex, kinds } from "./kinds.js";

// Columns in which repeats are not written again → whole columns. usual: what a
// column holds where it is left out.
function unfold(source, usual) {
  const { repeats } = source;
  let n = 0;
  for (let i = 0; i < repeats.length; i += 3) n += repeats[i] + repeats[i + 2];
  const out = { n };
  for (const name of Object.keys(usual)) out[name] = source[name] ? unfoldOne(source[name], repeats, n) : new Float64Array(n).fill(usual[name]);
  return out;
}

function unfoldOne(fresh, repeats, n) {
  const out = new Float64Array(n), letters = typeof fresh === "string";
  let at = 0, next = 0;
  for (let i = 0; i < repeats.length; i += 3) {
    const [count, back, copied] = [repeats[i], repeats[i + 1], repeats[i + 2]];
    for (let k = 0; k < count; k++, at++, next++) out[at] = letters ? kindIndex[fresh[next]] : fresh[next] ?? NaN; // null: none
    for (let k = 0; k < copied; k++, at++) out[at] = out[at - back];
  }
  return out;
}

// What is inside each kind of block: segments first[i] … first[i + 1] of the columns.
function unfoldInsides(source) {
  const { size } = unfold(source.sizes, { size: 1 }), { length } = unfold(source.lengths_ps, { length: 0 });
  const segments = unfold(source.segments, { kind: 0, what: -1, layer: 0, count: 1 });
  const first = new Uint32Array(size.length + 1), total = new Float64Array(size.length);
  size.forEach((n, i) => {
    first[i + 1] = first[i] + n;
    for (let k = first[i]; k < first[i + 1]; k++) total[i] += length[k];
  });
  return { ...segments, length, first, total };
}

// Steps from one row to the next → values; NaN: none, written as `none`.
function addUp(steps, none) {
  let value = 0;
  return steps.map((step) => (Number.isNaN(step) ? none : (value += step)));
}

function rowBlocks(table, first, n, insides) {
  const part = (name) => table[name].subarray(first, first + n);
  const inside = part("inside"), start = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) start[i + 1] = start[i] + insides.total[inside[i]];
  return { n, inside, start, end: start.subarray(1), microBatch: addUp(part("micro_batch"), -1), chunk: part("chunk"), layer: addUp(part("layer"), 0) };
}

// A row of the timeline: what its ranks did at each moment.
class Row {
  constructor(source, timeline, blocks) {
    Object.assign(this, source, { timeline, blocks });
  }

  // Every block with its kinds side by side: the row seen from afar.
  get coarse() { return (this.unfolded ??= this.pieces(0, this.blocks.n, true)); }

  // Every segment of the blocks from … to.
  fine(from, to) {
    if (this.seen?.from !== from || this.seen?.to !== to) this.seen = { from, to, items: this.pieces(from, to, false) };
    return this.seen.items;
  }

  segmentsIn(from, to) {
    const { first } = this.timeline.insides;
    let n = 0;
    for (let i = from; i < to; i++) n += first[this.blocks.inside[i] + 1] - first[this.blocks.inside[i]];
    return n;
  }

  pieces(from, to, byKind) {
    const { blocks } = this, { insides } = this.timeline, list = [], starts = [];
    let at = blocks.start[from];
    for (let b = from; b < to; b++)
      for (const piece of byKind ? this.timeline.kindsInside(blocks.inside[b]) : segmentsInside(insides, blocks.inside[b])) {
        starts.push(at);
        at += piece.length;
        list.push({ piece, b });
      }
    starts.push(at);
    const start = Float64Array.from(starts), column = (value) => Float64Array.from(list, value);
    return { n: list.length, start, end: start.subarray(1), kind: Uint8Array.from(list, (x) => x.piece.kind), what: column((x) => x.piece.what),
      count: column((x) => x.piece.count), layer: column((x) => blocks.layer[x.b] + x.piece.layer), microBatch: column((x) => blocks.microBatch[x.b]),
      chunk: column((x) => blocks.chunk[x.b]) };
  }

  // Picoseconds of each kind between two moments.
  sums(from = 0, to = this.timeline.end) {
    const sums = new Float64Array(kinds.length), { blocks } = this, { insides } = this.timeline;
    for (let b = firstAfter(blocks.end, blocks.n, from); b < blocks.n && blocks.start[b] < to; b++) {
      if (blocks.start[b] >= from && blocks.end[b] <= to) {
        for (const piece of this.timeline.kindsInside(blocks.inside[b])) sums[piece.kind] += piece.length;
        continue;
      }
      let at = blocks.start[b];
      for (const piece of segmentsInside(insides, blocks.inside[b])) {
        sums[piece.kind] += Math.max(0, Math.min(to, at + piece.length) - Math.max(from, at));
        at += piece.length;
      }
    }
    return sums;
  }
}

function* segmentsInside(insides, inside) {
  let layer = 0;
  for (let k = insides.first[inside]; k < insides.first[inside + 1]; k++) {
    layer += insides.layer[k];
    yield { kind: insides.kind[k], length: insides.length[k], what: insides.what[k], layer, count: insides.count[k] };
  }
}

// First index whose end is after t.
export function firstAfter(end, n, t) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle] > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

class Decoded {
  constructor(source, path) {
    Object.assign(this, { end: source.end_ps, detail: source.detail, cell: source.cell_ps, spans: source.spans, what: source.what, source });
    this.insides = unfoldInsides(source.insides);
    this.byKind = [];
    this.rows = this.unfoldRows();
    this.path = path ? decodePath(path) : null;
  }

  unfoldRows() {
    const table = unfold(this.source.blocks, { inside: 0, micro_batch: NaN, chunk: 0, layer: 0 });
    let first = 0, fresh = 0;
    for (let i = 0; i < table.n; i++) if (table.inside[i] < 0) table.inside[i] = fresh++; // one that was not there before
    return this.source.rows.map((row) => {
      const blocks = rowBlocks(table, first, row.blocks, this.insides);
      first += row.blocks;
      return new Row(row, this, blocks);
    });
  }

  // The kinds of a block side by side, in the order of their first, communication by
  // group; `what` is the longest.
  kindsInside(inside) {
    return (this.byKind[inside] ??= this.addUpKinds(inside));
  }

  addUpKinds(inside) {
    const sums = new Map();
    for (const s of segmentsInside(this.insides, inside)) {
      const key = s.kind === COMM && s.what >= 0 ? this.what[s.what][3] : s.kind, sum = sums.get(key);
      if (!sum) { sums.set(key, { ...s, longest: s.length }); continue; }
      if (s.length > sum.longest) Object.assign(sum, { longest: s.length, what: s.what, layer: s.layer });
      sum.length += s.length;
      sum.count += s.count;
    }
    return [...sums.values()];
  }

  // Transfers on the streams of each row; unfolded when they are first asked for.
  lanes(row) {
    this.lanesOf ??= this.unfoldLanes();
    return this.lanesOf.get(row);
  }

  unfoldLanes() {
    const table = unfold(this.source.lane_items, { gap: 0, length: 0, wait: 0, busy: NaN, what: -1, micro_batch: NaN, chunk: 0, count: 1 });
    const lanes = new Map();
    let first = 0;
    for (const row of this.rows)
      lanes.set(row, row.lanes.map((head) => {
        const lane = laneItems(table, first, head);
        first += head.items;
        return { ...lane, ...laneGroup(lane, this.what), name: head.name || `stream ${head.stream}` };
      }));
    return lanes;
  }
}

function laneItems(table, first, { items: n }) {
  const part = (name) => table[name].subarray(first, first + n);
  const gap = part("gap"), length = part("length"), start = new Float64Array(n), end = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i++) {
    start[i] = at + gap[i];
    at = end[i] = start[i] + length[i];
  }
  return { n, start, end, wait: part("wait"), busy: part("busy").map((b, i) => (Number.isNaN(b) ? length[i] : b)), what: part("what"),
    microBatch: addUp(part("micro_batch"), -1), chunk: part("chunk"), count: part("count") };
}

// The group a stream works most for; null: it computes.
function laneGroup(lane, what) {
  const time = new Map();
  for (let i = 0; i < lane.n; i++) {
    const group = lane.what[i] < 0 ? "" : what[lane.what[i]][3];
    time.set(group, (time.get(group) ?? 0) + lane.busy[i] - lane.wait[i]);
  }
  const [group] = [...time].sort((a, b) => b[1] - a[1])[0] ?? [""];
  return { group: group || null };
}

export const decodeTimeline = (source, path) => (source?.blocks ? new Decoded(source, path) : null);

function decodePath(source) {
  const pieces = [];
  let at = 0;
  source.length_ps.forEach((length, i) => {
    pieces.push({ class: source.row[i], start: at, end: at + length, kind: kindIndex[source.kind[i]] });
    at += length;
  });
  return pieces;
}
