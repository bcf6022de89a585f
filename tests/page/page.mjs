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

const findings = async () => {
  await page.addScriptTag({ content: axe });
  // every rule runs; what passes is not written up
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 4).join(", ")}`);
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
  await canvas.hover({ position: { x: 78, y: 8 } });
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

await test("Shift and dragging adds up a range", async () => {
  const canvas = page.locator("canvas.timeline"), box = await canvas.boundingBox(), [from, to] = await view();
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 300, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 60, { steps: 4 });
  check(await page.locator(".selection").isVisible(), "nothing is marked");
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.waitForTimeout(60);
  const marked = 200 * (to - from) / (box.width - 75);
  same((await column("range-table", "time")).reduce((a, x) => a + x, 0) * 1e6 / marked, 1, "parts of the range");
  await page.getByRole("button", { name: "Zoom to it" }).click();
  await page.waitForTimeout(60);
  const [a, b] = await view();
  check(Math.abs((b - a) / marked - 1) < 0.02, `shows ${a} to ${b}`);
  await page.getByRole("button", { name: "Let go" }).click();
  await page.getByRole("button", { name: "All: show the whole step" }).click();
  await page.waitForTimeout(60);
});

await test("a click pins a block and lists its kernels", async () => {
  const canvas = page.locator("canvas.timeline");
  await canvas.click({ position: { x: 80, y: 8 } });
  check(/^forward · stage 0/.test(await page.textContent(".panel")), "nothing is pinned");
  const names = await column("kernel-table", "operation"), times = await column("kernel-table", "time");
  check(names[0] === "embedding_layer" && names.includes("attention") && names.includes("mlp"), `kernels: ${names}`);
  same(times[names.indexOf("mlp")], 1000, "a millisecond of mlp");
  await canvas.focus();
  await page.keyboard.press("Escape");
  check(await page.locator(".panel").isHidden(), "Escape does not let go");
  await canvas.dblclick({ position: { x: 80, y: 8 } });
  await page.waitForTimeout(60);
  const [from, to] = await view();
  check(to - from < 12e9, `a double click shows ${from} to ${to}`); // a forward of 4.1 ms and what nothing hides
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
});

await test("W, A, S and D move the view", async () => {
  const width = async () => { await page.waitForTimeout(60); const [a, b] = await view(); return [a, b - a]; };
  await page.locator("canvas.timeline").focus();
  await page.keyboard.press("0");
  const [, whole] = await width();
  await page.keyboard.press("w");
  const [start, near] = await width();
  check(near < 0.7 * whole, "W does not zoom in");
  await page.keyboard.press("d");
  check((await width())[0] > start, "D does not pan");
  await page.keyboard.press("a");
  same((await width())[0], start, "A");
  await page.keyboard.press("s");
  same((await width())[1], whole, "S");
});

await test("search goes to an operation on the timeline", async () => {
  await page.fill("input.find", "optimizer");
  await page.press("input.find", "Enter");
  await page.waitForTimeout(60);
  check(/optimizer1/.test(await page.textContent(".panel")), "not pinned");
  const [, to] = await view();
  check(to / 1e6 > 0.9 * result.step_time_us, "the optimizer is at the end");
  await page.fill("input.find", "no such thing");
  await page.press("input.find", "Enter");
  check(/not on/.test(await page.textContent(".found")), "finds what is not there");
  await page.locator("#operation-table button.link", { hasText: "attention" }).first().click();
  check(/attention/.test(await page.textContent(".panel")), "the table does not lead to the timeline");
  await page.getByRole("button", { name: "Let go" }).click();
  await page.getByRole("button", { name: "All: show the whole step" }).click();
});

async function saved(button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
  return readFileSync(await download.path());
}

await test("timeline and tables can be saved, the command copied", async () => {
  check((await saved("Save the picture as PNG")).subarray(1, 4).toString() === "PNG", "no picture");
  const lines = (await saved("Save what is shown as CSV")).toString().trim().split("\n").map((l) => l.split(","));
  check(lines[0].join() === "row,start_us,end_us,kind,operation,micro_batch,chunk,operations", lines[0].join());
  const bubble = lines.filter((l) => l[0] === "stage 0" && l[3] === "bubble").reduce((sum, l) => sum + Number(l[2]) - Number(l[1]), 0);
  check(Math.abs(bubble / result.ranks[0].breakdown_us.bubble - 1) < 1e-6, `bubble ${bubble}`);
  const rows = (await saved('Save "Operations, longest first" as CSV')).toString().trim().split("\n");
  check(rows.length === result.operations.length + 1, `${rows.length} lines`);
  await page.getByRole("button", { name: "Copy the command" }).click();
  await page.waitForSelector(".copy >> text=Copied");
});

const ink = () => page.$eval("canvas.timeline", (c) => c.toDataURL());
await test("critical path and streams can be switched", async () => {
  const before = await ink();
  await page.locator("#timeline").screenshot({ path: `${out}/critical-path.png` });
  await page.getByRole("checkbox", { name: "critical path" }).uncheck();
  check((await ink()) !== before, "the critical path changed nothing");
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
  await test(`axe finds nothing at ${width} px (${scheme})`, async () => { const bad = await findings(); check(!bad.length, bad.join("\n")); });
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
  const bad = [...(await overflows()), ...(await findings())];
  check(!bad.length, bad.join("\n"));
});
await page.screenshot({ path: `${out}/compare-1280-light.png`, fullPage: true });
await open(comparePage, 390, "dark");
await test("a comparison fits 390 px", async () => { const bad = await overflows(); check(!bad.length, bad.join("\n")); });
await page.screenshot({ path: `${out}/compare-390-dark.png`, fullPage: true });

const model = JSON.parse(readFileSync(`${out}/model.json`, "utf8"));
await open(`${out}/model.html`, 1440, "light");
await test("a model: settings, band, what-if rows, kernels by name", async () => {
  check(!problems.length, problems.join("; "));
  const facts = await page.textContent("#settings");
  for (const word of ["llama3-8b", "4096", "bf16", model.settings.software]) check(facts.includes(word), `no ${word} in ${facts}`);
  check((await page.textContent("#band")).includes(model.band.mean_error_pct.toFixed(1)), "band");
  const rows = await column("change-table", "what if");
  for (const what of ["NICs twice as fast", "NVLink twice as fast", "GPUs compute twice as fast", "twice the micro-batches"]) check(rows.includes(what), `rows: ${rows}`);
  const names = (await column("operation-table", "name")).join();
  check(/qkv/.test(names) && /fc1/.test(names) && !/linear/.test(names), names);
});
await test("memory over the step reaches what each stage needs", async () => {
  const most = await page.$$eval("#memory figure", ([, chart]) => [...chart.querySelectorAll('[aria-label="line"] path')].map((path) => path.getBBox().y));
  check(most.length === 4, `${most.length} lines`);
  const totals = model.class_memory_bytes.map((m) => Object.entries(m).reduce((sum, [key, bytes]) => (["class", "stage"].includes(key) ? sum : sum + bytes), 0));
  const [first, last] = [most[0] - most[3], totals[3] - totals[0]]; // higher is a smaller y
  const axis = await page.$$eval("#memory figure", ([, chart]) => [...chart.querySelectorAll('[aria-label="y-axis tick"] path')].map((tick) => tick.getBoundingClientRect().y));
  const step = (axis[0] - axis[1]) / 10; // ticks of 10 GiB
  check(Math.abs(first / step - last / 2 ** 30) < 0.5, `${first / step} GiB apart, not ${last / 2 ** 30}`);
});
for (const [width, scheme] of [[1440, "light"], [390, "dark"]]) {
  await open(`${out}/model.html`, width, scheme);
  await test(`a model's page is sound at ${width} px (${scheme})`, async () => { const bad = await (width > 600 ? findings() : overflows()); check(!bad.length, bad.join("\n")); });
  await page.screenshot({ path: `${out}/model-${width}-${scheme}.png`, fullPage: true });
}

const trained = JSON.parse(readFileSync(`${out}/train.json`, "utf8"));
await open(`${out}/train.html`, 1280, "light");
await test("a run: progress, losses and the best interval", async () => {
  check(!problems.length, problems.join("; "));
  check((await page.textContent("#days")).startsWith(trained.days.p50.toPrecision(4)), "days");
  same((await column("loss-table", "days")).reduce((a, x) => a + x, 0), trained.days.without_loss / trained.ettr, "days by cause");
  const { progress, interval_curve: curve } = await page.$eval("#data", (e) => JSON.parse(e.textContent).results[0]);
  const [wall, done, what] = progress.at(-1);
  check(what === null && Math.abs(done / 86400 / trained.days.without_loss - 1) < 1e-9 && wall >= done, `ends with ${progress.at(-1)}`);
  check(progress.every(([at, counts], i) => counts <= at && (!i || at >= progress[i - 1][0])), "more done than time has passed");
  const best = curve.reduce((a, b) => (b[1] > a[1] ? b : a));
  check(Math.abs(best[0] / trained.checkpoint.best_interval_s - 1) < 0.13, `best at ${best[0]}`); // the grid's step is 12 %
});
for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  await open(`${out}/train.html`, width, scheme);
  await test(`a run's page is sound at ${width} px (${scheme})`, async () => { const bad = await (width > 600 ? findings() : overflows()); check(!bad.length, bad.join("\n")); });
}

const found = JSON.parse(readFileSync(`${out}/plans.json`, "utf8"));
for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  await open(`${out}/plans.html`, width, scheme);
  await test(`plans by time and memory at ${width} px (${scheme})`, async () => {
    check(!problems.length, problems.join("; "));
    (await column("plan-table", "step")).forEach((us, i) => same(us, found.plans[i].step_time_us, `plan ${i}`));
    check((await page.locator('#scatter [aria-label="dot"] circle').count()) === found.simulated - found.simulated_in_part, "one dot for each that was simulated to its end");
    const bad = await (width > 600 ? findings() : overflows());
    check(!bad.length, bad.join("\n"));
  });
}

const two = JSON.parse(readFileSync(`${out}/machines.json`, "utf8"));
await open(`${out}/machines.html`, 1280, "light");
await test("plans of two machines: what the GPUs of each hold", async () => {
  check(!problems.length, problems.join("; "));
  const said = (await page.locator('#scatter [aria-label="text"] text').allTextContents()).sort();
  const held = new Map([...two.plans, ...(two.other_machines ?? [])].map((p) => [p.cluster, p.capacity_bytes]));
  const wanted = [...held].map(([name, bytes]) => `capacity ${(bytes / 2 ** 30).toFixed(1)} GiB (${name})`).sort();
  check(held.size === 2 && said.join() === wanted.join(), `${said} is not ${wanted}`);
});

const swept = readFileSync(`${out}/sweep.csv`, "utf8").trim().split("\n").slice(1).map((line) => line.split(",")).filter((p) => p[3] === "ok");
for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  await open(`${out}/sweep.html`, width, scheme);
  await test(`a sweep as a map and a table at ${width} px (${scheme})`, async () => {
    check(!problems.length, problems.join("; "));
    const steps = await column("point-table", "step"), wanted = swept.map((p) => Number(p[4])).sort((a, b) => a - b);
    wanted.forEach((us, i) => same(steps[i], us, `point ${i}`));
    const cells = new Set(swept.map((p) => `${p[0]},${p[1]}`)).size;
    check((await page.locator('#map [aria-label="cell"] rect').count()) === cells, "one cell for each pair that runs");
    const bad = await (width > 600 ? findings() : overflows());
    check(!bad.length, bad.join("\n"));
  });
}

// without a --global-batch a step of tp 2 has half the tokens: it is shorter, and slower
const uneven = readFileSync(`${out}/unequal.csv`, "utf8").trim().split("\n").slice(1).map((line) => line.split(",")).filter((p) => p[2] === "ok");
await open(`${out}/unequal.html`, 1280, "light");
await test("a sweep of unequal batches: by tokens per second, with what is assumed", async () => {
  check(!problems.length, problems.join("; "));
  const rates = await column("point-table", "tokens/s"), wanted = uneven.map((p) => Number(p[7])).sort((a, b) => b - a);
  check(rates.length === 4, `${rates.length} points`);
  wanted.forEach((x, i) => same(rates[i], x, `point ${i}`));
  check((await page.textContent("#map h2")) === "Tokens per second by two options", await page.textContent("#map h2"));
  check((await page.textContent("#notes")).includes("tokens: tokens/s compare them"), await page.textContent("#notes"));
});

await open(`${out}/uneven.html`, 1280, "light");
await test("a comparison of unequal batches: tokens per second too", async () => {
  check(!problems.length, problems.join("; "));
  check((await page.textContent("#difference-tokens")).startsWith("\u2212"), await page.textContent("#difference-tokens"));
  check((await page.textContent("main")).includes("steps of 8\u202f192 and 4\u202f096 tokens"), "tokens of both");
});

const packets = JSON.parse(readFileSync(`${out}/packet.json`, "utf8")), controls = JSON.parse(readFileSync(`${out}/controls.json`, "utf8"));
await open(`${out}/packet.html`, 1440, "light");
await test("packets: links over time by keyboard, as in the JSON", async () => {
  check(!problems.length, problems.join("; "));
  const line = () => page.textContent("#heat-cell"), name = async () => (await line()).split(",")[0];
  const series = packets.series.links, queue = (link, k) => series.find((l) => l.name === link).queue_bytes[k];
  await page.focus("#heat-map");
  await page.keyboard.press("ArrowRight");
  const first = await name(), peak = packets.links.reduce((a, l) => (l.peak_queue_bytes > a.peak_queue_bytes ? l : a));
  check(packets.links.some((l) => l.pauses) || first === peak.name, `${first} is first, not ${peak.name}`);
  const shown = /queue ([0-9.]+) (B|kB|MB)/.exec(await line()), bytes = shown[1] * { B: 1, kB: 1e3, MB: 1e6 }[shown[2]];
  check(Math.abs(bytes / queue(first, 1) - 1) < 1e-3, `queue ${bytes}, not ${queue(first, 1)}`);
  check(await page.isVisible(".heat-cursor"), "no frame around the cell");
  await page.keyboard.press("ArrowDown");
  check((await name()) !== first, "the row below is another link");
  await page.keyboard.press("End");
  check((await line()).includes(`${packets.series.count * packets.series.interval_ns / 1e3}`.slice(0, 4)), await line());
});
await test("packets: figures and distributions are those of the JSON", async () => {
  const ended = packets.flows.filter((x) => x.fct_ns != null).map((x) => x.fct_ns).sort((a, b) => a - b);
  const data = JSON.parse(await page.textContent("#data")).results[0].runs[0];
  check(JSON.stringify(data.fct_ns) === JSON.stringify(ended), "completion times");
  const wanted = packets.flows.map((x) => x.slowdown).sort((a, b) => b - a);
  (await column("flow-table", "slowdown")).forEach((x, i) => same(x, wanted[i], `slowdown ${i}`));
  const used = packets.links.map((l) => l.use).sort((a, b) => b - a);
  (await column("link-table", "use")).forEach((x, i) => same(x, used[i], `use ${i}`));
  check((await page.locator("#fct svg path, #slowdown svg path").count()) >= 2, "two curves");
  await page.selectOption("#heat select", "queue");
  check((await page.textContent("#heat figure")).includes("longest queue"), "the map shows queues");
});
await page.screenshot({ path: `${out}/packet-1440-light.png`, fullPage: true });
for (const [file, width, scheme] of [["packet", 1440, "light"], ["controls", 1280, "dark"], ["controls", 390, "light"], ["packet", 390, "dark"]]) {
  await open(`${out}/${file}.html`, width, scheme);
  await test(`the page of ${file} is sound at ${width} px (${scheme})`, async () => { const bad = [...(await overflows()), ...(await findings())]; check(!bad.length, bad.join("\n")); });
  await page.screenshot({ path: `${out}/${file}-${width}-${scheme}.png`, fullPage: true });
}
await open(`${out}/controls.html`, 1280, "light");
await test("controls beside each other are those of the JSON", async () => {
  check(!problems.length, problems.join("; "));
  const ends = controls.controls.map((c) => c.makespan_ns).sort((a, b) => a - b);
  (await column("control-table", "last end")).forEach((ns, i) => same(ns, ends[i], `end ${i}`));
  check((await column("control-table", "control")).includes("hpcc"), "hpcc has a row");
});

await open(`${out}/transfers.html`, 1440, "light");
await test("a step's transfers, packet by packet, stand in its report", async () => {
  check(!problems.length, problems.join("; "));
  const [step, beside] = JSON.parse(await page.textContent("#data")).results;
  check(step.step_time_us > 0 && (await page.isVisible("#timeline")), "the step itself");
  const rows = await page.locator("#control-table tbody tr").allTextContents();
  check(rows.length === beside.runs.length && rows.length > 1, `${rows.length} transfers`);
  beside.runs.forEach((run, i) => check(rows[i].startsWith(run.cc), `${rows[i]} is not ${run.cc}`));
  (await column("control-table", "last end")).forEach((us, i) => same(us, beside.runs[i].makespan_ns, `end ${i}`));
  const link = async () => (await page.textContent("#heat-cell")).split(",")[0];
  check((await link()) === beside.runs[0].links[0].name, await link());
  await page.selectOption("#heat select >> nth=1", "1");
  check((await link()) === beside.runs[1].links[0].name, await link());
});
for (const [width, scheme] of [[1440, "light"], [390, "dark"]]) {
  await open(`${out}/transfers.html`, width, scheme);
  await test(`the page of a step of packets is sound at ${width} px (${scheme})`, async () => { const bad = [...(await overflows()), ...(width > 600 ? await findings() : [])]; check(!bad.length, bad.join("\n")); });
  await page.screenshot({ path: `${out}/transfers-${width}-${scheme}.png`, fullPage: true });
}

await open(`${out}/capture.html`, 1280, "light");
await test("a capture by module: the parts are all of its compute", async () => {
  check(!problems.length, problems.join("; "));
  const names = await column("module-table", "module"), total = (await column("module-table", "total")).reduce((a, x) => a + x, 0);
  check(names.includes("bert.encoder.layer.*.attention.self"), names.join());
  same(total, JSON.parse(readFileSync(`${out}/capture.json`, "utf8")).breakdown_us.compute, "modules");
});

// 64 stages × 512 micro-batches of 4.1 ms forward and twice that backward, on a
// network that takes no time: where each block must begin follows from 1F1B alone.
function starts1f1b(stages, batches, begin, forward, backward) {
  const order = (s) => {
    const warm = Math.min(batches, stages - s - 1), list = [];
    for (let i = 0; i < warm; i++) list.push(["F", i]);
    for (let i = warm; i < batches; i++) list.push(["F", i], ["B", i - warm]);
    for (let i = batches - warm; i < batches; i++) list.push(["B", i]);
    return list;
  };
  const orders = Array.from({ length: stages }, (_, s) => order(s)), at = new Array(stages).fill(0), free = new Array(stages).fill(begin);
  const end = { F: orders.map(() => []), B: orders.map(() => []) }, starts = orders.map(() => []);
  for (let moved = true; moved;) {
    moved = false;
    for (let s = 0; s < stages; s++)
      for (; at[s] < orders[s].length; at[s]++, moved = true) {
        const [what, i] = orders[s][at[s]], before = what === "F" ? end.F[s - 1] : end.B[s + 1];
        const needs = before ? before[i] : what === "F" ? 0 : end.F[s][i];
        if (needs === undefined) break;
        const start = Math.max(free[s], needs);
        starts[s].push(start);
        free[s] = end[what][s][i] = start + (what === "F" ? forward : backward);
      }
  }
  return starts;
}

await open(`${out}/large.html`, 1280, "light");
await test("64 stages and 512 micro-batches: every block is where 1F1B puts it", async () => {
  check(!problems.length, problems.join("; "));
  const { shown, forward, backward } = await page.$eval("#timeline", ({ timeline }) => {
    const rows = timeline.rows.map(({ row }) => {
      const blocks = [];
      for (let b = 0; b < row.blocks.n; b++) {
        const kind = row.timeline.kindsInside(row.blocks.inside[b])[0].kind;
        if (kind < 3 && row.blocks.microBatch[b] >= 0) blocks.push([row.blocks.start[b], row.blocks.end[b]]); // forward, backward, weight gradient
      }
      return blocks;
    });
    const long = ([a, b]) => b - a, last = rows.at(-1);
    return { shown: rows.map((blocks) => blocks.map(([a]) => a)), forward: long(last[0]), backward: long(last[1]) };
  });
  check(Math.abs(forward - 4.1e9) < 1e7 && Math.abs(backward - 8e9) < 1e7, `${forward} and ${backward}`); // as workload.py says
  const begin = 2000; // two rows of a nanosecond before the first micro-batch
  starts1f1b(64, 512, begin, forward, backward).forEach((wanted, s) => {
    const found = shown[s].slice(0, wanted.length);
    check(found.length === 1024, `stage ${s} has ${found.length} blocks`);
    wanted.forEach((at, i) => check(found[i] === at, `block ${i} of stage ${s} begins at ${found[i]}, not at ${at}`));
  });
  const size = readFileSync(`${out}/large.html`).length;
  check(size < 1.5e6, `${size} bytes`);
});
await test("above eight rows the streams are off, and the axis stays", async () => {
  check(!(await page.getByRole("checkbox", { name: "streams" }).isChecked()), "streams are on");
  const top = () => page.$eval("canvas.axis", (a) => a.getBoundingClientRect().top - a.parentElement.getBoundingClientRect().top);
  await page.getByRole("checkbox", { name: "streams" }).check();
  const before = await top();
  await page.$eval(".timeline-holder", (e) => { e.scrollTop = 300; });
  check((await page.$eval(".timeline-holder", (e) => e.scrollTop)) > 100, "nothing to scroll");
  same(await top(), before, "the axis");
});
await page.screenshot({ path: `${out}/large-1280-light.png`, fullPage: true });
await browser.close();
