// Filters of the scorecard: by document, kind, verdict, basis, and any word. Works from disk.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.book-scorecard");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const text = (row, column) => row.cells[column].textContent.trim();
  const bar = document.createElement("form");
  bar.className = "book-filter";
  bar.setAttribute("aria-label", "Filter the scorecard");
  const columns = { Document: 1, Kind: 3, Verdict: 6, Basis: 7 };
  const choices = Object.entries(columns).map(([name, column]) => {
    const select = document.createElement("select");
    select.id = `filter-${name.toLowerCase()}`;
    select.append(new Option("all", ""));
    [...new Set(rows.map((row) => text(row, column)))].sort().forEach((value) => select.append(new Option(value, value)));
    const label = document.createElement("label");
    label.append(`${name} `, select);
    bar.append(label);
    return [column, select];
  });
  const word = document.createElement("input");
  word.type = "search";
  word.setAttribute("aria-label", "word in a row");
  word.placeholder = "word";
  const count = document.createElement("output");
  bar.append(word, count);
  const apply = () => {
    const wanted = word.value.toLowerCase();
    let shown = 0;
    rows.forEach((row) => {
      const keep = choices.every(([column, select]) => !select.value || text(row, column) === select.value)
        && row.textContent.toLowerCase().includes(wanted);
      row.hidden = !keep;
      shown += keep;
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  bar.addEventListener("input", apply);
  bar.addEventListener("submit", (event) => event.preventDefault());
  table.parentElement.before(bar);
  apply();
});
