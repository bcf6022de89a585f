// The picture of a step's page in README.md: picture.mjs PAGE.html PICTURE.png CHROMIUM
// The headline and the timeline; what lies between them is left out.
import { chromium } from "playwright-core";

const [, , file, picture, executablePath] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await (await browser.newContext({ viewport: { width: 1100, height: 940 }, colorScheme: "light", offline: true })).newPage();
await page.goto(`file://${file}`);
await page.addStyleTag({ content: "nav, section:not(#timeline) { display: none !important; }" });
await page.waitForTimeout(500);
await page.screenshot({ path: picture });
await browser.close();
