// Filters of the scorecard: by document, kind, verdict, basis, and any word. What is chosen stands
// in the address, so that a view can be linked: scorecard.html?verdict=explained. Without a choice
// the table shows what comes out of the documents; "inputs too" adds parameters and prose. The table of
// errata can be filtered by document. Works from disk.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.book-scorecard");
  if (!table) return;
  // Each document has its rows in a part of the table, below its name.
  const parts = [...table.tBodies].map((body) => ({ title: body.rows[0], rows: [...body.rows].slice(1) }));
  const rows = parts.flatMap((part) => part.rows);
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const known = document.getElementById("scorecard-choices").dataset;
  const said = (row, column) => row.cells[heads.indexOf(column)]?.textContent.trim();
  // A basis is named where it is not the usual one.
  const text = (row, column) => column === "Document" ? row.parentElement.rows[0].textContent.trim()
    : column === "Basis" ? said(row, column) || "computed" : said(row, column);
  const bar = document.createElement("form");
  bar.className = "book-filter";
  bar.setAttribute("aria-label", "Filter the scorecard");
  const given = new URLSearchParams(location.search || location.hash.slice(1));
  const choices = ["Document", "Kind", "Verdict", "Basis"].map((name) => {
    const select = document.createElement("select");
    select.name = name.toLowerCase();
    select.id = `filter-${select.name}`;
    select.append(new Option("all", ""));
    // Every value of the guide can be chosen, those that no row has too, and so can what the address names.
    const values = known[select.name] ? known[select.name].split("|") : [...new Set(rows.map((row) => text(row, name)))].sort();
    const named = given.get(select.name);
    if (named && !values.includes(named)) values.push(named);
    values.filter(Boolean).forEach((value) => select.append(new Option(value.split("|").join(" or "), value)));
    const label = document.createElement("label");
    label.append(`${name} `, select);
    bar.append(label);
    return [name, select];
  });
  const inputs = document.createElement("input");
  inputs.type = "checkbox";
  inputs.name = "inputs";
  const inputsLabel = document.createElement("label");
  inputsLabel.append(inputs, " inputs too");
  const word = document.createElement("input");
  word.type = "search";
  word.name = "word";
  word.setAttribute("aria-label", "word in a row");
  word.placeholder = "word";
  const count = document.createElement("output");
  bar.append(inputsLabel, word, count);
  const fields = [...choices.map(([, select]) => select), word];
  const isInput = (row) => ["used", "context"].includes(text(row, "Verdict"));
  const write = () => {
    const chosen = new URLSearchParams(fields.filter((f) => f.value).map((f) => [f.name, f.value]));
    if (inputs.checked) chosen.set("inputs", "1");
    history.replaceState(null, "", `${location.pathname}${chosen.size ? `?${chosen}` : ""}`);
  };
  const apply = () => {
    const wanted = word.value.toLowerCase();
    const verdicts = choices.find(([name]) => name === "Verdict")[1].value.split("|");
    let shown = 0;
    rows.forEach((row) => {
      // A choice may name several values, as links from the table of coverage do.
      const keep = choices.every(([column, select]) => !select.value || select.value.split("|").includes(text(row, column)))
        && row.textContent.toLowerCase().includes(wanted)
        && (inputs.checked || !isInput(row) || verdicts.includes(text(row, "Verdict")));
      row.hidden = !keep;
      shown += keep;
    });
    parts.forEach((part) => { part.title.hidden = part.rows.every((row) => row.hidden); });
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  fields.forEach((field) => { field.value = given.get(field.name) ?? ""; });
  inputs.checked = given.has("inputs");
  bar.addEventListener("input", () => { apply(); write(); });
  bar.addEventListener("submit", (event) => event.preventDefault());
  table.parentElement.before(bar);
  // A row opens by a click, a touch or a key, and then shows its reason, kind and basis.
  rows.forEach((row) => { row.tabIndex = 0; });
  const toggle = (row) => row.classList.toggle("book-open");
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tr:has(td)");
    if (row && !event.target.closest("a") && !String(getSelection())) toggle(row);
  });
  table.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    if (!event.target.matches("tr")) return;
    event.preventDefault();
    toggle(event.target);
  });
  apply();
});
document.addEventListener("DOMContentLoaded", () => {
  const tables = [...document.querySelectorAll("table.book-errata")];
  if (!tables.length) return;
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const documentOf = (row) => row.querySelector(".book-row").textContent.split(",")[0];
  if (new Set(rows.map(documentOf)).size < 2) return;
  const bar = document.createElement("form");
  bar.className = "book-filter";
  const select = document.createElement("select");
  select.name = "document";
  select.append(new Option("all", ""));
  [...new Set(rows.map(documentOf))].forEach((name) => select.append(new Option(name, name)));
  const label = document.createElement("label");
  label.append("Document ", select);
  const count = document.createElement("output");
  bar.append(label, count);
  const apply = () => {
    rows.forEach((row) => { row.hidden = select.value !== "" && documentOf(row) !== select.value; });
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = `${shown} of ${rows.length} errata`;
  };
  select.value = new URLSearchParams(location.search).get("document") ?? "";
  bar.addEventListener("submit", (event) => event.preventDefault());
  bar.addEventListener("input", () => {
    apply();
    history.replaceState(null, "", `${location.pathname}${select.value ? `?${new URLSearchParams({ document: select.value })}` : ""}`);
  });
  tables[0].closest("section").before(bar);
  apply();
});
