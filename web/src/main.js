import { h } from "./dom.js";
import { decodeTimeline } from "./decode.js";
import * as r from "./report.js";
import * as c from "./compare.js";
import { moduleSection } from "./modules.js";
import * as packet from "./packet.js";
import * as plans from "./plans.js";
import * as sweep from "./sweep.js";
import * as train from "./train.js";
import { copyButton } from "./save.js";

// { results: [one or two], names: [what they were called] }
const { results, names } = JSON.parse(document.getElementById("data").textContent);

function themeButton() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => (dark() ? "Light" : "Dark");
  const button = h("button", { type: "button", class: "theme", onclick: () => { root.dataset.theme = dark() ? "light" : "dark"; changed(); } });
  const changed = () => { button.textContent = label(); button.setAttribute("aria-label", `${label()} colours`); window.dispatchEvent(new Event("themechange")); };
  system.addEventListener("change", changed);
  button.textContent = label();
  button.setAttribute("aria-label", `${label()} colours`);
  return button;
}

// Paper is white: in dark colours a report is printed in light ones.
function printInLight() {
  const root = document.documentElement, redraw = () => window.dispatchEvent(new Event("themechange"));
  let theme;
  window.addEventListener("beforeprint", () => { theme = root.dataset.theme; root.dataset.theme = "light"; redraw(); });
  window.addEventListener("afterprint", () => { if (theme) root.dataset.theme = theme; else delete root.dataset.theme; redraw(); });
}

function head(title, commands, sections) {
  return h("header", { class: "head" },
    h("div", { class: "head-line" }, h("p", { class: "brand" }, h("i", { class: "mark", "aria-hidden": "true" }), "stepcast"), themeButton()),
    h("h1", {}, title), commands,
    h("nav", { "aria-label": "Sections" }, sections.map((s) => h("a", { href: `#${s.id}` }, s.querySelector("h2").textContent))));
}

const short = (path) => (path.startsWith("sim:") ? "simulated " : "") + path.replace(/^sim:/, "").replace(/\/$/, "").split("/").pop();
function file(result) {
  const words = result.command ?? [], model = words.findIndex((w) => w === "--model" || w.startsWith("--model="));
  if (result.input?.files?.length) return short(result.input.files[0]);
  return model < 0 ? result.input?.format ?? "a step" : short(words[model].split("=")[1] ?? words[model + 1]);
}
const quoted = (word) => (/^[\w./:=,+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// The command of a result, to be copied.
function commandLine(result, name) {
  if (!result.command?.length) return null;
  const text = result.command.map(quoted).join(" ");
  return h("p", { class: "subtitle" }, name ? h("strong", {}, `${name} `) : null, h("code", {}, text), " ", copyButton(text, `Copy the command${name ? ` of ${name}` : ""}`));
}

// Of a step whose network is packets: its transfers, packet by packet.
const transfers = (page) => [packet.packetControls(page), packet.packetHeat(page), packet.packetPauses(page), packet.packetDistributions(page), packet.packetFlows(page)];

function one(result, beside) {
  const timeline = decodeTimeline(result.timeline, result.critical_path);
  const timelinePart = r.timelineSection(result, timeline);
  const sections = [r.settingsSection(result), r.breakdown(result), timelinePart, r.pathSection(result), r.commSection(result), r.memorySection(result, timeline),
    r.linkSection(result), ...(beside ? transfers(beside) : []), r.whatifSection(result), moduleSection(result, timeline), r.operationSection(result, timelinePart.timeline), r.clusterSection(result), r.notes(result)].filter(Boolean);
  const title = `One training step: ${file(result)}`;
  document.title = `${file(result)} · stepcast`;
  return [head(title, commandLine(result), sections), h("main", { id: "main" }, r.headline(result), sections)];
}

function run(forecast) {
  const sections = [train.trainProgress(forecast), train.trainLosses(forecast), train.trainInterval(forecast), train.trainWhatif(forecast), r.notes({ input: forecast.forecast })].filter(Boolean);
  document.title = "A run · stepcast";
  return [head("A training run", commandLine(forecast), sections), h("main", { id: "main" }, train.trainHeadline(forecast), sections)];
}

function search(found) {
  const sections = [plans.plansScatter(found), plans.plansHeat(found), plans.plansTable(found), r.notes({ input: found.search })].filter(Boolean);
  document.title = "Plans · stepcast";
  return [head("Plans", commandLine(found), sections), h("main", { id: "main" }, plans.plansHeadline(found), sections)];
}

function grid(points) {
  const sections = [sweep.sweepMap(points), sweep.sweepTable(points), r.notes({ input: points })].filter(Boolean);
  document.title = "A sweep · stepcast";
  return [head("A sweep", commandLine(points), sections), h("main", { id: "main" }, sections)];
}

function packets(runs) {
  const sections = [packet.packetControls(runs), packet.packetHeat(runs), packet.packetPauses(runs), packet.packetDistributions(runs), packet.packetLinks(runs),
    packet.packetFlows(runs), r.notes({ input: runs })].filter(Boolean);
  document.title = "Packets · stepcast";
  return [head(runs.what ? `${runs.what}, packet by packet` : "Flows, packet by packet", commandLine(runs), sections), h("main", { id: "main" }, packet.packetHeadline(runs), sections)];
}

function two(a, b) {
  const sections = [c.compareBreakdown(a, b), c.compareTimelines(decodeTimeline(a.timeline, a.critical_path), decodeTimeline(b.timeline, b.critical_path)),
    c.compareGroups(a, b), c.compareOperations(a, b)].filter(Boolean);
  const title = `${short(names[0])} and ${short(names[1])}`;
  document.title = `${title} · stepcast`;
  return [head(`Two steps: ${title}`, [commandLine(a, "A"), commandLine(b, "B")], sections), h("main", { id: "main" }, c.compareHeadline(a, b, names.map(short)), sections)];
}

printInLight();
const version = results[0].version;
const content = results[1]?.of ? one(...results) : results.length > 1 ? two(...results) : ({ "stepcast/train-page/1": run, "stepcast/plans-page/1": search, "stepcast/sweep-page/1": grid, "stepcast/packet-page/1": packets }[results[0].schema] ?? one)(results[0]);
const source = results.some((x) => x.measured) ? (results.every((x) => x.measured) ? "Times are measured" : "Times are measured and simulated") : "Times are simulated";
document.getElementById("app").replaceChildren(...content,
  h("footer", {}, `stepcast ${version ?? ""}. ${source}; this file is complete in itself and needs no network.`));
