// Order of search results: what matches equally well stands in the order of the book, then the
// guide, and the API last. A result that leads to a printed row names the row.
// Sphinx's search takes this object, where it is defined, in place of its own with the same weights.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([docname, , , , score]) => {
    Scorer.order ??= [...document.querySelectorAll(".bd-sidebar-primary a.internal")].map((a) => a.getAttribute("href"));
    const place = Scorer.order.indexOf(`${docname}.html`);
    const after = place < 0 ? 2 : place / 100;
    const guide = docname.startsWith("guide/") ? 5 : 0;
    return score - after - guide - (docname.startsWith("api/") && score < 100 ? 20 : 0);
  },
};
document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  if (!results) return;
  new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach((node) => {
    const links = node.querySelectorAll?.("a[href*='#row-']:not([data-row])") ?? [];
    links.forEach((link) => {
      link.dataset.row = link.hash.slice("#row-".length);
      link.textContent += ` > row ${link.dataset.row}`;
    });
  }))).observe(results, { childList: true, subtree: true });
});
