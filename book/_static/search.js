// Order of search results: what matches equally well stands in the order of the book, then guide
// and back matter, and the API last. A result that leads to a printed row names the row.
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
    const around = /^(guide|back|documents)\//.test(docname) ? 5 : 0;
    return score - after - around - (docname.startsWith("api/") && score < 100 ? 20 : 0);
  },
};
// Single letters are on every page: what is named by such (M/M/1/K, A-r-25466) is found by its whole name, or by what is longer in it.
var splitQuery = (query) => query.split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu).filter((term) => term.length > 1);
// Excerpts are prose: without code, what formulas are written in, and what stands around an article.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const whole = Search.htmlToText;
  const aside = ".bd-header-article, .prev-next-footer, .cell_input, details.above-input, .book-rerun-hint, .repro-links, annotation";
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll(aside).forEach((part) => part.remove());
    return whole(page.documentElement.outerHTML, anchor);
  };
});
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
