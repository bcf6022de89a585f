// Figures as people read them. Times come in microseconds.
const figures = (v) => (Math.abs(v) >= 100 ? v.toFixed(1) : Math.abs(v) >= 10 ? v.toFixed(2) : v.toFixed(3));

export function time(us) {
  const a = Math.abs(us);
  if (a === 0) return "0";
  if (a >= 1e6) return `${figures(us / 1e6)} s`;
  if (a >= 1e3) return `${figures(us / 1e3)} ms`;
  return a >= 1 ? `${figures(us)} µs` : `${figures(us * 1e3)} ns`;
}

export function bytes(n) {
  for (const [unit, size] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (n >= size) return `${figures(n / size)} ${unit}`;
  return `${n} B`;
}

export const gib = (n) => `${(n / 2 ** 30).toFixed(n < 10 * 2 ** 30 ? 2 : 1)} GiB`;
export const share = (x) => `${(x * 100).toFixed(Math.abs(x) < 0.0995 ? 2 : 1)} %`;
export const signed = (x, form) => (x > 0 ? "+" : x < 0 ? "−" : "±") + form(Math.abs(x));
export const count = (n) => Math.round(n).toLocaleString("en-US").replace(/,/g, "\u202f");
// Large counts in words: "61.5 million".
export const large = (n) => (n >= 1e9 ? `${(n / 1e9).toPrecision(3)} billion` : n >= 1e6 ? `${(n / 1e6).toPrecision(3)} million` : count(n));
// A count that may be a mean over ranks.
export const mean = (n) => (Number.isInteger(n) ? count(n) : n.toFixed(n < 10 ? 2 : 1));
export const rate = (bytesPerSecond) => `${bytes(bytesPerSecond)}/s`;
