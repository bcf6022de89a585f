// The report page in headless Chromium: page.mjs REPORT.html RESULT.json COMPARE.html OUT CHROMIUM
// RESULT.json is what the page was made from; figures on the page are held
// against it. Screenshots go to OUT.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [, , report, resultFile, comparePage, out, executablePath] = process.argv;
const result = JSON.parse(readFileSync(resultFile, "utf8"));
const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"] });

let page, problems;
async function open(file, width, colorScheme) {
  if (page) await page.context().close();
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, offline: true });
  page = await context.newPage();
  problems = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) problems.push(m.text()); });
  page.on("pageerror", (e) => problems.push(e.message));
  page.on("request", (r) => { if (!/^(file|data|blob):/.test(r.url())) problems.push(`asks for ${r.url()}`); });
  await page.goto(`file://${file}`);
  await page.waitForSelector("main");
  await page.waitForTimeout(200);
}

async function test(name, body) {
  try {
    await body();
    console.log(`ok page: ${name}`);
  } catch (e) {
    console.log(`not ok page: ${name}\n# ${String(e.message).split("\n").slice(0, 12).join("\n# ")}`);
  }
}

function same(a, b, what) {
  if (!(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b)))) throw new Error(`${what}: ${a} is not ${b}`);
}
function check(condition, what) { if (!condition) throw new Error(what); }

// The numbers of a column of a table, by its heading.
const column = (table, title) => page.$eval(`#${table}`, (t, wanted) => {
  const i = [...t.tHead.rows[0].cells].findIndex((c) => c.textContent === wanted);
  return i < 0 ? null : [...t.tBodies[0].rows].map((r) => (r.cells[i].dataset.value === undefined ? r.cells[i].textContent : Number(r.cells[i].dataset.value)));
}, title);

// Text that does not fit where it stands, or a page wider than the window.
const overflows = () => page.evaluate(() => {
  const bad = [];
  if (document.scrollingElement.scrollWidth > window.innerWidth) bad.push(`the page is ${document.scrollingElement.scrollWidth} wide`);
  for (const e of document.querySelectorAll("h1,h2,p,dt,dd,li,button,label,td,th,summary,figcaption,code,a,nav")) {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!box.width || e.closest(".hidden,.skip,details:not([open]) > :not(summary)")) continue;
    if (style.display !== "inline" && e.scrollWidth > e.clientWidth + 1) bad.push(`${e.tagName} "${e.textContent.slice(0, 40)}" needs ${e.scrollWidth}, has ${e.clientWidth}`);
    if (!e.closest(".scroll") && (box.right > window.innerWidth + 1 || box.left < -1)) bad.push(`${e.tagName} "${e.textContent.slice(0, 40)}" leaves the window`);
  }
  for (const t of document.querySelectorAll("figure svg text")) {
    const box = t.getBoundingClientRect(), frame = t.closest("section").getBoundingClientRect();
    if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1)) bad.push(`chart text "${t.textContent}" leaves its section`);
  }
  return bad;
});

const serious = async () => {
  await page.addScriptTag({ content: axe });
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 4).join(", ")}`);
};

await open(report, 1280, "light");
await test("loads from disk without errors, warnings or requests", () => check(!problems.length, problems.join("; ")));

await test("shows the step time of the JSON", async () => {
  same(Number(await page.getAttribute("#step-time", "data-us")), result.step_time_us, "step time");
  const text = await page.textContent("#step-time"), factor = { s: 1e6, ms: 1e3, "µs": 1 }[text.split(" ")[1]];
  check(Math.abs(parseFloat(text) * factor / result.step_time_us - 1) < 1e-3, `"${text}" for ${result.step_time_us} us`);
});

await test("sums of the breakdown equal the JSON", async () => {
  await page.locator("#breakdown summary").click();
  const parts = { compute: (b) => b.compute, recompute: (b) => b.recompute, "bubble": (b) => b.bubble, skew: (b) => b.skew, "host, other": (b) => b.other };
  for (const label of Object.keys(result.breakdown_us.exposed_comm)) parts[`${label} communication`] = (b) => b.exposed_comm[label];
  const sums = result.ranks.map(() => 0);
  for (const [title, value] of Object.entries(parts)) {
    const shown = await column("breakdown-table", title);
    result.ranks.forEach((r, i) => {
      same(shown ? shown[i] : 0, value(r.breakdown_us), `${title} of class ${i}`);
      sums[i] += shown ? shown[i] : 0;
    });
  }
  sums.forEach((sum, i) => same(sum, result.ranks[i].step_time_us, `all parts of class ${i}`));
});

await test("bubbles of the timeline are the bubble of the breakdown", async () => {
  await page.locator("#timeline summary").click();
  const shown = await column("timeline-table", "bubble");
  check(shown.length === result.ranks.length, `${shown.length} rows`);
  result.ranks.forEach((r, i) => same(shown[i], r.breakdown_us.bubble, `bubble of class ${i}`));
});

await test("communication and critical path add up as in the JSON", async () => {
  const groups = await column("comm-table", "group"), exposed = await column("comm-table", "exposed"), volume = await column("comm-table", "volume");
  groups.forEach((g, i) => { same(exposed[i], result.comm[g].exposed_us, g); same(volume[i], result.comm[g].bytes, g); });
  same((await column("path-table", "time")).reduce((a, x) => a + x, 0), result.step_time_us, "critical path");
});

await test("hover names the operation", async () => {
  const canvas = page.locator("canvas.timeline");
  await canvas.scrollIntoViewIfNeeded();
  await canvas.hover({ position: { x: 78, y: 28 } });
  const tip = page.locator(".tip");
  check(await tip.isVisible(), "no tip");
  const text = await tip.textContent();
  check(/^forward · stage 0/.test(text) && /micro-batch0/.test(text), `tip says "${text}"`);
  await page.mouse.move(5, 5);
  check(!(await tip.isVisible()), "the tip stays");
});

const view = () => page.$eval("canvas.timeline", (c) => [Number(c.dataset.from), Number(c.dataset.to)]);
await test("wheel, buttons, keys and dragging move the view", async () => {
  const canvas = page.locator("canvas.timeline"), whole = await view();
  check(whole[0] === 0 && Math.abs(whole[1] / 1e6 - result.step_time_us) < 1, `begins with ${whole}`);
  await canvas.hover({ position: { x: 400, y: 60 } });
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await page.waitForTimeout(60);
  const near = await view();
  check(near[1] - near[0] < 0.6 * (whole[1] - whole[0]), `the wheel gave ${near}`);
  await page.mouse.down();
  await page.mouse.move(300, 400, { steps: 3 });
  await page.mouse.up();
  await page.waitForTimeout(60);
  const dragged = await view();
  check(dragged[0] !== near[0] && Math.abs((dragged[1] - dragged[0]) / (near[1] - near[0]) - 1) < 1e-6, `dragging gave ${dragged}`);
  await canvas.focus();
  await page.keyboard.press("0");
  await page.keyboard.press("+");
  await page.waitForTimeout(60);
  const keyed = await view();
  check(keyed[1] - keyed[0] < 0.7 * whole[1], `the keys gave ${keyed}`);
  await page.getByRole("button", { name: "All: show the whole step" }).click();
  await page.waitForTimeout(60);
  same((await view())[1], whole[1], "all");
});

await test("Shift and dragging zooms into a range", async () => {
  const canvas = page.locator("canvas.timeline"), box = await canvas.boundingBox(), [from, to] = await view();
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 300, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 60, { steps: 4 });
  check(await page.locator(".selection").isVisible(), "nothing is marked");
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.waitForTimeout(60);
  const [a, b] = await view(), perPixel = (to - from) / (box.width - 75);
  check(Math.abs((b - a) / (200 * perPixel) - 1) < 0.02, `shows ${a} to ${b}`);
  await page.keyboard.press("0");
  await page.getByRole("button", { name: "All: show the whole step" }).click();
  await page.waitForTimeout(60);
});

const ink = () => page.$eval("canvas.timeline", (c) => c.toDataURL());
await test("critical path and streams can be switched", async () => {
  const before = await ink();
  await page.getByRole("checkbox", { name: "critical path" }).check();
  check((await ink()) !== before, "the critical path changed nothing");
  await page.locator("#timeline").screenshot({ path: `${out}/critical-path.png` });
  await page.getByRole("checkbox", { name: "critical path" }).uncheck();
  await page.getByRole("checkbox", { name: "streams" }).click();
  check((await ink()) !== before, "the streams changed nothing");
});

await test("the table of operations sorts and searches", async () => {
  const head = page.locator("#operation-table th", { hasText: "name" });
  await head.getByRole("button").click();
  check((await head.getAttribute("aria-sort")) === "ascending", "aria-sort");
  const names = await column("operation-table", "name");
  check(names.length > 3 && names.join() === names.slice().sort().join(), `not sorted: ${names}`);
  await page.locator("#operation-table th", { hasText: "total" }).getByRole("button").click();
  const totals = await column("operation-table", "total");
  check(totals.every((x, i) => !i || totals[i - 1] >= x), `not sorted: ${totals}`);
  await page.fill("#operation-table-search", "mlp");
  const found = await column("operation-table", "name");
  check(found.length && found.every((n) => n.includes("mlp")), `search found ${found}`);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
  await open(report, width, scheme);
  await test(`nothing overflows at ${width} px (${scheme})`, async () => { const bad = await overflows(); check(!bad.length, bad.join("\n")); });
  await test(`axe finds nothing serious at ${width} px (${scheme})`, async () => { const bad = await serious(); check(!bad.length, bad.join("\n")); });
  await page.screenshot({ path: `${out}/report-${width}-${scheme}.png`, fullPage: true });
}

await test("the colours can be switched on the page", async () => {
  await open(report, 1280, "light");
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.getByRole("button", { name: "Dark colours" }).click();
  check((await back()) !== light, "nothing changed");
});

await test("it prints", async () => {
  const pdf = await page.pdf({ path: `${out}/report.pdf` });
  check(pdf.length > 20000, `${pdf.length} bytes of PDF`);
});

await open(comparePage, 1280, "light");
await test("a comparison shows both timelines and no errors", async () => {
  check(!problems.length, problems.join("; "));
  check((await page.locator("canvas.timeline").count()) === 1, "one axis");
  check(/^[+−±]/.test(await page.textContent("#difference")), "difference");
  const rows = await column("part-table", "part");
  check(rows.includes("compute"), `classes: ${rows}`);
  const bad = [...(await overflows()), ...(await serious())];
  check(!bad.length, bad.join("\n"));
});
await page.screenshot({ path: `${out}/compare-1280-light.png`, fullPage: true });
await open(comparePage, 390, "dark");
await test("a comparison fits 390 px", async () => { const bad = await overflows(); check(!bad.length, bad.join("\n")); });
await page.screenshot({ path: `${out}/compare-390-dark.png`, fullPage: true });
await browser.close();
