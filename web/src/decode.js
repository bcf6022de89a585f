// The compact timeline of a result (docs/report.md) → typed columns.
import { kindIndex } from "./kinds.js";

const column = (source, n, usual) => (source ? Float64Array.from(source) : new Float64Array(n).fill(usual));

function segments(source, lengths) {
  const n = source.length.length;
  const start = new Float64Array(n + 1), kind = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    start[i + 1] = start[i] + lengths[source.length[i]];
    kind[i] = kindIndex[source.kind[i]];
  }
  return { n, start, kind, end: start.subarray(1), what: column(source.what, n, -1),
    microBatch: column(source.micro_batch, n, -1), chunk: column(source.chunk, n, 0), count: column(source.count, n, 1) };
}

function lane(source, lengths) {
  const n = source.length.length;
  const start = new Float64Array(n), end = new Float64Array(n), wait = new Float64Array(n), busy = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i++) {
    start[i] = at + lengths[source.gap[i]];
    at = end[i] = start[i] + lengths[source.length[i]];
    wait[i] = source.wait ? lengths[source.wait[i]] : 0;
    busy[i] = source.busy ? lengths[source.busy[i]] : end[i] - start[i];
  }
  return { n, name: source.name || `stream ${source.stream}`, start, end, wait, busy, what: column(source.what, n, -1),
    microBatch: column(source.micro_batch, n, -1), chunk: column(source.chunk, n, 0), count: column(source.count, n, 1) };
}

const phaseDirection = { forward: 0, backward: 1, wgrad: 1, recompute: 1, update: 2 };
const kindDirection = [0, 1, 1, 1, 2];

// Seen from afar: the operations of one micro-batch in one direction as one
// block, each kind side by side (as lib/report/page_timeline.c does it).
function coarse(s, what) {
  const direction = (i) => (s.kind[i] < 5 ? kindDirection[s.kind[i]] : s.kind[i] === 5 && s.what[i] >= 0 ? phaseDirection[what[s.what[i]][2]] : -1);
  const out = { kind: [], start: [0], what: [], microBatch: [], chunk: [], count: [] };
  const add = (kind, length, from, count) => {
    out.start.push(out.start[out.start.length - 1] + length);
    out.kind.push(kind); out.what.push(s.what[from]); out.microBatch.push(s.microBatch[from]); out.chunk.push(s.chunk[from]); out.count.push(count);
  };
  for (let i = 0, k; i < s.n; i = k) {
    const d = direction(i), lengths = new Float64Array(6), counts = new Uint32Array(6), longest = new Int32Array(6).fill(-1);
    for (k = i; k < s.n && (k === i || (d >= 0 && direction(k) === d && s.microBatch[k] === s.microBatch[i] && s.chunk[k] === s.chunk[i])); k++) {
      if (d < 0) continue;
      const kind = s.kind[k], length = s.end[k] - s.start[k], best = longest[kind];
      lengths[kind] += length; counts[kind] += s.count[k];
      if (best < 0 || length > s.end[best] - s.start[best]) longest[kind] = k;
    }
    if (d < 0) add(s.kind[i], s.end[i] - s.start[i], i, s.count[i]);
    else lengths.forEach((length, kind) => { if (length) add(kind, length, longest[kind], counts[kind]); });
  }
  const start = Float64Array.from(out.start);
  return { ...out, n: out.kind.length, start, end: start.subarray(1) };
}

// Times stay in picoseconds here: whole numbers, so that sums are exact.
export function decodeTimeline(source, path) {
  if (!source) return null;
  const lengths = source.lengths_ps;
  const rows = source.rows.map((row) => {
    const fine = segments(row.segments, lengths);
    return { ...row, segments: fine, blocks: coarse(fine, source.what), lanes: row.lanes.map((l) => lane(l, lengths)) };
  });
  return { end: source.end_ps, detail: source.detail, cell: source.cell_ps, spans: source.spans,
    what: source.what, rows, path: path ? decodePath(path) : null };
}

function decodePath(source) {
  const pieces = [];
  let at = 0;
  source.length_ps.forEach((length, i) => {
    pieces.push({ class: source.row[i], start: at, end: at + length, kind: kindIndex[source.kind[i]] });
    at += length;
  });
  return pieces;
}

// Picoseconds of each kind in a row.
export function sumKinds(row) {
  const sums = new Float64Array(9), { n, start, end, kind } = row.segments;
  for (let i = 0; i < n; i++) sums[kind[i]] += end[i] - start[i];
  return sums;
}
