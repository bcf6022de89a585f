// Files and the clipboard: what a page can be asked to hand over.
import { h } from "./dom.js";

export function saveBlob(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// rows: arrays of strings and numbers, the first with the headings.
export function saveCsv(rows, name) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  saveBlob(new Blob([rows.map((row) => `${row.map(cell).join(",")}\n`).join("")], { type: "text/csv" }), name);
}

export function copyButton(text, label) {
  const button = h("button", { type: "button", class: "copy", "aria-label": label, title: label, onclick: async () => {
    await copyText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return button;
}

// A page opened from disk may not use the clipboard: then by a selection.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
