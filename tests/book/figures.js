// Run in a page that shows one drawing of the book, at a width in pixels: say which of its texts overlap, are cut off
// at its edge, are too small, or too faint for what lies behind them. Matplotlib writes a text as a group `text_N`
// of glyphs, drawn in units of a hundredth of the letter size, with its words in a comment.
(width) => {
  const svg = document.querySelector("svg");
  const view = svg.viewBox.baseVal;
  svg.setAttribute("width", width);
  svg.setAttribute("height", width * view.height / view.width);
  const frame = svg.getBoundingClientRect();
  const parse = (colour) => colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const over = (front, back, alpha) => front.map((c, i) => alpha * c + (1 - alpha) * back[i]);

  const read = (group) => {
    const glyph = group.querySelector("use");
    const box = group.getBoundingClientRect();
    if (!glyph || !box.width) return [];
    const words = [...group.childNodes].find((node) => node.nodeType === Node.COMMENT_NODE);
    const matrix = glyph.getScreenCTM();
    const size = 100 * Math.hypot(matrix.a, matrix.b);
    const slanted = Math.round(Math.atan2(matrix.b, matrix.a) * 180 / Math.PI) % 90 !== 0;
    const colour = parse(getComputedStyle(glyph).fill).slice(0, 3);
    return [{ group, box, size, slanted, colour, name: words?.data.trim() ?? group.id }];
  };
  const ground = (text) => {
    const { box } = text;
    const shapes = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2)
      // A glyph is no ground; the box that a text may bring along is.
      .filter((e) => e.ownerSVGElement === svg && !(e.tagName === "use" && e.closest("g[id^=text_]")));
    return shapes.reverse().reduce((below, shape) => {
      const style = getComputedStyle(shape);
      if (style.fill === "none") return below;
      const [r, g, b, alpha = 1] = parse(style.fill);
      return over([r, g, b], below, alpha * Number(style.fillOpacity) * Number(style.opacity));
    }, [255, 255, 255]);
  };

  const texts = [...svg.querySelectorAll("g[id^=text_]")].flatMap(read);
  const said = { texts: texts.length, overlapping: [], cut: [], small: [], faint: [] };
  texts.forEach((one, i) => {
    const { box } = one;
    if (one.size < 8) said.small.push(`${one.name}: ${one.size.toFixed(1)} px`);
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
      said.cut.push(one.name);
    }
    for (const other of one.slanted ? [] : texts.slice(i + 1).filter((text) => !text.slanted)) {
      const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
      if (wide > 1.5 && high > 1.5) said.overlapping.push(`${one.name} and ${other.name}`);
    }
    const [high, low] = [luminance(one.colour), luminance(ground(one))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) said.faint.push(`${one.name}: ${ratio.toFixed(1)}`);
  });
  return said;
}
