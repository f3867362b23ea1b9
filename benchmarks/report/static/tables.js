function value(row, column) {
  const cell = row.cells[column], raw = cell.dataset.value ?? cell.textContent.trim(), number = Number(raw);
  return raw === "" ? Infinity : Number.isNaN(number) ? raw : number;
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.onclick = () => {
      const up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
      heads.forEach(h => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const compare = (a, b) => typeof a === "number" && typeof b === "number" ? (a < b ? -1 : a > b ? 1 : 0) : String(a).localeCompare(String(b), "en", { numeric: true });
      const rows = [...body.rows].map(row => [value(row, column), row]);
      rows.sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]));
      body.append(...rows.map(([, row]) => row));
    };
  });
}

function filter(input) {
  const table = document.getElementById(input.dataset.filter), count = document.getElementById(input.dataset.count);
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(w => text.includes(w));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
  };
  input.oninput = apply;
  apply();
}

function tableCsv(table) {
  return [...table.rows].filter(r => !r.hidden).map(r => [...r.cells].map(c => quoted(c.dataset.value ?? c.textContent.trim())).join(",")).join("\n") + "\n";
}

// Rows of long tables are text that the page's maker has escaped.
function rows(table) {
  const body = data.rows[table.id];
  if (body && !table.tBodies[0].rows.length) table.tBodies[0].innerHTML = body;
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// A page that is served refreshes by itself: what the reader chose stays as it is.
function kept(drawn) {
  const before = JSON.parse(sessionStorage.getItem("chosen") ?? "{}"), details = [...document.querySelectorAll("details")];
  for (const chart of drawn) {
    const { at = 0, off = [], range } = before[chart.figure.dataset.chart] ?? {}, select = chart.figure.querySelector("select");
    if (off.length) chart.lit = Object.keys(chart.spec.series).filter(n => !off.includes(n));
    if (select && chart.variants[at]) { select.value = at; chart.show(chart.variants[at]); }
    if (range) chart.range = range;
    chart.press();
    chart.draw();
  }
  details.forEach((d, i) => { d.open = before.open?.includes(i); });
  document.querySelectorAll("table.sort").forEach(t => {
    const [column, way] = before[`#${t.id}`] ?? [], button = t.tHead.rows[0].cells[column]?.querySelector("button");
    for (let i = 0; button && i < (way === "ascending" ? 1 : 2); i++) button.click();
  });
  scrollTo(0, before.scroll ?? 0);
  addEventListener("pagehide", () => {
    const now = { scroll: scrollY, open: details.map((d, i) => d.open ? i : -1) };
    for (const { figure, variants, spec, lit, range, full } of drawn)
      now[figure.dataset.chart] = { at: variants.indexOf(spec), off: Object.keys(spec.series).filter(n => !lit.includes(n)), range: String(range) === String(full) ? null : range };
    document.querySelectorAll("th[aria-sort]").forEach(h => { now[`#${h.closest("table").id}`] = [h.cellIndex, h.getAttribute("aria-sort")]; });
    sessionStorage.setItem("chosen", JSON.stringify(now));
  });
}

async function start() {
  data = await unpacked(document.getElementById("data").textContent);
  document.querySelectorAll("table.sort").forEach(table => {
    const folded = table.closest("details");
    if (folded) folded.addEventListener("toggle", () => rows(table));
    else rows(table);
    sortable(table);
  });
  document.querySelectorAll("input[data-filter]").forEach(filter);
  document.querySelectorAll("button[data-table]").forEach(b => {
    b.onclick = () => save(`${b.dataset.table}.csv`, "text/csv", tableCsv(document.getElementById(b.dataset.table)));
  });
  const { rows: _, ...scores } = data;
  document.getElementById("everything").onclick = () => save("report.json", "application/json", JSON.stringify(scores, null, 1));
  // At once, not when they come near the screen: PDFs and screenshots have no screen.
  const drawn = [...document.querySelectorAll("figure[data-chart]")].map(f => new Chart(f, data.charts[f.dataset.chart]));
  if (location.protocol.startsWith("http")) kept(drawn);
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach(d => { d.open = true; d.querySelectorAll("table").forEach(rows); });
  });
  // What is wider than the screen says so.
  const wide = new ResizeObserver(all => all.forEach(({ target }) => target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1)));
  document.querySelectorAll(".scroll").forEach(box => wide.observe(box));
}

start();
