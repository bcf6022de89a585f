// Bundles src/ into one HTML template: node build.mjs OUT
// The data of a report takes the place of "@STEPCAST_DATA@" (lib/report/html.c).
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const bundle = async (entry, options) => {
  const result = await build({
    entryPoints: [join(here, "src", entry)], bundle: true, minify: true, write: false,
    legalComments: "none", logLevel: "warning", ...options,
  });
  return result.outputFiles[0].text.trim();
};

const script = await bundle("main.js", { format: "iife", target: "es2020" });
const style = await bundle("style.css", {});
if (/<\/script|<!--/i.test(script)) throw new Error("the bundle would end its own <script>");
const template = readFileSync(join(here, "src", "page.html"), "utf8");
const page = template.replace("/*STYLE*/", () => style).replace("/*SCRIPT*/", () => script);
if (page.split('"@STEPCAST_DATA@"').length !== 2) throw new Error("the mark for the data must be there once");
writeFileSync(process.argv[2], page);
