// Memory over the step, stage by stage. What is always there is the model's; the
// activations of a micro-batch are there from the begin of its forward to the end
// of its backward. Their size is such that the most there are at once is the peak.
import { kindIndex } from "./kinds.js";

const FORWARD = kindIndex.F, BACKWARD = [kindIndex.B, kindIndex.W, kindIndex.R], MOST_POINTS = 1500;

// [time, change] for every micro-batch that begins or ends in a row.
function changes(row) {
  const begins = new Map(), ends = new Map(), { blocks, timeline } = row;
  for (let b = 0; b < blocks.n; b++) {
    if (blocks.microBatch[b] < 0) continue;
    const key = `${blocks.microBatch[b]},${blocks.chunk[b]}`, pieces = timeline.kindsInside(blocks.inside[b]);
    if (pieces.some(({ kind }) => kind === FORWARD) && !begins.has(key)) begins.set(key, blocks.start[b]);
    if (pieces.some(({ kind }) => BACKWARD.includes(kind))) ends.set(key, blocks.end[b]);
  }
  const list = [];
  for (const [key, at] of begins) list.push([at, 1], [ends.get(key) ?? timeline.end, -1]);
  return list.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

// Points of a step-shaped line: { at (ps), bytes }. memory: the parts of this stage.
export function memoryOverTime(row, memory) {
  const fixed = Object.entries(memory).reduce((sum, [key, bytes]) => (["class", "stage", "activations"].includes(key) ? sum : sum + bytes), 0);
  const list = changes(row);
  let now = 0, most = 0;
  for (const [, by] of list) most = Math.max(most, (now += by));
  if (!most) return [];
  const each = memory.activations / most, points = [{ at: 0, bytes: fixed }];
  now = 0;
  for (const [at, by] of list) {
    now += by;
    const last = points[points.length - 1];
    if (last.at === at) last.bytes = fixed + now * each;
    else points.push({ at, bytes: fixed + now * each });
  }
  points.push({ at: row.timeline.end, bytes: points[points.length - 1].bytes });
  return thinned(points, row.timeline.end);
}

// The highest of each slice of time, where there are more points than pixels.
function thinned(points, end) {
  if (points.length <= MOST_POINTS) return points;
  const slices = new Map();
  for (const p of points) {
    const slice = Math.floor(p.at / end * MOST_POINTS), kept = slices.get(slice);
    if (!kept || p.bytes > kept.bytes) slices.set(slice, { ...p, at: kept ? kept.at : p.at });
  }
  return [...slices.values()];
}
