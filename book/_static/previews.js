// Cards: the theorem, equation, figure, reference or term that a link names, at the pointer, while the
// link is pointed at or has the focus. A first touch shows the card, a second follows the link.
// Escape closes it. The cards of other pages come as scripts, which load from disk too.
(function () {
  "use strict";
  const root = document.documentElement.dataset.content_root ?? "./";
  const WAIT = 150, LINGER = 250; // milliseconds
  const files = {};
  window.bookCards = (name, cards) => files[name].found(cards);

  function load(name) {
    if (!files[name]) {
      files[name] = {};
      files[name].cards = new Promise((found, failed) => {
        files[name].found = found;
        const script = document.createElement("script");
        script.src = `${root}cards/${name}.js`;
        script.onerror = failed;
        document.head.append(script);
      });
    }
    return files[name].cards;
  }

  // The content of a link's card, as nodes; null where there is none.
  async function contentOf(link) {
    if (link.dataset.definition) return document.createTextNode(link.dataset.definition);
    const id = decodeURIComponent(link.hash.slice(1)), holder = document.createElement("template");
    if (link.dataset.card === "") {
      const target = document.getElementById(id);
      if (!target) return null;
      holder.content.append(target.cloneNode(true));
      holder.content.querySelectorAll(".headerlink, .repro-links").forEach((part) => part.remove());
      holder.content.querySelectorAll("a").forEach((part) => part.replaceWith(...part.childNodes));
      holder.content.querySelectorAll("[id], [tabindex], [role]").forEach((part) => ["id", "tabindex", "role", "aria-labelledby"].forEach((name) => part.removeAttribute(name)));
    } else {
      const html = (await load(link.dataset.card))[id];
      if (html === undefined) return null;
      holder.innerHTML = html;
      holder.content.querySelectorAll("[src], [srcset]").forEach((part) => ["src", "srcset"].forEach((name) => {
        if (part.hasAttribute(name)) part.setAttribute(name, root + part.getAttribute(name));
      }));
    }
    return holder.content;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const links = document.querySelectorAll("article a[data-card], article a.book-term[title]");
    if (!links.length) return;
    const card = document.createElement("div");
    card.id = "book-preview";
    card.className = "book-preview";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    document.body.append(card);
    let shown = null, wanted = null, timer = 0, pointer;

    function place(link, x) {
      const lines = [...link.getClientRects()];
      const line = lines.find(({ left, right }) => x >= left && x <= right) ?? lines[0];
      const wide = document.documentElement.clientWidth, high = document.documentElement.clientHeight;
      card.style.maxHeight = `${Math.max(line.top, high - line.bottom) - 16}px`;
      const [width, height] = [card.offsetWidth, card.offsetHeight];
      card.style.left = `${Math.max(8, Math.min((x ?? line.left) - 24, wide - width - 8))}px`;
      const below = line.bottom + 6;
      card.style.top = `${below + height + 8 <= high || line.top < high - line.bottom ? below : line.top - height - 6}px`;
    }
    async function show(link, x) {
      wanted = link;
      const content = await contentOf(link).catch(() => null);
      if (wanted !== link || !content) return;
      hide();
      wanted = shown = link;
      pointer = x;
      card.replaceChildren(content);
      card.hidden = false;
      if (!link.dataset.definition) link.setAttribute("aria-describedby", card.id);
      place(link, x);
      card.querySelectorAll("img").forEach((image) => image.addEventListener("load", () => { if (shown === link) place(link, x); }));
    }
    function hide() {
      clearTimeout(timer);
      shown?.removeAttribute("aria-describedby");
      shown = wanted = null;
      card.hidden = true;
    }
    const later = (act, wait) => { clearTimeout(timer); timer = setTimeout(act, wait); };

    links.forEach((link) => {
      if (link.title && link.matches(".book-term")) {
        link.dataset.definition = link.title;
        link.setAttribute("aria-description", link.title);
        link.removeAttribute("title");
      }
      let open = false;
      link.addEventListener("pointerenter", (event) => {
        if (event.pointerType !== "touch" && shown !== link) later(() => show(link, event.clientX), WAIT);
      });
      link.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch" && document.activeElement !== link) later(hide, LINGER);
      });
      link.addEventListener("pointerdown", () => { open = shown === link; });
      link.addEventListener("focus", () => { if (shown !== link) show(link); });
      link.addEventListener("blur", hide);
      link.addEventListener("click", (event) => {
        if (open || !matchMedia("(hover: none)").matches) return;
        event.preventDefault();
        link.focus();
        if (shown !== link) show(link);
      });
    });
    card.addEventListener("pointerenter", () => clearTimeout(timer));
    card.addEventListener("pointerleave", () => later(hide, LINGER));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.addEventListener("pointerdown", ({ target }) => { if (shown && !card.contains(target) && !shown.contains(target)) hide(); });
    // The card goes with its link, as when focus scrolls it into sight, and closes out of sight.
    addEventListener("scroll", (event) => {
      if (!shown || event.target === card) return;
      const { top, bottom } = shown.getBoundingClientRect();
      if (bottom < 0 || top > innerHeight) hide(); else place(shown, pointer);
    }, { capture: true, passive: true });
  });
})();
