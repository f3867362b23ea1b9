"use strict";
// Charts with hover, keyboard and zoom; tables that sort and filter; downloads. No library, no request.
let data;  // unpacked before anything is drawn
const NS = "http://www.w3.org/2000/svg";
const DASHES = ["", "6 3", "2 2", "8 3 2 3"];

function svg(parent, name, attributes, text) {
  const node = document.createElementNS(NS, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function html(parent, name, attributes, text) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

const MOST = 6;  // highlighted lines
const look = name => {
  const n = data.colours, i = data.looks[name] ?? n - 1;
  return { color: `var(--c${i % n})`, dash: DASHES[Math.floor(i / n) % DASHES.length] };
};
const short = v => v === null ? "never" : v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(1).replace(".0e", "e") : String(+v.toPrecision(3));

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell of CSV; a text that a spreadsheet would take for a formula gets an apostrophe before it.
function quoted(v) {
  let text = v === null ? "" : String(v).replaceAll("\r", "\\r");
  if (/^[=+@\t\n＝＋－＠-][^]/.test(text) && isNaN(text)) text = `'${text}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(spec) {
  const rows = [["series", spec.xlabel, spec.ylabel, "low", "high"]];
  for (const [name, band] of Object.entries(spec.series))
    spec.x.forEach((x, i) => rows.push([name, x, ...band.map(b => b[i])]));
  return rows.map(r => r.map(quoted).join(",")).join("\n") + "\n";
}

function ticks(low, high, log) {
  if (log) {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) + 1e-9; e++)
      for (const m of high / low > 200 ? [1] : [1, 2, 5])
        if (m * 10 ** e >= low * 0.999 && m * 10 ** e <= high * 1.001) found.push(m * 10 ** e);
    return found;
  }
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw) || 1;
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) found.push(Math.abs(t) < step / 1e6 ? 0 : +t.toPrecision(10));
  return found;
}

// Place in [0, 1] of a value on an axis of parallel coordinates, which has `labels`, or `low`, `high` and `log`.
function place(axis, v) {
  if (axis.labels) return (v + 0.5) / axis.labels.length;
  const f = axis.log ? Math.log : v => v;
  return axis.low === axis.high ? 0.5 : (f(v) - f(axis.low)) / (f(axis.high) - f(axis.low));
}

class Chart {
  constructor(figure, variants) {
    this.figure = figure;
    this.variants = variants;
    this.lit = null;
    const tools = html(figure, "div", { class: "tools" });
    if (variants.length > 1) {
      const select = html(tools, "select", { "aria-label": "What to show" });
      variants.forEach((v, i) => html(select, "option", { value: i }, v.title));
      select.onchange = () => this.show(variants[+select.value]);
    }
    for (const [label, act] of [["Zoom in", () => this.zoom(0.5)], ["Zoom out", () => this.zoom(2)], ["Reset", () => this.show(this.spec)]])
      html(tools, "button", { type: "button" }, label).onclick = act;
    html(tools, "button", { type: "button" }, "Data (CSV)").onclick = () => save(`${this.spec.title}.csv`, "text/csv", csv(this.spec));
    this.svg = svg(figure, "svg", { tabindex: 0, role: "img" });
    this.legend = html(figure, "div", { class: "legend", role: "group", "aria-label": "Show or hide" });
    this.readout = html(figure, "p", { class: "readout", "aria-live": "polite" });
    this.listen();
    this.show(variants[0]);
    new ResizeObserver(() => { if (this.figure.clientWidth !== this.drawn) this.draw(); }).observe(figure);
  }

  show(spec) {
    this.spec = spec;
    const xs = spec.x.filter(x => x !== null && (!spec.xlog || x > 0));
    this.full = [Math.min(...xs), Math.max(...xs)];
    this.range = [...this.full];
    this.at = null;
    this.legend.replaceChildren();
    const names = Object.keys(spec.series);
    if (spec.shades) this.lit = names;
    this.lit ??= [...names.filter(n => n === "random"), ...names.filter(n => n !== "random")].slice(0, MOST);
    for (const name of spec.shades ? [] : names) {
      const { color, dash } = look(name), button = html(this.legend, "button", { type: "button" });
      svg(svg(button, "svg", { viewBox: "0 0 26 8", "aria-hidden": "true" }), "line",
        { x1: 0, x2: 26, y1: 4, y2: 4, "stroke-width": 3, style: `stroke:${color}`, "stroke-dasharray": dash });
      button.append(name);
      button.dataset.name = name;
      button.onclick = () => {
        this.lit = this.lit.includes(name) ? this.lit.filter(n => n !== name) : [...this.lit, name].slice(-MOST);
        this.press();
        this.draw();
      };
    }
    this.press();
    this.svg.setAttribute("aria-label", `${spec.title}: ${spec.ylabel} by ${spec.xlabel}. Arrow keys read values, + and - zoom, 0 resets.`);
    this.draw();
    this.readout.textContent = this.figure !== document.querySelector("figure") ? "" : `Point, or use the arrow keys, to read values; drag to zoom. Names highlight lines, at most ${MOST}.`;
  }

  press() {
    for (const button of this.legend.children) button.setAttribute("aria-pressed", this.lit.includes(button.dataset.name));
  }

  draw() {
    const { spec, range } = this, width = Math.max(this.figure.clientWidth - 24, 240), height = Math.min(320, 140 + width * 0.4);
    this.drawn = this.figure.clientWidth;
    const box = this.box = { left: spec.axes || spec.rows ? 18 : 52, right: width - 18, top: 8, bottom: height - (spec.axes ? 34 : 40) };
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    // Grey lines do not set the axis by their bands.
    const shown = Object.entries(spec.series).map(([name, band]) => [name, this.lit.includes(name) ? band : band.slice(0, 1)]);
    const inside = spec.x.map((x, i) => i).filter(i => spec.x[i] !== null && spec.x[i] >= range[0] && spec.x[i] <= range[1] && (!spec.xlog || spec.x[i] > 0));
    const values = shown.flatMap(([, b]) => b.flatMap(line => inside.map(i => line[i]))).filter(v => v !== null && (!spec.ylog || v > 0));
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) [low, high] = [0.1, 1];
    if (spec.axes) [low, high] = [0, 1];
    if (spec.rows) [low, high] = [0, spec.rows.length];
    if (low === high) { low = spec.ylog ? low / 2 : low - 0.5; high = spec.ylog ? high * 2 : high + 0.5; }
    const f = log => log ? Math.log10 : v => v, fx = f(spec.xlog), fy = f(spec.ylog);
    const across = v => (fx(v) - fx(range[0])) / (fx(range[1]) - fx(range[0]) || 1);
    this.X = v => box.left + (spec.xreverse ? 1 - across(v) : across(v)) * (box.right - box.left);
    const Y = (v, i) => box.bottom - (fy(spec.axes ? place(spec.axes[i], v) : v) - fy(low)) / (fy(high) - fy(low)) * (box.bottom - box.top);
    let last = -99;
    const label = t => spec.labels ? spec.labels[t].slice(0, 14) : short(t), halo = "paint-order:stroke;stroke:var(--card);stroke-width:3px";
    for (const t of (spec.labels ? [...spec.labels.keys()].filter(t => t >= range[0] && t <= range[1]) : ticks(range[0], range[1], spec.xlog)).sort((a, b) => this.X(a) - this.X(b))) {
      const x = this.X(t);
      svg(this.svg, "line", { class: "rule", x1: x, x2: x, y1: box.top, y2: box.bottom });
      const text = label(t), half = 3.5 * text.length, low = box.bottom + 15 + (spec.axes && t % 2 ? 13 : 0);
      if (spec.axes || x - half > last) { svg(this.svg, "text", { x: Math.min(x, width - half), y: low, "text-anchor": "middle" }, text); last = x + half; }
    }
    // Values of parallel coordinates stand beside their axes, above the lines; workers beside their bars.
    const beside = () => spec.axes?.forEach((axis, i) => {
      const given = axis.labels ? [...axis.labels.keys()] : ticks(axis.low, axis.high, axis.log), every = Math.ceil(given.length / 8);
      for (const t of given.filter((_, k) => k % every === 0))
        svg(this.svg, "text", { x: this.X(i) + (i ? -3 : 3), y: Y(t, i) + 4, "text-anchor": i ? "end" : "start", class: "value", style: halo }, axis.labels ? axis.labels[t].slice(0, 14) : short(t));
    });
    spec.rows?.forEach((name, k) => svg(this.svg, "text", { x: box.left + 3, y: Y(k + 0.5) - (box.bottom - box.top) / spec.rows.length / 2 + 10, class: "value", style: halo }, name));
    for (const [from, to, row, name, note] of spec.bars ?? []) {
      if (to < range[0] || from > range[1]) continue;
      const x = this.X(Math.max(from, range[0])), high = (box.bottom - box.top) / spec.rows.length;
      const color = this.lit.includes(name) ? look(name).color : "var(--line)";
      svg(svg(this.svg, "rect", { x, y: Y(row + 1) + high * 0.45, width: Math.max(this.X(Math.min(to, range[1])) - x - 0.5, 1), height: high * 0.45, style: `fill:${color}` }), "title", {}, note);
    }
    for (const t of spec.axes || spec.rows ? [] : ticks(low, high, spec.ylog)) {
      svg(this.svg, "line", { class: "rule", x1: box.left, x2: box.right, y1: Y(t), y2: Y(t) });
      svg(this.svg, "text", { x: box.left - 5, y: Y(t) + 4, "text-anchor": "end" }, short(t));
    }
    svg(this.svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
    svg(this.svg, "line", { class: "axis", x1: box.left, x2: box.left, y1: box.top, y2: box.bottom });
    svg(this.svg, "text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, spec.axes ? "" : spec.xlabel);
    svg(this.svg, "text", { transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, spec.axes || spec.rows ? "" : spec.ylabel);
    // Grey first, so that what is highlighted lies above it.
    for (const name of Object.keys(spec.series).sort((a, b) => this.lit.includes(a) - this.lit.includes(b))) {
      const band = spec.series[name], lit = this.lit.includes(name), ok = (line, i) => line[i] !== null && (!spec.ylog || line[i] > 0);
      const color = spec.shades?.[name] ?? (lit ? look(name).color : "var(--line)"), dash = lit ? look(name).dash : "";
      const path = (line, order) => order.filter(i => ok(line, i)).map((i, n, all) => {
        const step = spec.step && n ? `H${this.X(spec.x[i])}V` : null;
        return step ? step + Y(line[i], i) : `${n ? "L" : "M"}${this.X(spec.x[i])} ${Y(line[i], i)}`;
      }).join("");
      if (lit && band.length === 3 && !spec.points?.includes(name) && (!spec.step || spec.points)) {
        const back = path(band[2], [...inside].reverse()).replace("M", "L");
        svg(this.svg, "path", { d: path(band[1], inside) + back + "Z", style: `fill:${color}`, opacity: 0.13 });
      }
      if (spec.points?.includes(name)) {
        for (const i of inside.filter(i => ok(band[0], i)))
        {
          const x = this.X(spec.x[i]), y = Y(band[0][i], i);
          if (band.length === 3) svg(this.svg, "line", { x1: x, x2: x, y1: Y(band[1][i], i), y2: Y(band[2][i], i), "stroke-width": 2, style: `stroke:${color}` });
          svg(name === "failed" ? svg(this.svg, "path", { d: `M${x - 4} ${y - 4}l8 8m-8 0l8 -8`, class: "cross", "stroke-width": 2, style: `stroke:${color}` })
            : svg(this.svg, "circle", { cx: x, cy: y, r: 3.5, style: `fill:${color}`, "fill-opacity": 0.6 }), "title", {}, spec.notes[i] ?? name);
        }
        continue;
      }
      const only = spec.shades && inside.filter(i => ok(band[0], i));
      if (only?.length === 1) svg(svg(this.svg, "circle", { cx: this.X(spec.x[only[0]]), cy: Y(band[0][only[0]], only[0]), r: 2.5, style: `fill:${color}` }), "title", {}, name);
      const line = svg(this.svg, "path", { d: path(band[0], inside), fill: "none", "stroke-width": lit && !spec.shades ? 2 : 1, style: `stroke:${color}`, "stroke-dasharray": spec.shades ? "" : dash });
      if (spec.shades) svg(line, "title", {}, name);
    }
    beside();
    if (this.at !== null) this.read(this.at);
  }

  read(i) {
    const { spec } = this;
    this.at = i;
    this.svg.querySelector(".cursor")?.remove();
    const x = this.X(spec.x[i]);
    svg(this.svg, "line", { class: "cursor", x1: x, x2: x, y1: this.box.top, y2: this.box.bottom });
    const listed = Object.entries(spec.shades ? {} : spec.series).filter(([name]) => this.lit.includes(name)).map(([name, b]) => [name, b.map(line => line[i])]);
    listed.sort((a, b) => (a[1][0] ?? Infinity) - (b[1][0] ?? Infinity));
    this.readout.textContent = `${spec.xlabel} ${short(spec.x[i])}\n` + listed.map(([name, v]) =>
      `${name}: ${short(v[0])}${v.length === 3 && v[1] !== null && v[2] !== null ? ` [${short(v[1])}, ${short(v[2])}]` : ""}`).join("\n");
  }

  nearest(event) {
    const r = this.svg.getBoundingClientRect(), x = (event.clientX - r.left) * (this.svg.viewBox.baseVal.width / r.width);
    let best = null;
    this.spec.x.forEach((v, i) => {
      if (v === null || v < this.range[0] || v > this.range[1] || (this.spec.xlog && v <= 0)) return;
      if (best === null || Math.abs(this.X(v) - x) < Math.abs(this.X(this.spec.x[best]) - x)) best = i;
    });
    return best;
  }

  zoom(factor) {
    const { spec } = this, log = spec.xlog, f = log ? Math.log : v => v, g = log ? Math.exp : v => v;
    const middle = this.at === null ? (f(this.range[0]) + f(this.range[1])) / 2 : f(spec.x[this.at]);
    const half = (f(this.range[1]) - f(this.range[0])) / 2 * factor;
    this.range = [Math.max(this.full[0], g(middle - half)), Math.min(this.full[1], g(middle + half))];
    this.draw();
  }

  listen() {
    let start = null;
    this.svg.addEventListener("pointerdown", e => { start = this.nearest(e); });
    this.svg.addEventListener("pointermove", e => { const i = this.nearest(e); if (i !== null) this.read(i); });
    this.svg.addEventListener("pointerup", e => {
      const end = this.nearest(e);
      if (start !== null && end !== null && Math.abs(end - start) > 1) {
        const ends = [this.spec.x[start], this.spec.x[end]];
        this.range = [Math.min(...ends), Math.max(...ends)];
        this.draw();
      } else if (end !== null) this.read(end);
      start = null;
    });
    this.svg.addEventListener("dblclick", () => this.show(this.spec));
    this.svg.addEventListener("keydown", e => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key] * (this.spec.xreverse ? -1 : 1);
      if (step) {
        const next = this.at === null ? (step > 0 ? 0 : this.spec.x.length - 1) : this.at + step;
        if (next >= 0 && next < this.spec.x.length && this.spec.x[next] >= this.range[0] && this.spec.x[next] <= this.range[1]) this.read(next);
      } else if (e.key === "+" || e.key === "=") this.zoom(0.5);
      else if (e.key === "-") this.zoom(2);
      else if (e.key === "0" || e.key === "Escape") this.show(this.spec);
      else return;
      e.preventDefault();
    });
  }
}
