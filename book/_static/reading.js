// What is wider than its box scrolls there: by keyboard too, and its edge says so.
document.addEventListener("DOMContentLoaded", () => {
  const boxes = "article .book-table, article .cell_output .text_html, article .pst-scrollable-table-container, article div.math, article p:has(math), article pre";
  const cuts = (box) => getComputedStyle(box).overflowX !== "visible";
  const more = (box) => box.classList.toggle("book-more", cuts(box) && box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  const look = () => document.querySelectorAll(boxes).forEach((box) => {
    // A part of a pixel scrolls too, and is no reason for a sign.
    const scrolls = cuts(box) && (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    box.classList.toggle("book-scrolls", scrolls && box.scrollWidth > box.clientWidth + 1);
    more(box);
    box.onscroll = () => more(box);
    if (scrolls && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0;
      if (box.tagName === "P") {
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", "text with a formula, scrolls");
      } else if (box.tagName !== "PRE") {
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", box.matches(".math") ? "formula, scrolls" : "table, scrolls");
      }
    }
  });
  // Sizes change with the window, with folds, and with fonts that come after the first layout.
  const sizes = new ResizeObserver(() => requestAnimationFrame(look));
  document.querySelectorAll(boxes).forEach((box) => [box, ...box.children].forEach((part) => sizes.observe(part)));
  // A font that comes late widens a line of code, and no box: an observer of sizes is not told.
  document.fonts.addEventListener("loadingdone", () => requestAnimationFrame(look));
});
// A notebook is a file to keep: a browser would show its text.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll('a[href$=".ipynb"]').forEach((link) => { link.download = ""; });
});
// The definition of a term: while the link has the pointer or the focus; a first touch shows it, a second follows the link.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("a.book-term[title]").forEach((term) => {
    term.dataset.definition = term.title;
    term.setAttribute("aria-description", term.title);
    term.removeAttribute("title");
    let shown = false;
    term.onpointerdown = () => { shown = document.activeElement === term; };
    term.onclick = (event) => {
      if (!shown && matchMedia("(hover: none)").matches) { event.preventDefault(); term.focus(); }
    };
  });
});
