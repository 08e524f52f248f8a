// Pictures of the explorables: panels with axes, lines, dots and cells, as text of inline SVG.
(function () {
  "use strict";
  const book = window.bookExplorables;
  const fixed = (value) => Math.round(value * 100) / 100;
  const MINUS = "\u2212";

  // The whole picture, named by its title: panels {height, body} one under the other.
  book.svg = (width, panels, title) => {
    const parts = [];
    let top = 0;
    panels.forEach(({ height, body }) => {
      parts.push(`<g transform="translate(0 ${top})">${body.join("")}</g>`);
      top += height;
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}"
      role="img" aria-label="${book.escaped(title)}">${parts.join("")}</svg>`;
  };

  book.text = (x, y, words, options = {}) => {
    const { anchor = "start", colour, weight } = options;
    const style = (colour ? `fill:${colour};` : "") + (weight ? `font-weight:${weight};` : "");
    return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" style="${style}">${book.escaped(words)}</text>`;
  };

  // Signs for keys: a line, a dot, a cell.
  book.keyLine = (colour, dash = "") =>
    `<line x1="1" y1="7" x2="27" y2="7" style="stroke:${colour};stroke-width:3;stroke-dasharray:${dash || "none"}"/>`;
  book.keyDot = (colour, open = false) =>
    `<circle cx="14" cy="7" r="5" style="fill:${open ? "none" : colour};stroke:${colour};stroke-width:2"/>`;
  book.keyCell = (colour, look = "") =>
    `<rect x="6" y="0.5" width="16" height="13" style="fill:${colour};stroke:var(--touch-edge);${look}"/>`;

  function roundTicks(low, high, count) {
    const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const ticks = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n += 1) ticks.push(n * step);
    return ticks;
  }
  function logTicks(low, high, count) {
    const ticks = [];
    for (let n = Math.floor(Math.log10(low)); 10 ** n <= high * 1.0001; n += 1) {
      [1, 2, 5].forEach((first) => {
        const tick = first * 10 ** n;
        if (tick >= low * 0.9999 && tick <= high * 1.0001) ticks.push([tick, first]);
      });
    }
    const few = ticks.length > count ? ticks.filter(([, first]) => first === 1) : ticks;
    const skip = Math.ceil(few.length / count);
    return few.filter((_, n) => n % skip === 0).map(([tick]) => tick);
  }
  const written = (tick) => {
    const size = Math.abs(tick);
    const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? size.toExponential(0) : String(Number(size.toPrecision(6)));
    return (tick < 0 ? MINUS : "") + text;
  };

  // A panel with two axes. x and y are {range, label, log, ticks, names, clip}; a quiet x axis has no
  // words, for panels that stand on another.
  book.panel = (width, height, x, y, left = 52) => {
    const box = { left, right: width - 22, top: 24, bottom: height - (x.quiet ? 6 : 44) };
    const scale = (axis, from, to) => {
      const [low, high] = axis.range;
      const share = axis.log
        ? (value) => Math.log(value / low) / Math.log(high / low) : (value) => (value - low) / (high - low);
      return (value) => from + (to - from) * share(Math.max(Math.min(value, axis.clip ? high : value), axis.clip ? low : value));
    };
    const px = scale(x, box.left, box.right), py = scale(y, box.bottom, box.top);
    const body = [];
    const show = (part) => { if (!x.quiet) body.push(part); };
    const ticksOf = (axis, room, each) => axis.ticks
      || (axis.log ? logTicks : roundTicks)(...axis.range, Math.max(2, Math.floor(room / each)));
    const named = (axis, tick, n) => (axis.names ? axis.names[n] : written(tick));
    ticksOf(y, box.bottom - box.top, 40).forEach((tick, n) => {
      body.push(`<line class="touch-grid" x1="${box.left}" x2="${box.right}" y1="${fixed(py(tick))}" y2="${fixed(py(tick))}"/>`);
      body.push(book.text(box.left - 6, py(tick) + 4, named(y, tick, n), { anchor: "end" }));
    });
    ticksOf(x, box.right - box.left, 62).forEach((tick, n) => {
      show(`<line class="touch-axis" x1="${fixed(px(tick))}" x2="${fixed(px(tick))}" y1="${box.bottom}" y2="${box.bottom + 4}"/>`);
      show(book.text(px(tick), box.bottom + 18, named(x, tick, n), { anchor: "middle" }));
    });
    body.push(`<path class="touch-axis" d="M${box.left} ${box.top}V${box.bottom}H${box.right}"/>`);
    body.push(book.text(4, 14, y.label));
    show(book.text(box.right, height - 8, x.label, { anchor: "end" }));
    const point = ([a, b]) => `${fixed(px(a))} ${fixed(py(b))}`;
    const inverse = (place) => {
      const share = Math.min(1, Math.max(0, (place - box.left) / (box.right - box.left)));
      const [low, high] = x.range;
      return x.log ? low * (high / low) ** share : low + share * (high - low);
    };
    const panel = { height, body, px, py, inverse, lowest: y.range[0] };
    panel.line = (points, colour, { dash = "", thick = 2 } = {}) => {
      if (points.length < 2) return panel;
      body.push(`<path d="M${points.map(point).join("L")}" style="fill:none;stroke:${colour};stroke-width:${thick};stroke-dasharray:${dash || "none"};stroke-linejoin:round"/>`);
      return panel;
    };
    panel.band = (low, high, colour) => {
      const around = [...high, ...[...low].reverse()].map(point).join("L");
      body.push(`<path d="M${around}Z" style="fill:${colour};opacity:0.2"/>`);
      return panel;
    };
    panel.dots = (points, colour, { radius = 4, open = false, opacity = 1 } = {}) => {
      const look = open ? `fill:var(--touch-ground);stroke:${colour};stroke-width:2` : `fill:${colour}`;
      points.forEach(([a, b]) => body.push(`<circle cx="${fixed(px(a))}" cy="${fixed(py(b))}" r="${radius}" style="${look};opacity:${opacity}"/>`));
      return panel;
    };
    panel.cell = ([a, b], [c, d], colour, look = "") => {
      const [l, r, t, m] = [px(a), px(c), py(d), py(b)];
      body.push(`<rect x="${fixed(Math.min(l, r))}" y="${fixed(Math.min(t, m))}" width="${fixed(Math.abs(r - l))}" height="${fixed(Math.abs(m - t))}" style="fill:${colour};${look}"/>`);
      return panel;
    };
    panel.label = (a, b, words, options = {}) => {
      const { dx = 0, dy = 0 } = options;
      body.push(book.text(px(a) + dx, py(b) + dy, words, options));
      return panel;
    };
    return panel;
  };
})();
