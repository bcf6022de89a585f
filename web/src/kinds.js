// What a moment can be. Colours: Okabe and Ito's set, made to be told apart by
// everyone; the bubble is hatched besides. --kind-… in style.css holds them.
export const kinds = [
  { code: "F", key: "forward", title: "forward" },
  { code: "B", key: "backward", title: "backward" },
  { code: "W", key: "wgrad", title: "weight gradient" },
  { code: "R", key: "recompute", title: "recompute" },
  { code: "U", key: "update", title: "update" },
  { code: "C", key: "comm", title: "exposed communication" },
  { code: "b", key: "bubble", title: "bubble" },
  { code: "s", key: "skew", title: "skew" },
  { code: "o", key: "other", title: "host, other" },
];

export const kindIndex = Object.fromEntries(kinds.map((k, i) => [k.code, i]));
export const BUBBLE = kindIndex.b, COMM = kindIndex.C;

const property = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const color = (key) => property(`--kind-${key}`);

// Groups of communication: one colour each, the same in every chart and on every page.
const ownColour = ["tp", "cp", "ep", "dp", "pp"];
const relatives = { etp: "tp", edp: "dp", dp_ep: "dp", "dp-cp": "dp", dp_cp: "dp", fsdp: "dp", zero: "dp" };
const groupKey = (label) => (ownColour.includes(label) ? label : relatives[label] ?? "rest");
export const groupVariable = (label) => `var(--group-${groupKey(label)})`;
export const groupColor = (label) => property(`--group-${groupKey(label)}`);

// The parts of a breakdown in the order they are stacked: [key, title, us, colour].
export function parts(breakdown, labels) {
  const list = [["compute", "compute", breakdown.compute, "var(--kind-forward)"],
    ["recompute", "recompute", breakdown.recompute, "var(--kind-recompute)"]];
  for (const label of labels) list.push([`comm:${label}`, `${label} communication`, breakdown.exposed_comm[label] ?? 0, groupVariable(label)]);
  list.push(["bubble", "bubble", breakdown.bubble, "url(#hatch)"],
    ["skew", "skew", breakdown.skew, "var(--kind-skew)"], ["other", "host, other", breakdown.other, "var(--kind-other)"]);
  return list;
}

// Labels of communication that took any time in one of the breakdowns.
export function labelsOf(breakdowns) {
  const seen = new Set();
  for (const b of breakdowns)
    for (const [label, us] of Object.entries(b.exposed_comm ?? {})) if (us > 0) seen.add(label);
  return [...seen];
}
