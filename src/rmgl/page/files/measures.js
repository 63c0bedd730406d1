"use strict";
// ---- comparison of some entities with all others, and sortable tables; independent of the page ----

// Return Cohen's d and the means of the values inside and outside. NaN is a missing value. Null if a side is empty or nothing varies.
function contrast(values, inside) {
  const count = [0, 0], mean = [0, 0], squares = [0, 0];
  for (let at = 0; at < values.length; at++) {
    const value = values[at], side = inside[at] ? 0 : 1;
    if (Number.isNaN(value)) continue;
    const step = value - mean[side];
    mean[side] += step / ++count[side];
    squares[side] += step * (value - mean[side]);
  }
  if (!count[0] || !count[1]) return null;
  const free = count[0] + count[1] - 2, pooled = free > 0 ? Math.sqrt((squares[0] + squares[1]) / free) : 0, apart = mean[0] - mean[1];
  if (!pooled && !apart) return null;
  return {effect: pooled ? apart / pooled : apart > 0 ? "∞" : "-∞", inside: mean[0], outside: mean[1]};
}

// Return the probability that a value inside is larger than one outside. Equal values count half.
function areaUnderCurve(values, inside) {
  const known = Array.from(values.keys()).filter((at) => !Number.isNaN(values[at])).sort((a, b) => values[a] - values[b]);
  let ranks = 0, within = 0;
  for (let first = 0; first < known.length;) {
    let end = first;
    while (end < known.length && values[known[end]] === values[known[first]]) end++;
    for (let place = first; place < end; place++) if (inside[known[place]]) { ranks += (first + 1 + end) / 2; within++; }
    first = end;
  }
  return (ranks - within * (within + 1) / 2) / (within * (known.length - within));
}

// Return the shares of the values in each bin, inside and outside. The first and last bins each include half a percent of outlying values.
function bins(values, inside, number = 20) {
  const sorted = Float64Array.from(values.filter((value) => !Number.isNaN(value))).sort();
  let low = sorted[Math.floor(0.005 * (sorted.length - 1))], high = sorted[Math.ceil(0.995 * (sorted.length - 1))];
  if (!(high > low)) { low = sorted[0]; high = sorted[sorted.length - 1]; }
  if (!(high > low)) return null;
  const parts = [new Array(number).fill(0), new Array(number).fill(0)], count = [0, 0];
  values.forEach((value, at) => {
    if (Number.isNaN(value)) return;
    const side = inside[at] ? 0 : 1;
    parts[side][Math.min(number - 1, Math.max(0, Math.floor((value - low) / (high - low) * number)))]++;
    count[side]++;
  });
  const [within, beyond] = parts.map((part, side) => part.map((found) => found / count[side]));
  return {low, high, inside: within, outside: beyond};
}

// Return the sort key of a cell: its number, or else its text. A word or a sign may precede the number.
function sortKey(cell) {
  const text = cell.textContent.replaceAll("\u00a0", " ").trim();
  if (cell.tagName === "TH" || /^\d{4}-\d\d-\d\d/.test(text)) return text;
  if (/^[+]?∞/.test(text)) return Infinity;
  if (text.startsWith("-∞")) return -Infinity;
  const number = "([-+]?\\d[\\d,]*(?:\\.\\d+)?(?:e[-+]?\\d+)?)", before = cell.classList.contains("number") ? "(?:\\D*[\\s<(])?" : "";
  const found = text.match(new RegExp(`^${before}${number}`, "i"));
  return found ? Number(found[1].replaceAll(",", "")) : text;
}

// Compare two sort keys: -1, 0 or 1. Numbers come before text, and empty cells last in either direction.
function sortOrder(a, b, direction) {
  const empty = (key) => key === "" || key === "-" || key === "unknown" || key === "not measured";
  if (empty(a) || empty(b)) return Number(empty(a)) - Number(empty(b));
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return direction * (typeof a === "number" ? (a > b) - (a < b) : a.localeCompare(b, "en", {numeric: true}));
}

// Turn the titles of a table into buttons that sort its rows: numbers from largest to smallest, text from A to Z, then reversed.
function makeSortable(table) {
  if (table.classList.contains("matrix") || table.tBodies[0].rows.length < 2) return;
  const titles = [...table.tHead.rows[0].cells];
  table.classList.add("sortable");
  titles.forEach((title, column) => {
    if (!title.textContent || table.tBodies[0].rows[0].cells[column].querySelector("svg")) return;  // figures have no order
    const button = document.createElement("button");
    button.type = "button"; button.className = "sort";
    button.append(...title.childNodes);
    title.append(button);
    button.addEventListener("click", () => {
      const rows = [...table.tBodies[0].rows].map((row) => [sortKey(row.cells[column]), row]);
      const rising = title.getAttribute("aria-sort") ? title.getAttribute("aria-sort") === "descending" : typeof rows[0][0] !== "number";
      for (const other of titles) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", rising ? "ascending" : "descending");
      rows.sort(([a], [b]) => sortOrder(a, b, rising ? 1 : -1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}
