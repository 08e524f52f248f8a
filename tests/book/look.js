// Run in a page: wait until it has settled, then say what a reader can and cannot see of it.
async () => {
  // Fonts are asked for when a page is laid out, which is for its next frame.
  await new Promise((settled) => requestAnimationFrame(() => setTimeout(settled)));
  await document.fonts.ready;
  // What a page does about a new size, it does in the frame after the one that shows it.
  const frame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  for (let k = 0; k < 3; k += 1) await frame();
  const article = document.querySelector("main article") ?? document.body;
  const visible = { checkOpacity: true, checkVisibilityCSS: true };
  // Of a figure's pictures the theme shows one.
  // One picture of each kind is shown, and none where something to drive stands in its place.
  const images = [...article.querySelectorAll("img")].filter((image) => !image.closest(".touch-replaced")
    && (!image.closest("picture") || getComputedStyle(image.closest("picture")).display !== "none"));
  for (const image of images) {
    image.loading = "eager";
    await image.decode().catch(() => {});
  }
  const box = (element) => element.getBoundingClientRect();

  // Contrast of every piece of text with what lies behind it, as WCAG defines it.
  const parse = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found[3] ?? 1 };
  };
  const over = (front, back) =>
    front.rgb.map((c, i) => front.alpha * c + (1 - front.alpha) * back[i]);
  const background = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      layers.push(parse(getComputedStyle(e).backgroundColor));
      if (layers.at(-1).alpha === 1) break;
    }
    return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255]);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) =>
      c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = new Set();
  let texts = 0;
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent.trim();
    if (!text || !element.checkVisibility(visible)) continue;
    // Not the book's own: the theme's signs and shortcuts.
    if (element.closest(".headerlink, button, [class*=kbd-shortcut]")) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const back = background(element);
    const two = [luminance(over(parse(style.color), back)), luminance(back)];
    const ratio = (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      faint.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${text.slice(0, 40)}`);
    }
  }

  // What makes the page wider than the screen, or is cut off at its edge and cannot be scrolled to;
  // a folded row of the scorecard is cut off and shows all once it is touched.
  const overflow = document.documentElement.scrollWidth - window.innerWidth;
  const scrolls = (e) => e !== article
    && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const wide = [...article.querySelectorAll("*")]
    .filter((e) => box(e).right > window.innerWidth + 1)
    .filter((e) => !scrolls(e) && !e.closest(".book-scorecard tr:not(.book-open) :is(.math, .book-joined)")).slice(0, 5).map((e) => e.outerHTML.slice(0, 120));
  if (overflow > 0) wide.unshift(`by ${overflow} pixels`);

  // What scrolls sideways without a sign that it does, or cannot be reached by keyboard.
  const uncued = [...article.querySelectorAll(".book-table, div.math, .cell_output .text_html, pre")]
    .filter((e) => e.checkVisibility(visible) && e.scrollWidth > e.clientWidth + 1)
    .filter((e) => !e.classList.contains("book-scrolls") || e.tabIndex < 0 || !scrolls(e));

  // Links within text that nothing but their colour sets apart from it.
  const underlined = (e) => getComputedStyle(e).textDecorationLine.includes("underline");
  const plain = [...article.querySelectorAll("a[href]:not(.headerlink, svg a)")]
    .filter((a) => a.checkVisibility(visible) && a.innerText.trim())
    .filter((a) => (a.closest("p, li, dd, dt, td, th, figcaption") ?? a).innerText.trim() !== a.innerText.trim())
    .filter((a) => ![a, ...a.querySelectorAll("*")].some(underlined));

  const mathematics = [...article.querySelectorAll(".math")];
  const marked = article.querySelectorAll("merror, .problematic, .system-message");
  return {
    theme: document.documentElement.dataset.theme,
    texts,
    faint: [...faint],
    wide,
    scrolling: article.querySelectorAll(".book-scrolls").length,
    uncued: uncued.map((e) => e.outerHTML.slice(0, 120)),
    plain: plain.map((a) => a.outerHTML.slice(0, 120)),
    folded: [...article.querySelectorAll("details.hide > summary")].map((s) => s.innerText.trim()),
    images: images.map((image) => ({
      source: image.getAttribute("src"),
      file: image.currentSrc,
      width: box(image).width,
      natural: image.naturalWidth * image.naturalHeight,
      shown: box(image).width * box(image).height,
    })),
    math: mathematics.length,
    bare: mathematics.filter((m) => !m.querySelector("math > *")).map((m) => m.textContent),
    wrong: [...marked].map((element) => element.textContent),
  };
};
