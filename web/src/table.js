// A table that sorts by its headings and can be searched.
import { h } from "./dom.js";
import { saveCsv } from "./save.js";

// columns: [{ title, value(row), text(row), number, bar(row) }]; csv: name of a file
// to save all rows in, as they are now sorted and searched.
export function table({ id, caption, columns, rows, sort = null, search = null, limit = Infinity, foot = null, csv = null, showCaption = false }) {
  let order = sort, needle = "", all = false;
  const body = h("tbody"), note = h("p", { class: "hint", "aria-live": "polite" });
  const heads = columns.map((c, i) => h("th", { scope: "col", class: c.number ? "num" : null },
    sort ? h("button", { type: "button", onclick: () => {
      order = { by: i, down: order.by === i ? !order.down : !!c.number };
      refresh();
    } }, c.title) : c.title));
  const more = h("button", { type: "button", class: "more", onclick: () => { all = !all; refresh(); } });

  function cell(c, row) {
    const value = c.value(row), content = c.text ? c.text(row) : String(value);
    return h("td", { class: c.number ? "num" : null, "data-value": c.number ? value : null },
      c.bar ? bar(c.bar(row), content) : content);
  }

  // Nothing, or what is no number, has no bar.
  function bar(share, content) {
    const width = Math.min(1, share) * 100;
    return h("span", width > 0 ? { class: "bar", style: `--w:${width.toFixed(2)}%` } : { class: "no-bar" }, content);
  }

  function sorted() {
    const found = needle ? rows.filter((r) => columns.some((c) => !c.number && String(c.value(r)).toLowerCase().includes(needle))) : rows.slice();
    if (!order) return found;
    const value = columns[order.by].value, sign = order.down ? -1 : 1;
    return found.sort((a, b) => { const x = value(a), y = value(b); return sign * (x < y ? -1 : x > y ? 1 : 0); });
  }

  function refresh() {
    const found = sorted(), shown = all ? found : found.slice(0, limit);
    heads.forEach((head, i) => order && head.setAttribute("aria-sort", order.by !== i ? "none" : order.down ? "descending" : "ascending"));
    body.replaceChildren(...shown.map((row) => h("tr", {}, columns.map((c) => cell(c, row)))));
    more.hidden = found.length <= limit;
    more.textContent = all ? "Show fewer" : `Show all ${found.length}`;
    note.textContent = needle ? `${found.length} of ${rows.length}` : "";
  }

  function lines() {
    return [columns.map((c) => c.title), ...sorted().map((row) => columns.map((c) => c.value(row)))];
  }

  refresh();
  return h("div", { class: "table-box" },
    search ? h("label", { class: "search" }, h("span", {}, search),
      h("input", { type: "search", id: `${id}-search`, oninput: (e) => { needle = e.target.value.trim().toLowerCase(); refresh(); } })) : null,
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      h("table", { id }, h("caption", { class: showCaption ? null : "hidden" }, caption), h("thead", {}, h("tr", {}, heads)), body,
        foot ? h("tfoot", {}, h("tr", {}, foot.map((text, i) => h(i ? "td" : "th", { class: columns[i].number ? "num" : null, scope: i ? null : "row" }, text)))) : null)),
    Number.isFinite(limit) ? more : null,
    csv ? h("button", { type: "button", class: "more", "aria-label": `Save "${caption}" as CSV`, onclick: () => saveCsv(lines(), csv) }, "CSV") : null, search ? note : null);
}
