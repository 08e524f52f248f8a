// What is wider than its box scrolls there: by keyboard too, and its edge says so.
document.addEventListener("DOMContentLoaded", () => {
  const boxes = "article .book-table, article .cell_output .text_html, article .pst-scrollable-table-container, article div.math, article span.book-wide, article pre";
  const cuts = (box) => getComputedStyle(box).overflowX !== "visible";
  const more = (box) => box.classList.toggle("book-more", cuts(box) && box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  // A formula in a line cannot be broken: one that is wider than its line, with a stop behind it, scrolls in a box of its own.
  const widen = (formula) => {
    const line = formula.closest("p, li, dd, td, th, figcaption, h1, h2, h3, h4");
    const box = formula.parentElement, wide = !!line?.clientWidth && formula.getBoundingClientRect().width + 8 > line.clientWidth;
    if (!wide && box.matches(".book-wide")) {
      box.classList.remove("book-more", "book-scrolls");
      ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    }
    box.classList.toggle("book-wide", wide);
  };
  // Regions have names of their own: what scrolls, in which section, and which of several.
  const names = new Map();
  const nameOf = (box) => {
    const heading = box.closest("section")?.querySelector(":scope > :is(h1, h2, h3, h4)")?.firstChild.textContent.trim();
    const name = `${box.matches(".math") ? "formula" : "table"}${heading ? ` in ${heading}` : ""}, scrolls`;
    names.set(name, (names.get(name) ?? 0) + 1);
    return names.get(name) > 1 ? `${name}, ${names.get(name)}` : name;
  };
  const watch = (box) => {
    // A part of a pixel scrolls too, and is no reason for a sign.
    const scrolls = cuts(box) && (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    box.classList.toggle("book-scrolls", scrolls && box.scrollWidth > box.clientWidth + 1);
    more(box);
    box.onscroll = () => more(box);
    if (scrolls && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0;
      if (box.tagName !== "PRE") {
        box.setAttribute("role", box.tagName === "SPAN" ? "group" : "region");
        box.setAttribute("aria-label", nameOf(box));
      }
    }
  };
  const look = () => {
    document.querySelectorAll("article span.math > math").forEach(widen);
    document.querySelectorAll(boxes).forEach(watch);
  };
  // Sizes change with the window, with folds, and with fonts that come after the first layout.
  const sizes = new ResizeObserver(() => requestAnimationFrame(look));
  document.querySelectorAll(`article, ${boxes}`).forEach((box) => [box, ...box.children].forEach((part) => sizes.observe(part)));
  // A font that comes late widens a line of code, and no box: an observer of sizes is not told.
  document.fonts.addEventListener("loadingdone", () => requestAnimationFrame(look));
});
// A notebook is a file to keep: a browser would show its text.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll('a[href$=".ipynb"]').forEach((link) => { link.download = ""; });
});
// What the theme's buttons do: a handler in an attribute would not run under a content security policy.
document.addEventListener("DOMContentLoaded", () => {
  const actions = { print: () => window.print(), fullscreen: () => window.toggleFullScreen() };
  document.querySelectorAll("[data-action]").forEach((button) => button.addEventListener("click", actions[button.dataset.action]));
});
