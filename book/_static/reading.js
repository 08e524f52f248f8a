// What is wider than its box scrolls there: by keyboard too, and its edge says so.
document.addEventListener("DOMContentLoaded", async () => {
  await window.MathJax?.startup?.promise;
  const boxes = "article .book-table, article .cell_output .text_html, article .pst-scrollable-table-container, article div.math, article mjx-container[display], article pre";
  const more = (box) => box.classList.toggle("book-more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  const look = () => document.querySelectorAll(boxes).forEach((box) => {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    box.classList.toggle("book-scrolls", box.scrollWidth > box.clientWidth + 1);
    more(box);
    box.onscroll = () => more(box);
    if (scrolls && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0;
      if (box.tagName !== "PRE") {
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", box.matches(".math, mjx-container") ? "formula, scrolls" : "table, scrolls");
      }
    }
  });
  look();
  addEventListener("resize", look);
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", look));
});
