// The panel "Recompute here" of a page: a form of its parameters, a worker that runs its cells, and
// what came out beside what is published. Nothing is loaded before the panel is opened, and no
// runtime before the button is pressed.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".book-recompute");
  if (!place) return;
  const folder = new URL(`${place.dataset.root}recompute/`, location.href);
  const name = place.dataset.page;
  const query = new URLSearchParams(location.search);

  // Elements: make("p", { class: "x" }, "text", element, ...).
  const make = (tag, attributes = {}, ...content) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([key, value]) => {
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== undefined) element.setAttribute(key, value);
    });
    element.append(...content.filter((piece) => piece !== null && piece !== undefined));
    return element;
  };
  const megabytes = (bytes) => `${Math.max(1, Math.round(bytes / 1e6))} MB`;
  const time = (seconds) => (seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);
  const plain = (text) => text.replace(/\\([!-/:-@[-`{-~])/g, "$1").replace(/\*\*?|\$/g, "");

  const status = make("p", { role: "status", "aria-live": "polite", class: "book-recompute-status" });
  const bar = make("progress", { hidden: true, "aria-label": "progress of the run" });
  const results = make("div", { class: "book-recompute-results" });
  const body = make("div");
  const details = make("details", { class: "book-recompute-panel", open: query.has("recompute") },
    make("summary", {}, "Recompute here"), body);
  document.head.append(make("link", { rel: "stylesheet", href: new URL("recompute.css", folder).href }));
  place.append(details);
  place.hidden = false;
  const say = (text) => { status.textContent = text; };

  let page, site, worker = null, clock = null, started = 0, local = false, opened = false;
  const fields = {}, cells = {};

  const explain = (...content) => body.replaceChildren(make("p", {}, ...content));
  async function open() {
    if (opened || !details.open) return;
    opened = true;
    if (location.protocol === "file:") {
      explain("A page that is opened from disk cannot run Python. In a clone of the book type ", make("code", {}, "make serve"), " and open the page at the address that it prints.");
      return;
    }
    if (typeof WebAssembly !== "object" || typeof Worker !== "function" || !crypto.subtle) {
      explain("This browser has no WebAssembly, no workers or no secure context, which Python needs here. In a clone of the book type ", make("code", {}, `make run NB=${name}`), ".");
      return;
    }
    try {
      [page, site] = await Promise.all([`${name}.json`, "site.json"].map(async (file) => {
        const reply = await fetch(new URL(file, folder));
        if (!reply.ok) throw new Error(`${file} cannot be had (${reply.status})`);
        return reply.json();
      }));
      local = (await fetch(new URL("runtime/pyodide-lock.json", folder), { method: "HEAD" })).ok;
    } catch (error) {
      explain(`What the panel needs is not there: ${error.message}.`);
      return;
    }
    if (page.unavailable) {
      explain(`A browser cannot run this page: ${page.unavailable}. In a clone of the book type `, make("code", {}, `make run NB=${name}`), ".");
      return;
    }
    build();
    if (query.get("recompute") === "small" && page.profiles.quick) fill("quick");
    page.parameters.forEach(({ name: key }) => { if (query.has(key) && fields[key]?.input.type !== "file") fields[key].input.value = query.get(key); });
  }
  details.addEventListener("toggle", open);

  // The form ------------------------------------------------------------------------------------

  const written = (value) => (typeof value === "string" ? value : Array.isArray(value) ? `[${value.map(written).join(", ")}]` : String(value));
  function choices(parameter) {
    const set = /^\{(.*)\}$/.exec(parameter.allowed);
    if (parameter.type === "bool") return ["true", "false"];
    return set && !parameter.type.startsWith("list") ? set[1].split(",").map((choice) => choice.trim().replace(/^["']|["']$/g, "")) : null;
  }
  function field(parameter) {
    const id = `recompute-${parameter.name}`, file = page.files.includes(parameter.name);
    const options = choices(parameter);
    const described = { id, "aria-describedby": `${id}-help ${id}-error` };
    const input = file ? make("input", { ...described, type: "file", accept: ".csv,text/csv" })
      : options ? make("select", described, ...options.map((option) => make("option", { value: option }, option)))
        : make("input", { ...described, type: "text", inputmode: /^(int|float)$/.test(parameter.type) ? "decimal" : "text", autocomplete: "off", spellcheck: "false" });
    const unit = ["none", "name", "names", "path"].includes(parameter.unit) ? "" : ` (${parameter.unit})`;
    const range = file ? "a CSV file" : `${parameter.type}${parameter.allowed === "any" ? "" : ` in ${parameter.allowed}`}`;
    const error = make("p", { id: `${id}-error`, class: "book-recompute-error", role: "alert" });
    fields[parameter.name] = { input, error };
    return make("div", { class: "book-recompute-field" },
      make("label", { for: id }, make("code", {}, parameter.name), unit), input,
      make("p", { id: `${id}-help`, class: "book-recompute-help" }, `${parameter.description}; ${range}`), error);
  }
  function fill(profile) {
    const values = page.profiles[profile].parameters;
    page.parameters.forEach(({ name: key }) => { if (fields[key].input.type !== "file") fields[key].input.value = written(values[key]); });
    clearErrors();
    estimate();
  }
  const given = () => Object.fromEntries(page.parameters.filter(({ name: key }) => fields[key].input.type !== "file").map(({ name: key }) => [key, fields[key].input.value]));
  function profileOf() {
    const values = given();
    return Object.keys(page.profiles).find((profile) => Object.entries(values).every(([key, text]) => written(page.profiles[profile].parameters[key]) === text.trim()));
  }
  function clearErrors() {
    Object.values(fields).forEach(({ input, error }) => { error.textContent = ""; input.removeAttribute("aria-invalid"); });
  }
  const forecast = make("p", { class: "book-recompute-help" });
  function estimate() {
    const seconds = page.profiles[profileOf()]?.seconds, small = page.profiles.quick?.seconds;
    const bytes = site.runtime.files.reduce((total, file) => total + file.bytes, site.code.bytes);
    const where = local ? "from this site" : `from ${site.runtime.address}, each file checked by its SHA-256`;
    const load = worker ? "" : `First ${megabytes(bytes)} are loaded ${where}. `;
    const speed = Number(sessionStorage.getItem("recompute-speed"));
    const machine = speed ? "on this machine" : "on the machine on which pages were timed";
    const run = seconds ? `The page takes about ${time(seconds * (speed || 1))} ${machine}.`
      : small ? `How long the page takes with these parameters has not been measured: about ${time(small * (speed || 1))} ${machine} with the small ones, which you may try first.`
        : "How long the page takes has not been measured.";
    forecast.textContent = load + run;
  }

  const runButton = make("button", { type: "submit", class: "book-recompute-button" }, "Run");
  const cancelButton = make("button", { type: "button", class: "book-recompute-button", disabled: true, click: () => stop("Cancelled: the page shows what it showed before.") }, "Cancel");
  const limit = make("input", { id: "recompute-limit", type: "number", min: 1, max: 600, value: 15 });
  function build() {
    const editor = (cell, index) => {
      const area = make("textarea", { rows: Math.min(18, cell.source.split("\n").length + 1), spellcheck: "false", "aria-label": `cell ${index + 1}` });
      area.value = cell.source;
      cells[cell.id] = area;
      return area;
    };
    const editable = page.cells.filter((cell) => !cell.tags.includes("parameters"));
    const smallFirst = Object.keys(page.profiles).sort((profile) => (profile === "quick" ? -1 : 1));
    const profiles = smallFirst.map((profile) => make("button", { type: "button", class: "book-recompute-button", click: () => fill(profile) },
      profile === "quick" ? "Small parameters" : "The documents' parameters"));
    const own = page.policy && make("details", {}, make("summary", {}, "Your own policy"),
      make("p", { class: "book-recompute-help" }, page.policy.help),
      Object.assign(cells.policy = make("textarea", { rows: 8, spellcheck: "false", "aria-label": "your own policy" }), { value: "" }),
      make("button", { type: "button", class: "book-recompute-button", click: () => { cells.policy.value = page.policy.example; } }, "Start from an example"));
    const form = make("form", { submit: (event) => { event.preventDefault(); start(); }, input: estimate },
      make("div", { class: "book-recompute-buttons" }, ...profiles),
      make("div", { class: "book-recompute-fields" }, ...page.parameters.map(field)),
      page.relations.length ? make("ul", { class: "book-recompute-help" }, ...page.relations.map(({ text, reason }) => make("li", {}, make("code", {}, text), ` must hold: ${reason}`))) : null,
      own || null,
      make("details", {}, make("summary", {}, "Edit the cells"), ...editable.map(editor)),
      forecast,
      make("div", { class: "book-recompute-buttons" }, runButton, cancelButton,
        make("button", { type: "button", class: "book-recompute-button", click: link }, "Copy a link to these parameters"),
        make("label", { for: "recompute-limit" }, "Stop after"), limit, "minutes"));
    body.replaceChildren(form, status, bar, results);
    fill("paper" in page.profiles ? "paper" : Object.keys(page.profiles)[0]);
  }
  async function link() {
    const address = new URL(location.href);
    address.search = new URLSearchParams({ recompute: "", ...given() });
    history.replaceState(null, "", address);
    try { await navigator.clipboard.writeText(address.href); say("The link is copied."); } catch { say("The link stands in the address bar."); }
  }

  const width = () => (matchMedia("(max-width: 600px)").matches ? "narrow." : "");

  // The run --------------------------------------------------------------------------------------

  function refuse(key, message) {
    const { input, error } = fields[key] || {};
    if (!input) { say(message); return; }
    error.textContent = message;
    input.setAttribute("aria-invalid", "true");
    input.focus();
    say(`${key} is refused.`);
  }
  function busy(on) {
    const [off, next] = on ? [runButton, cancelButton] : [cancelButton, runButton];
    next.disabled = false;
    if (document.activeElement === off) next.focus(); // a disabled button would lose the keyboard's place
    off.disabled = true;
    bar.hidden = !on;
    clearTimeout(clock);
    if (on) clock = setTimeout(() => stop(`Stopped after ${limit.value} minute${Number(limit.value) === 1 ? "" : "s"}.`), Math.max(1, Number(limit.value) || 15) * 60000);
  }
  function stop(message) {
    worker?.terminate();
    worker = null;
    busy(false);
    say(message);
    estimate();
  }
  async function start() {
    clearErrors();
    const files = {};
    for (const key of page.files) {
      const file = fields[key]?.input.files?.[0];
      if (file && file.size > page.largest_file) {
        refuse(key, `${file.name} must have at most ${megabytes(page.largest_file)}, got ${megabytes(file.size)}`);
        return;
      }
      if (file) files[key] = await file.arrayBuffer();
    }
    const changed = page.cells.filter((cell) => cells[cell.id] && cells[cell.id].value !== cell.source);
    const request = {
      page: { ...page, profiles: undefined, cells: page.cells.map((cell) => ({ ...cell, source: cells[cell.id] ? cells[cell.id].value : cell.source })) },
      given: given(), files: Object.keys(files), policy: cells.policy?.value.trim() || "",
      edited: changed.length > 0, profiles: page.profiles, variants: [`${width()}svg`, `${width()}dark.svg`],
    };
    busy(true);
    started = performance.now();
    say(worker ? "Running." : "Loading the runtime.");
    if (!worker) {
      worker = new Worker(new URL("worker.js", folder), { type: "module" });
      worker.onmessage = ({ data }) => hear(data);
      worker.onerror = (event) => stop(`The worker failed: ${event.message || "it could not be started"}.`);
    }
    const address = local ? new URL("runtime/", folder).href : site.runtime.address;
    worker.postMessage({ site, address, request, files });
  }
  function hear(message) {
    const total = site.runtime.files.reduce((sum, file) => sum + file.bytes, 0);
    if (message.kind === "loading") {
      bar.max = total;
      bar.value = message.loaded;
      say(`Loading the runtime: ${megabytes(message.loaded)} of ${megabytes(total)}.`);
    } else if (message.kind === "loaded") {
      // A loop says how fast this machine is until a whole page has.
      if (!sessionStorage.getItem("recompute-speed")) sessionStorage.setItem("recompute-speed", message.calibration / site.calibration);
      estimate();
      say("The runtime is loaded; the first cell starts.");
    }
    else if (message.kind === "progress") {
      bar.max = message.all;
      bar.value = message.done;
      say(`Cell ${message.done + 1} of ${message.all}.`);
    } else if (message.kind === "failed") { busy(false); say(message.message); estimate(); }
    else if (message.kind === "done") {
      busy(false);
      const { result } = message;
      if (result.refused) refuse(result.refused.parameter, result.refused.message);
      else show(result);
      estimate();
    }
  }

  // What came out --------------------------------------------------------------------------------

  const link_to = (text, file, content, type) => make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: file }, text);
  const originals = new Map();
  const replace = (element, change) => {
    if (!element) return;
    if (!originals.has(element)) originals.set(element, { nodes: [...element.childNodes], hidden: element.hidden });
    change(element);
  };
  function restore() {
    originals.forEach(({ nodes, hidden }, element) => { element.replaceChildren(...nodes); element.hidden = hidden; element.classList.remove("book-own", "book-own-left"); });
    originals.clear();
    say("The page shows what is published.");
    results.replaceChildren();
  }
  function show(result) {
    const seconds = result.seconds.toFixed(1);
    const { same, all, verdicts, judged, largest } = result.comparison;
    const lines = [`Done: ${seconds} s in Python.`];
    if (result.profile) {
      const what = result.profile === "quick" ? "the small parameters" : "the documents' parameters";
      lines.push(same === all ? `With ${what}, the same bytes: ${all} of ${all}.` : `With ${what}, the same bytes: ${same} of ${all}; ${largest === null ? "" : `numbers differ by at most ${largest.toPrecision(2)}, relative to the largest of their column; `}what differs is listed${page.differs ? `: ${page.differs}` : ""}.`);
      if (judged) lines.push(verdicts === judged ? `Verdicts unchanged: ${judged} of ${judged}.` : `Verdicts unchanged: ${verdicts} of ${judged}.`);
      const expected = page.profiles[result.profile].seconds;
      if (expected) sessionStorage.setItem("recompute-speed", result.seconds / expected);
    } else lines.push("With parameters of your own: published numbers stand beside those of this run.");
    say(lines.join(" "));
    const rows = result.comparison.differences.map(({ id, published, here }) => make("tr", {}, make("th", { scope: "row" }, id), make("td", {}, published), make("td", {}, here)));
    const tables = rows.length ? [make("div", { class: "book-table", tabindex: "0", role: "region", "aria-label": "published and recomputed numbers" },
      make("table", { class: "table" }, make("caption", {}, `${rows.length} ${result.profile ? `of ${all} ` : "numbers "}differ`),
        make("thead", {}, make("tr", {}, ...["", "published", "this run"].map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows)))] : [];
    const products = [];
    Object.entries(result.products.figures).forEach(([id, figure]) => { products.push(link_to(`${id}.svg`, `${id}.svg`, Object.entries(figure.pictures).find(([ending]) => !ending.includes("dark."))[1], "image/svg+xml"), link_to(`${id}.csv`, `${id}.csv`, figure.csv, "text/csv")); });
    [result.products.tables, result.products.data].forEach((kind) => Object.entries(kind).forEach(([id, product]) => products.push(link_to(`${id}.csv`, `${id}.csv`, product.csv, "text/csv"))));
    const downloads = make("details", {}, make("summary", {}, `Files of this run (${products.length + 1})`),
      make("p", {}, ...products.flatMap((anchor) => [anchor, " · "]), link_to(`${name}.ipynb`, `${name}.ipynb`, result.notebook, "application/x-ipynb+json")));
    const texts = result.shown ? [make("pre", { tabindex: "0" }, result.shown)] : [];
    const news = result.sentences?.length ? [make("details", {}, make("summary", {}, `Sentences that hold for these parameters only (${result.sentences.length})`), make("ul", {}, ...result.sentences.map((text) => make("li", {}, plain(text)))))] : [];
    results.replaceChildren(...texts, ...tables, ...news, downloads, make("div", { class: "book-recompute-buttons" },
      make("button", { type: "button", class: "book-recompute-button", click: restore }, "Show the published page")));
    paint(result);
  }
  // Numbers, figures and tables of the page are replaced in place, and marked as this run's.
  function paint(result) {
    const mark = (element) => element.classList.add("book-own");
    document.querySelectorAll("[data-value]").forEach((number) => {
      const text = result.filled?.[number.dataset.value];
      if (text === undefined) {
        const sentence = number.closest("p, li, dd, figcaption");
        if (result.filled && sentence) replace(sentence, (element) => element.classList.add("book-own-left"));
      } else if (text !== number.textContent) replace(number, (element) => { element.textContent = text; mark(element); });
    });
    Object.entries(result.products.figures).forEach(([id, figure]) => {
      const box = document.getElementById(id);
      const pictures = box?.querySelectorAll("picture");
      if (!pictures?.length) return;
      pictures.forEach((picture) => replace(picture, (element) => {
        const dark = element.classList.contains("book-dark") ? "dark." : "";
        const [, drawn] = Object.entries(figure.pictures).find(([ending]) => ending.includes("dark.") === Boolean(dark));
        element.replaceChildren(make("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`, alt: figure.alt, class: "dark-light" }));
        mark(element);
      }));
      const caption = box.querySelector(".caption-text");
      if (caption && figure.caption !== page.profiles[Object.keys(page.profiles)[0]].captions[id]) replace(caption, (element) => { element.textContent = plain(figure.caption); mark(element); });
    });
    Object.entries(result.products.tables).forEach(([id, table]) => {
      const rows = document.getElementById(id)?.querySelector("tbody");
      if (!rows) return;
      const published = [...rows.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
      if (JSON.stringify(published) === JSON.stringify(table.rows)) return;
      replace(rows, (element) => {
        element.replaceChildren(...table.rows.map((row, r) => make("tr", {}, ...row.map((text, c) => make(c < table.heads ? "th" : "td",
          { scope: c < table.heads ? "row" : undefined, class: [table.numeric[c] && c >= table.heads ? "number" : "", published[r]?.[c] === text ? "" : "book-own"].join(" ").trim() || undefined, title: published[r]?.[c] === text ? undefined : `published: ${published[r]?.[c] ?? "no such row"}` }, text)))));
      });
    });
  }
  open();
});
