(async () => {
  const original = document.documentElement.outerHTML;  // before anything is drawn: the basis for downloads of the page
  const UNKNOWN = 255, NOTHING = 65535, LISTED = 200, NEIGHBORS = 40;
  const LIGHT = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A900", "#000000", "#7F3C8D", "#8C8C8C"];
  const DARK = ["#4FA8E0", "#E69F00", "#1FBF92", "#F07A2B", "#E29BC3", "#8ACDF5", "#D6C72B", "#FFFFFF", "#B77BC9", "#A0A0A0"];
  const SCALE = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];  // cividis

  // ---- elements: text is always set as text, so names from the data are never parsed as HTML ----
  const byId = (id) => document.getElementById(id);
  function make(name, attributes = {}, ...content) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...content.filter((part) => part !== null));
    return element;
  }

  // ---- data ----
  async function unpack(text) {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const block = await new Response(stream).arrayBuffer();
    const length = Number(new DataView(block).getBigUint64(0, true));
    const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(block, 8, length)));
    const kinds = {Uint8Array, Uint16Array, Uint32Array, Float32Array};
    const arrays = {};
    for (const [name, [kind, at, size]] of Object.entries(facts.arrays)) arrays[name] = new kinds[kind](block, 8 + length + at, size);
    return [facts, arrays];
  }
  const [facts, arrays] = await unpack(byId("data").textContent);
  const n = facts.n_points;
  const idOf = (at) => facts.ids ? facts.ids[at] : String(arrays.row[at]);
  const share = (byte) => byte === UNKNOWN ? NaN : byte / 254;
  const percent = (value) => Number.isNaN(value) ? "unknown" : `${Math.round(100 * value)}%`;
  const asDate = (days) => new Date(Math.round(days) * 86400000).toISOString().slice(0, 10);
  const asPercent = (value) => value > 0 && value < 0.005 ? "<1%" : percent(value);
  const shown = (value, kind) => typeof value !== "number" ? value : kind === "date" ? asDate(value) : kind === "share" ? asPercent(value) : digits(value);
  const digits = (value) => typeof value === "string" ? value : Number(value.toPrecision(4)).toLocaleString("en", {maximumSignificantDigits: 4});
  const points = Array.from({length: n}, (_, at) => at);
  const confidence = (at) => share(arrays.confidence[at]);
  const doubt = (at) => arrays.confidence[at] === UNKNOWN ? 1000 : arrays.confidence[at];

  // ---- names of clusters, which readers can change ----
  const clusterWords = JSON.parse(byId("cluster-names").textContent);
  const shortName = (cluster) => clusterWords[cluster] || String(cluster);
  const longName = (cluster) => clusterWords[cluster] ? `${clusterWords[cluster]} (${cluster})` : `Cluster ${cluster}`;
  const clusterText = (cluster) => make("span", {"data-name": cluster}, longName(cluster));
  const clusterShort = (cluster) => make("span", {"data-short-name": cluster}, shortName(cluster));

  // ---- theme and colors ----
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  try { if (localStorage.getItem("rmgl-theme")) document.documentElement.dataset.theme = localStorage.getItem("rmgl-theme"); } catch { /* not stored */ }
  const numbers = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const hex = (rgb) => "#" + rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");
  const mixed = (color, other, part) => hex(numbers(color).map((value, at) => (1 - part) * value + part * other[at]));
  function categoryColor(number) {
    const base = (isDark() ? DARK : LIGHT)[number % 10], turn = Math.floor(number / 10) % 3;
    return turn === 0 ? base : turn === 1 ? mixed(base, [255, 255, 255], 0.45) : mixed(base, isDark() ? [90, 90, 90] : [0, 0, 0], 0.4);
  }
  function scaleColor(value) {
    const place = Math.min(1, Math.max(0, value)) * (SCALE.length - 1), low = Math.min(SCALE.length - 2, Math.floor(place));
    return hex(SCALE[low].map((part, at) => part + (place - low) * (SCALE[low + 1][at] - part)));
  }
  const GRAY = () => isDark() ? "#555b63" : "#c4c9d0";

  // ---- choices for coloring points ----
  const choices = [{title: "cluster", kind: "clusters", of: (at) => arrays.cluster[at]}];
  for (const [title, name] of [["confidence", "confidence"], ["view agreement", "agreement"], ["outlier score", "outlier"]])
    choices.push({title, kind: "numbers", of: (at) => share(arrays[name][at]), low: 0, high: 1});
  facts.columns.forEach((column, number) => {
    const values = arrays[`column_${number}`];
    if (column.categories) { choices.push({title: column.name, kind: "categories", of: (at) => values[at], names: column.categories}); return; }
    let low = Infinity, high = -Infinity;
    for (let at = 0; at < n; at++) if (!Number.isNaN(values[at])) { low = Math.min(low, values[at]); high = Math.max(high, values[at]); }
    choices.push({title: column.name, kind: "numbers", of: (at) => values[at], low, high, shown: column.kind});
  });
  facts.layers.forEach((layer, number) => {
    const named = arrays[`named_${number}`];
    choices.push({title: layer.role === "view" ? `cluster suggested by view ${layer.name} alone` : `cluster suggested by layer ${layer.name}`, kind: "clusters", of: (at) => named[at] === NOTHING ? -1 : named[at]});
  });
  const firstLevel = choices.length;
  facts.levels.forEach((count, number) => {
    const own = arrays[`level_${number}`], beside = count < facts.n_clusters ? "coarser" : count > facts.n_clusters ? "finer" : "chosen";
    choices.push({title: `${count} clusters (${beside})`, kind: "clusters", of: (at) => own[at] === NOTHING ? -1 : own[at], level: number});
  });
  const features = facts.features.map((feature, number) => {
    const codes = arrays[`feature_${number}`], unit = (feature.high - feature.low) / 65534;
    return {...feature, of: (at) => codes[at] === NOTHING ? NaN : feature.low + unit * codes[at]};
  });
  for (const feature of features) choices.push({title: feature.name, group: `Features of ${feature.view}`, kind: "numbers", of: feature.of, shown: feature.kind});
  const groups = new Map();
  choices.forEach((choice, number) => {
    const option = make("option", {value: number}, choice.title);
    if (!choice.group) { byId("color").append(option); return; }
    if (!groups.has(choice.group)) { groups.set(choice.group, make("optgroup", {label: choice.group})); byId("color").append(groups.get(choice.group)); }
    groups.get(choice.group).append(option);
  });
  function setEnds(choice) {  // for a feature: one percent of the values lie beyond each end of the color scale
    if (choice.kind !== "numbers" || choice.low !== undefined) return;
    const sorted = Float64Array.from(points.map(choice.of).filter((value) => !Number.isNaN(value))).sort();
    choice.low = sorted[Math.floor(0.01 * (sorted.length - 1))]; choice.high = sorted[Math.ceil(0.99 * (sorted.length - 1))];
    if (!(choice.high > choice.low)) { choice.low = sorted[0]; choice.high = sorted[sorted.length - 1]; }
  }

  function colors(choice) {
    setEnds(choice);
    const found = new Array(n);
    const known = new Map();
    const width = choice.high > choice.low ? choice.high - choice.low : 1;
    for (let at = 0; at < n; at++) {
      const value = choice.of(at), key = choice.kind === "numbers" ? Math.min(255, Math.max(0, Math.round(255 * (value - choice.low) / width))) : value;
      if (!known.has(key)) known.set(key, Number.isNaN(key) || key < 0 ? GRAY() : choice.kind === "numbers" ? scaleColor(key / 255) : categoryColor(key));
      found[at] = known.get(key);
    }
    return found;
  }

  // ---- figures ----
  await Promise.all(facts.figures.map((item) => Bokeh.embed.embed_item(item)));
  const model = (name) => { for (const doc of Bokeh.documents) { const found = doc.get_model_by_name(name); if (found) return found; } return null; };
  const source = model("points"), edges = model("edges"), rings = model("rings");
  if (window.innerWidth <= 620) model("plot").height = 400;
  model("dots").glyph.size = {value: n > 50000 ? 3 : n > 10000 ? 4 : n > 400 ? 6 : 9};
  source.data = {x: arrays.x.subarray(0, n), y: arrays.y.subarray(0, n), color: new Array(n).fill("#888888")};
  function middle(values) { values.sort((a, b) => a - b); return values[values.length >> 1]; }
  function clusterNames(level) {
    const found = {x: [], y: [], text: []}, labels = level === undefined ? arrays.cluster : arrays[`level_${level}`];
    for (let cluster = 0; cluster < (level === undefined ? facts.n_clusters : facts.levels[level]); cluster++) {
      const own = points.filter((at) => labels[at] === cluster);
      if (!own.length) continue;
      found.x.push(middle(own.map((at) => arrays.x[at]))); found.y.push(middle(own.map((at) => arrays.y[at]))); found.text.push(level === undefined ? shortName(cluster) : String(cluster));
    }
    return found;
  }
  function drawDensity() {
    if (!facts.sampled) return;
    const cells = Math.round(Math.sqrt(arrays.cell_count.length)), image = new Uint32Array(cells * cells), bytes = new Uint8ClampedArray(image.buffer);
    for (let at = 0; at < image.length; at++) {
      if (arrays.cell_cluster[at] === NOTHING) continue;
      bytes.set([...numbers(categoryColor(arrays.cell_cluster[at])), 40 + 0.6 * arrays.cell_count[at]], 4 * at);
    }
    const [x, y, right, top] = arrays.corners;
    const array = {data: image, shape: [cells, cells], dtype: "uint32"};
    const NDArray = Bokeh.require("core/util/ndarray").ndarray;
    model("density").data = {image: [NDArray(array.data, {dtype: "uint32", shape: [cells, cells]})], x: [x], y: [y], width: [right - x], height: [top - y]};
  }
  function drawBlocks() {
    for (const canvas of document.querySelectorAll("canvas[data-block]")) {
      const values = arrays[`block_${canvas.dataset.block}`], side = Math.round(Math.sqrt(values.length));
      canvas.width = canvas.height = side;
      const context = canvas.getContext("2d"), image = context.createImageData(side, side);
      const [from, to] = isDark() ? [[29, 33, 38], [255, 214, 130]] : [[255, 255, 255], [60, 10, 90]];
      values.forEach((value, at) => image.data.set([...from.map((part, c) => part + (to[c] - part) * value / 255), 255], 4 * at));
      context.putImageData(image, 0, 0);
    }
  }
  function legend(choice) {
    const place = byId("legend");
    place.replaceChildren();
    if (choice.kind === "numbers") {
      const steps = [0, 0.2, 0.4, 0.6, 0.8, 1].map(scaleColor).join(", ");
      place.append(shown(choice.low, choice.shown), make("span", {class: "gradient", style: `background:linear-gradient(90deg, ${steps})`}), shown(choice.high, choice.shown));
    } else if (choice.kind === "categories") {
      choice.names.slice(0, 12).forEach((name, number) => place.append(make("span", {class: "swatch", style: `background:${categoryColor(number)}`}), name));
      if (choice.names.length > 12) place.append(` and ${choice.names.length - 12} more`);
    } else place.append(choice.level === undefined ? `the ${Object.keys(clusterWords).length ? "names" : "numbers"} on the map denote the clusters` : `the numbers on the map denote the ${facts.levels[choice.level]} clusters of this resolution`);
  }
  function paint() {
    const choice = choices[Number(byId("color").value)], text = isDark() ? "#e8eaed" : "#1b1f24", back = isDark() ? "#1d2126" : "#ffffff";
    source.data = {...source.data, color: colors(choice)};
    model("names").data = clusterNames(choice.level);
    legend(choice);
    for (const part of document.querySelectorAll("#number [data-level]")) part.setAttribute("aria-pressed", Number(part.dataset.level) === choice.level);
    for (const part of document.querySelectorAll("#tree [data-fill]")) part.style.fill = categoryColor(Number(part.dataset.fill));
    drawDensity();
    drawBlocks();
    for (const swatch of document.querySelectorAll("[data-swatch]")) swatch.style.background = categoryColor(Number(swatch.dataset.swatch));
    for (const part of document.querySelectorAll("svg.histogram[data-fill]")) part.style.setProperty("--inside", categoryColor(Number(part.dataset.fill)));
    const name = model("numbers").glyph;
    name.text_color = {value: text}; name.background_fill_color = {value: back};
    model("ring").glyph.line_color = {value: text};
    model("lines").glyph.line_color = {value: text};
    for (const evidence of [model("evidence"), model("survival")].filter((found) => found)) {
      for (const axis of [...evidence.below, ...evidence.left]) if (axis.major_label_text_color !== undefined) axis.setv({major_label_text_color: text, axis_label_text_color: text, axis_line_color: text});
      for (const part of evidence.above) if (part.label_text_color !== undefined) part.setv({label_text_color: text, title_text_color: text});
      for (const {tags: [cluster], glyph} of evidence.renderers.filter((drawn) => drawn.tags.length)) glyph.setv({[glyph.fill_color === undefined ? "line_color" : "fill_color"]: {value: categoryColor(cluster)}, ...(glyph.type === "Scatter" ? {line_color: {value: categoryColor(cluster)}} : {})});
      for (const grid of evidence.center) if (grid.grid_line_color !== undefined) grid.grid_line_color = isDark() ? "#3a4149" : "#e2e5e9";
    }
    model("plot").outline_line_color = null;
    byId("theme").textContent = isDark() ? "Light" : "Dark";
  }
  byId("color").addEventListener("change", paint);
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("rmgl-theme", document.documentElement.dataset.theme); } catch { /* not stored */ }
    paint();
  });
  system.addEventListener("change", paint);

  // ---- tables ----
  function bar(value, text) {
    const width = Number.isNaN(value) ? 0 : 100 * Math.min(1, Math.max(0, value));
    return [make("span", {class: "bar", "aria-hidden": "true"}, make("span", {style: `width:${width}%`})), text];
  }
  const swatch = (cluster) => make("span", {class: "swatch", style: `background:${categoryColor(cluster)}`, "data-swatch": cluster, "aria-hidden": "true"});
  const clusterCell = (cluster) => cluster < 0 || cluster === NOTHING ? ["none"] : [swatch(cluster), clusterShort(cluster)];
  function entityButton(at) {
    return at < n ? make("button", {type: "button", class: idOf(at).length > 14 ? "link" : "link short", onclick: () => select([at]), "data-entity": at}, idOf(at)) : idOf(at);
  }
  function table(caption, titles, rows, kind = "", style = "") {
    const head = make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", {scope: "col"}, title))));
    const body = make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell, at) => {
      const content = Array.isArray(cell) ? cell : [cell];
      return at === 0 ? make("th", {scope: "row"}, ...content) : make("td", {class: typeof cell === "string" && !/^[-+]?[0-9∞]/.test(cell) ? "" : "number", "data-title": titles[at]}, ...content);
    }))));
    const made = make("table", {class: style}, make("caption", {}, caption), head, body);
    makeSortable(made);
    return make("div", {class: `scroll ${kind}`, tabindex: 0, role: "region", "aria-label": caption}, made);
  }
  const entityTitles = ["Entity", "Cluster", "Confidence", "Views agree", "Outlier"];
  const entityRow = (at) => [entityButton(at), clusterCell(arrays.cluster[at]), bar(confidence(at), percent(confidence(at))), percent(share(arrays.agreement[at])), share(arrays.outlier[at]).toFixed(2)];

  function csv(list) {
    const safe = (text) => /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^-[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(text) ? `'${text}` : text;
    const quoted = (text) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    const named = Object.keys(clusterWords).length > 0;
    const cell = (byte) => byte === UNKNOWN ? "" : (byte / 254).toFixed(3);
    const rows = list.map((at) => [quoted(safe(idOf(at))), arrays.row[at], arrays.cluster[at], cell(arrays.confidence[at]), cell(arrays.agreement[at]), cell(arrays.outlier[at]), ...(named ? [quoted(safe(clusterWords[arrays.cluster[at]] || ""))] : [])].join(","));
    return [`id,row,cluster,confidence,view_agreement,outlier_score${named ? ",cluster_name" : ""}`, ...rows].join("\r\n") + "\r\n";
  }
  function download(text, type, name) {
    const link = make("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
    document.body.append(link); link.click(); link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  async function copy(list) {
    const text = csv(list).replaceAll(",", "\t");
    try { await navigator.clipboard.writeText(text); } catch {
      const area = make("textarea", {"aria-hidden": "true"}); area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    say(`${list.length.toLocaleString("en")} rows copied.`);
  }
  const buttons = (list) => make("div", {class: "controls"}, make("button", {type: "button", onclick: () => copy(list)}, "Copy"), make("button", {type: "button", onclick: () => download(csv(list), "text/csv", "entities.csv")}, "Download CSV"));
  const say = (text) => { byId("said").textContent = text; };

  // ---- selection: one list of points that all parts of the page use ----
  let selection = [], waiting = 0;
  function select(list, message = "") {
    source.selected.indices = list;  // calls `follow`
    say(message);
  }
  function follow() {
    selection = Array.from(source.selected.indices);
    say("");
    showEntity();
    showMembers();
    showCounts();
    byId("selection").replaceChildren();
    clearTimeout(waiting);
    waiting = setTimeout(showSelection, 150);  // a lasso calls this on every move
    const clusters = new Set(selection.map((at) => arrays.cluster[at]));
    if (clusters.size === 1) showCluster([...clusters][0]);
  }
  function neighborsOf(at) {
    const found = new Map();
    facts.layers.forEach((_, layer) => {
      for (let place = arrays[`starts_${layer}`][at]; place < arrays[`starts_${layer}`][at + 1]; place++) {
        const other = arrays[`targets_${layer}`][place];
        if (!found.has(other)) found.set(other, new Array(facts.layers.length).fill(0));
        found.get(other)[layer] = arrays[`weights_${layer}`][place] / 65535 * facts.heaviest[layer];
      }
    });
    const total = (weights) => weights.reduce((sum, weight) => sum + weight, 0);
    return [...found].sort((a, b) => total(b[1]) - total(a[1]));
  }
  function drawNeighbors(at, neighbors) {
    const data = {x0: [], y0: [], x1: [], y1: [], width: []};
    if (at !== null) for (const [other, weights] of neighbors) {
      data.x0.push(arrays.x[at]); data.y0.push(arrays.y[at]); data.x1.push(arrays.x[other]); data.y1.push(arrays.y[other]);
      data.width.push(1 + 2 * Math.min(1, weights.filter((weight) => weight > 0).length / facts.layers.length));
    }
    edges.data = data;
    rings.data = at === null ? {x: [], y: []} : {x: [arrays.x[at]], y: [arrays.y[at]]};
  }
  function showEntity() {
    const panel = byId("entity");
    panel.replaceChildren();
    if (selection.length !== 1) {
      drawNeighbors(null, []);
      panel.append(...[make("h3", {}, selection.length ? `${selection.length.toLocaleString("en")} entities are selected` : "No entity is selected"),
        selection.length > 1 && selection.length < n ? make("p", {}, make("a", {href: "#selection"}, "What distinguishes them from all others?")) : null,
        make("p", {class: "note"}, "Click a point or a name, or find an id, to see its neighbors and the cluster that each view suggests for it.")].filter((part) => part));
      return;
    }
    const at = selection[0], cluster = arrays.cluster[at], all = neighborsOf(at), neighbors = all.slice(0, NEIGHBORS);
    drawNeighbors(at, neighbors);
    panel.append(make("h3", {}, "Entity ", idOf(at)), make("p", {}, swatch(cluster), clusterText(cluster), `, confidence ${percent(confidence(at))}, outlier score ${share(arrays.outlier[at]).toFixed(2)} (0: ordinary, 1: far from all others).`));
    const rows = facts.layers.map((layer, number) => {
      const named = arrays[`named_${number}`][at], own = share(arrays[`own_${number}`][at]);
      if (named === NOTHING) return [layer.name, layer.role === "view" ? "unknown" : "no edges", "", ""];
      return [layer.name, clusterCell(named), percent(share(arrays[`share_${number}`][at])), bar(own, percent(own))];
    });
    panel.append(table("For each view alone, the cluster of most of the entity's nearest neighbors. For the other layers, the cluster with most of the entity's edge weight", ["View or layer", "Suggested cluster", "Share", `Share of ${clusterWords[cluster] || `cluster ${cluster}`}`], rows));
    const titles = ["Neighbor", "Cluster", ...facts.layers.map((layer) => layer.name.length > 14 ? `${layer.name.slice(0, 13)}…` : layer.name)];
    const listed = neighbors.map(([other, weights]) => [entityButton(other), clusterCell(arrays.cluster[other]), ...weights.map((weight) => weight ? weight.toPrecision(2) : "")]);
    panel.append(table(`${all.length > NEIGHBORS ? `The strongest ${NEIGHBORS} of ${all.length}` : all.length} neighbors in the learned layers; weights by layer`, titles, listed, "tall"));
  }
  function showMembers() {
    const place = byId("members"), some = selection.length > 0;
    const list = [...(some ? selection : points)].sort((a, b) => doubt(a) - doubt(b));
    const shown = list.slice(0, some ? LISTED : 20);
    const title = some ? `${list.length.toLocaleString("en")} selected ${list.length === 1 ? "entity" : "entities"}` : "The most doubtful entities";
    const more = list.length > shown.length ? ` The table shows ${shown.length}; copying and downloading include all ${list.length.toLocaleString("en")}${facts.sampled ? " on this page" : ""}.` : "";
    place.replaceChildren(make("h3", {}, title), table(`Least certain first.${more}`, entityTitles, shown.map(entityRow), "tall"), buttons(list));
  }
  function showCounts() {
    const counts = new Array(facts.n_clusters).fill(0);
    for (const at of selection) counts[arrays.cluster[at]]++;
    for (const cell of document.querySelectorAll("[data-chosen-cluster]")) {
      const count = counts[Number(cell.dataset.chosenCluster)];
      cell.textContent = count ? count.toLocaleString("en") : "";
      cell.closest("tr").classList.toggle("current", count > 0);
    }
    const layers = facts.layers.map((layer, number) => [layer, number]).filter(([layer]) => layer.role === "view");
    for (const cell of document.querySelectorAll("[data-chosen-view]")) {
      const named = arrays[`named_${layers[Number(cell.dataset.chosenView)][1]}`];
      const known = points.filter((at) => named[at] !== NOTHING), asked = selection.filter((at) => named[at] !== NOTHING);
      const counts = new Array(facts.n_clusters).fill(0);
      for (const at of known) counts[named[at]]++;
      const found = asked.filter((at) => named[at] === arrays.cluster[at]).length / asked.length;
      const chance = asked.reduce((sum, at) => sum + counts[arrays.cluster[at]] / known.length, 0) / asked.length;
      cell.textContent = selection.length ? `${percent(found)}, by chance ${percent(chance)}` : "";
    }
  }

  // ---- clusters ----
  function histogram(values, kind, cluster) {
    if (!values) return "";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), bins = values.inside.length;
    svg.setAttribute("class", "histogram"); svg.setAttribute("viewBox", `0 0 ${bins} 10`); svg.setAttribute("preserveAspectRatio", "none"); svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Distribution from ${shown(values.low, kind)} to ${shown(values.high, kind)}, inside and outside`);
    if (cluster !== null) { svg.dataset.fill = cluster; svg.style.setProperty("--inside", categoryColor(cluster)); }
    const most = Math.max(...values.inside, ...values.outside);
    for (const part of ["outside", "inside"]) values[part].forEach((share, at) => {
      const bar = document.createElementNS(svg.namespaceURI, "rect"), height = 10 * share / most;
      for (const [key, value] of Object.entries({class: part, x: part === "inside" ? at + 0.12 : at, y: 10 - height, width: part === "inside" ? 0.76 : 1, height})) bar.setAttribute(key, value);
      svg.append(bar);
    });
    return svg;
  }
  function featureTable(found, cluster) {
    if (!found.length) return make("p", {class: "note"}, "No features available.");
    const rows = found.map((row) => [row.feature, row.view, `${row.effect > 0 || row.effect === "∞" ? "+" : ""}${digits(row.effect)}`, shown(row.inside, row.kind), shown(row.outside, row.kind), digits(row.auc), histogram(row.values, row.kind, cluster)]);
    const units = facts.own_units ? "" : " Values are scaled as in the fit.", [member, other] = cluster === null ? ["a selected entity", "an unselected one"] : ["a member", "a non-member"];
    const caption = `Effect size: the difference between the means inside and outside, in standard deviations. AUC: how often ${member} has a larger value than ${other} (0.5: no difference).${units} Distributions: ${cluster === null ? "the selection" : "the cluster"} in color, all others in gray.`;
    return table(caption, ["Feature", "View", "Effect size", "Mean inside", "Mean outside", "AUC", "Distribution"], rows, "", "cards");
  }
  const featuresOf = (cluster, view) => facts.clusters[cluster].features.filter((row) => view === "" || row.view === view).slice(0, 8);

  // ---- comparison of a selection with all others: features and additional columns at the points ----
  const measured = features.map((feature) => ({feature: feature.name, view: feature.view, kind: feature.kind, of: feature.of}));
  facts.columns.forEach((column, number) => {
    const values = arrays[`column_${number}`], view = "(additional column)";
    if (!column.categories) measured.push({feature: column.name, view, kind: column.kind, of: (at) => values[at]});
    else column.categories.slice(column.categories.length === 2 ? 1 : 0).forEach((name, code) => {
      const own = code + (column.categories.length === 2 ? 1 : 0);
      measured.push({feature: `${column.name} = ${name}`, view, kind: "share", of: (at) => Number(values[at] === own)});
    });
  });
  function distinguishing(list) {
    const inside = new Uint8Array(n);
    for (const at of list) inside[at] = 1;
    const found = [];
    for (const {of, ...feature} of measured) {
      const values = Float64Array.from(points, of), result = contrast(values, inside);
      if (result) found.push({...feature, ...result, of});
    }
    const size = (row) => typeof row.effect === "string" ? Infinity : Math.abs(row.effect);
    return found.sort((a, b) => size(b) === size(a) ? 0 : size(b) - size(a)).slice(0, 8).map(({of, ...row}) => {
      const values = Float64Array.from(points, of);
      return {...row, auc: areaUnderCurve(values, inside), values: bins(values, inside)};
    });
  }
  function showSelection() {
    const panel = byId("selection"), count = selection.length.toLocaleString("en");
    if (selection.length < 2 || selection.length === n || !measured.length) return;
    const left = facts.n_features - features.length;
    const limits = [facts.sampled ? "Only entities shown as points on this page are compared." : "", left > 0 ? `Of ${facts.n_features.toLocaleString("en")} features, the page contains the ${features.length.toLocaleString("en")} that best distinguish the clusters.` : ""].filter((text) => text);
    panel.append(make("h3", {}, `What distinguishes the ${count} selected entities from all others?`), featureTable(distinguishing(selection), null));
    if (limits.length) panel.append(make("p", {class: "note"}, limits.join(" ")));
  }

  let current = null;
  function showCluster(cluster) {
    if (current === cluster) return;
    current = cluster;
    const panel = byId("cluster"), own = facts.clusters[cluster];
    const names = [...new Set(own.features.map((row) => row.view))];
    const choice = make("select", {"aria-label": "View"}, make("option", {value: ""}, "all views"), ...names.map((name) => make("option", {value: name}, name)));
    const found = make("div", {}, featureTable(featuresOf(cluster, ""), cluster));
    choice.addEventListener("change", () => found.replaceChildren(featureTable(featuresOf(cluster, choice.value), cluster)));
    const list = (title, caption, members) => make("div", {}, make("h3", {}, title), table(caption, entityTitles, members.slice(0, 5).map(entityRow)));
    panel.replaceChildren(make("h3", {}, swatch(cluster), clusterText(cluster), ": what distinguishes it from all others?"), naming(cluster),
      make("p", {}, make("label", {}, "Features of ", choice)), found,
      make("div", {class: "lists"}, list("Most typical members", "Members nearest to the center of the cluster, among the more confident half.", own.typical), list("Most doubtful members", "Members with the lowest confidence.", own.doubtful)));
  }
  function naming(cluster) {
    const field = make("input", {type: "text", maxlength: 40, placeholder: `Cluster ${cluster}`, autocomplete: "off"});
    field.value = clusterWords[cluster] || "";
    const rename = (event) => {
      event.preventDefault();
      const word = field.value.trim();
      if (word) clusterWords[cluster] = word; else delete clusterWords[cluster];
      paintNames(); paint();
      kept.textContent = "Download the page to keep the name.";
    };
    const kept = make("span", {class: "note", role: "status"});
    return make("form", {class: "controls", id: "naming", onsubmit: rename}, make("label", {}, "Name ", field), make("button", {type: "submit"}, "Rename"),
      make("button", {type: "button", onclick: downloadPage}, "Download page"), kept);
  }
  function paintNames() {
    for (const part of document.querySelectorAll("[data-name]")) part.textContent = longName(Number(part.dataset.name));
    for (const part of document.querySelectorAll("[data-short-name]")) part.textContent = shortName(Number(part.dataset.shortName));
    for (const item of model("curves")?.items ?? []) item.label = {value: shortName(item.renderers[0].tags[0])};
  }
  function downloadPage() {  // the page as it was opened, with the current names
    const mark = '<script type="application/json" id="cluster-names">', begin = original.indexOf(mark) + mark.length, end = original.indexOf("</", begin);
    const words = JSON.stringify(clusterWords).replaceAll("<", "\\u003c");
    download(`<!DOCTYPE html>\n${original.slice(0, begin)}${words}${original.slice(end)}`, "text/html", "report.html");
  }
  byId("cluster-table").addEventListener("click", (event) => {
    const button = event.target.closest("[data-cluster]");
    if (!button) return;
    const cluster = Number(button.dataset.cluster);
    select(points.filter((at) => arrays.cluster[at] === cluster));
    showCluster(cluster);
  });

  // ---- resolutions: a click on a level shows its clusters on the map ----
  function showLevel(event) {
    const level = event.target.closest("[data-level]");
    if (!level || (event.type === "keydown" && (level.tagName === "BUTTON" || !["Enter", " "].includes(event.key)))) return;
    event.preventDefault();
    byId("color").value = String(firstLevel + Number(level.dataset.level));
    paint();
    byId("explore").scrollIntoView();
    say(`The map shows ${facts.levels[Number(level.dataset.level)]} clusters.`);
  }
  byId("number").addEventListener("click", showLevel);
  byId("number").addEventListener("keydown", showLevel);

  // ---- search ----
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = byId("query").value.trim(), low = wanted.toLowerCase();
    if (!wanted) return;
    const exact = points.find((at) => idOf(at) === wanted);
    if (exact !== undefined) { select([exact], `Found ${wanted}.`); return; }
    const found = points.filter((at) => idOf(at).toLowerCase().includes(low));
    const where = facts.sampled ? ` among the ${n.toLocaleString("en")} entities in the sample` : "";
    if (!found.length) say(`No id contains "${wanted}"${where}.`);
    else if (found.length === 1) select(found, `Found ${idOf(found[0])}.`);
    else select(found, `${found.length.toLocaleString("en")} ids contain "${wanted}"${where}; they are selected.`);
  });
  byId("clear").addEventListener("click", () => select([]));

  document.querySelectorAll("table.cards").forEach((cards) => {
    const titles = [...cards.querySelectorAll("thead th")].map((title) => title.textContent);
    for (const row of cards.querySelectorAll("tbody tr")) [...row.children].forEach((cell, at) => cell.setAttribute("data-title", titles[at]));
  });
  document.querySelectorAll("table").forEach(makeSortable);
  paintNames();
  source.selected.properties.indices.change.connect(follow);
  follow();
  showCluster(0);
  paint();
  // ---- pointer: show the name of the nearest point, and select it on click ----
  const plotView = () => Bokeh.index.get_one(model("plot"));
  // Bokeh ignores a drag that begins outside the frame and fails on its next step, so move the start of the drag to the edge
  for (const tool of plotView().tool_views.values()) {
    const begin = tool._pan_start;
    if (begin) tool._pan_start = function (event) {
      const [sx, sy] = plotView().frame.bbox.clip(event.sx, event.sy);
      return begin.call(this, {...event, sx, sy});
    };
  }
  function nearest(event, reach) {
    const {x_scale, y_scale} = plotView().frame;
    const left = x_scale.compute(0), across = x_scale.compute(1) - left, top = y_scale.compute(0), down = y_scale.compute(1) - top;
    let found = null, least = reach * reach;
    for (let at = 0; at < n; at++) {
      const distance = (left + across * arrays.x[at] - event.sx) ** 2 + (top + down * arrays.y[at] - event.sy) ** 2;
      if (distance <= least) { least = distance; found = at; }
    }
    return found;
  }
  const tip = make("div", {id: "tip", hidden: ""});
  document.body.append(tip);
  function name(event) {
    const at = nearest(event, 8);
    tip.hidden = at === null;
    if (at === null) return;
    tip.replaceChildren(make("strong", {}, idOf(at)), make("br"), swatch(arrays.cluster[at]), `${longName(arrays.cluster[at])}, confidence ${percent(confidence(at))}`,
      make("br"), `views agree ${percent(share(arrays.agreement[at]))}, outlier score ${share(arrays.outlier[at]).toFixed(2)}`);
    const choice = choices[Number(byId("color").value)];
    if (choice.kind === "categories") tip.append(make("br"), `${choice.title}: ${choice.names[choice.of(at)]}`);
    if (choice.kind === "numbers" && choice.of(at) === choice.of(at)) tip.append(make("br"), `${choice.title}: ${shown(choice.of(at), choice.shown)}`);
    const [x, y] = placeOf(at);
    tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)) + window.scrollX}px`;
    tip.style.top = `${y + 14 + window.scrollY}px`;
  }
  model("plot").on_event("mousemove", name);
  model("plot").on_event("mouseleave", () => { tip.hidden = true; });
  model("plot").on_event("tap", (event) => { const at = nearest(event, 12); select(at === null ? [] : [at]); });
  function placeOf(at) {
    const view = plotView(), box = view.canvas.el.getBoundingClientRect();
    return [box.left + view.frame.x_scale.compute(arrays.x[at]), box.top + view.frame.y_scale.compute(arrays.y[at])];
  }
  window.rmgl = {facts, arrays, source, names: model("names"), plot: model("plot"), select, placeOf};
  document.documentElement.dataset.ready = "true";
})();
