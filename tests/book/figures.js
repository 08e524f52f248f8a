// Run in a page that shows one drawing of the book, at a width in pixels: say which of its texts overlap, are cut off
// at its edge, are too small, too faint for what lies behind them, crossed by a curve or lie on a point; which axes have
// ticks without labels; and which lines of a legend have lost the points of their curve. Matplotlib writes a text as a group `text_N` of glyphs, drawn in units of a hundredth of the letter
// size, with its words in a comment.
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

  // Curves, and lines across a panel, as points of the screen; lines of the grid, ticks and keys of legends are none.
  const curves = [...svg.querySelectorAll("g[id^=line2d_] > path, g[id^=LineCollection_] > path")]
    .filter((e) => !e.closest("g[id^=xtick_], g[id^=ytick_], g[id^=legend_]") && getComputedStyle(e).stroke !== "none")
    .map((e) => {
      const { a, d, e: left, f: top } = e.getScreenCTM();
      const clip = e.closest("g[id^=axes_]")?.querySelector("g[id^=patch_]").getBoundingClientRect() ?? frame;
      const points = [...e.getAttribute("d").matchAll(/([ML]) (\S+) (\S+)/g)]
        .map(([, move, x, y]) => ({ move: move === "M", x: a * x + left, y: d * y + top }));
      return { points, clip };
    });
  // Whether a piece of a line from p to q runs through a box.
  const runsThrough = (p, q, box) => {
    const [wide, high] = [q.x - p.x, q.y - p.y];
    let [from, to] = [0, 1];
    for (const [step, low, top] of [[wide, box.left - p.x, box.right - p.x], [high, box.top - p.y, box.bottom - p.y]]) {
      if (step === 0 && (low > 0 || top < 0)) return false;
      const ends = step === 0 ? [0, 1] : [low / step, top / step].sort((one, other) => one - other);
      [from, to] = [Math.max(from, ends[0]), Math.min(to, ends[1])];
    }
    return from < to;
  };
  // A ground of its own, or that of its legend, hides what lies behind a text.
  const hasGround = ({ group }) => [...(group.closest("g[id^=legend_]") ?? group).querySelectorAll("g[id^=patch_] > path")]
    .some((e) => getComputedStyle(e).fill !== "none" && Number(getComputedStyle(e).fillOpacity) > 0.7);
  const crossed = (text) => !text.slanted && !hasGround(text) && curves.some(({ points, clip }) => {
    const box = {
      left: Math.max(text.box.left + 1, clip.left), right: Math.min(text.box.right - 1, clip.right),
      top: Math.max(text.box.top + 1, clip.top), bottom: Math.min(text.box.bottom - 1, clip.bottom),
    };
    return box.left < box.right && box.top < box.bottom
      && points.some((q, i) => i && !q.move && runsThrough(points[i - 1], q, box));
  });

  // Points: each is drawn by a reference to its shape, in the group of its line or of its collection.
  const pointed = (e) => e.querySelector(":scope > use, :scope > g > use") !== null;
  const outOf = (selector) => (e) => !e.closest(selector);
  const points = [...svg.querySelectorAll("g[id^=line2d_] use, g[id^=PathCollection_] use")]
    .filter(outOf("g[id^=xtick_], g[id^=ytick_], g[id^=legend_]")).map((e) => e.getBoundingClientRect());
  const onPoint = (text) => !text.slanted && !hasGround(text) && points.some((box) =>
    Math.min(box.right, text.box.right) - Math.max(box.left, text.box.left) > 1.5
    && Math.min(box.bottom, text.box.bottom) - Math.max(box.top, text.box.top) > 1.5);

  // Lines of a legend without points, where all curves of their look have some.
  const look = (e) => {
    const path = e.querySelector(":scope > path");
    if (!path || getComputedStyle(path).stroke === "none") return null;
    return `${getComputedStyle(path).stroke} ${getComputedStyle(path).strokeDasharray}`;
  };
  const lines = [...svg.querySelectorAll("g[id^=line2d_]")].filter(outOf("g[id^=xtick_], g[id^=ytick_]")).filter(look);
  const drawn = lines.filter(outOf("g[id^=legend_]"));
  // An error bar's key has its point in a group of its own.
  const keys = [...svg.querySelectorAll("g[id^=legend_] use")].filter((e) => !e.closest("g[id^=text_]"))
    .map((e) => e.getBoundingClientRect());
  const onKey = (line) => keys.some((box) => box.left < line.right && box.right > line.left && box.top <= line.bottom && box.bottom >= line.top);
  const pointless = lines.filter((e) => e.closest("g[id^=legend_]") && !onKey(e.querySelector("path").getBoundingClientRect())).filter((e) => {
    const alike = drawn.filter((curve) => look(curve) === look(e));
    return alike.length && alike.every(pointed);
  }).map((e) => `${e.id}: ${look(e)}`);

  // The axes of panels: their ticks, and how many of these have a label. Panels of a row or a column share labels.
  const panels = [...svg.querySelectorAll("g[id^=axes_]")].map((panel) => {
    const box = panel.querySelector("g[id^=patch_]").getBoundingClientRect();
    const axis = (name) => {
      const ticks = [...panel.querySelectorAll(`g[id^=${name}tick_]`)];
      return { ticks: ticks.length, labels: ticks.filter((tick) => tick.querySelector("g[id^=text_] use")).length };
    };
    return { name: panel.id, box, x: axis("x"), y: axis("y") };
  });
  const near = (a, b) => Math.abs(a - b) < 2;
  const mates = {
    x: (one, other) => near(one.box.left, other.box.left) && near(one.box.right, other.box.right),
    y: (one, other) => near(one.box.top, other.box.top) && near(one.box.bottom, other.box.bottom),
  };
  const bare = panels.flatMap((one) => ["x", "y"].filter((axis) => one[axis].ticks && !panels.some((other) =>
    other[axis].labels && (other === one || mates[axis](one, other)))).map((axis) => `${one.name}: ${axis}`));

  const texts = [...svg.querySelectorAll("g[id^=text_]")].flatMap(read);
  const said = { texts: texts.length, overlapping: [], cut: [], small: [], faint: [], crossed: [], bare, pointless };
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
    if (crossed(one)) said.crossed.push(one.name);
    if (onPoint(one)) said.crossed.push(`${one.name}: on a point`);
    const [high, low] = [luminance(one.colour), luminance(ground(one))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) said.faint.push(`${one.name}: ${ratio.toFixed(1)}`);
  });
  return said;
}
