// Explorable of the page on signals that lie: recall, precision and budget, and the knee.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;
  const POINTS = 120, LEAST = 0.01;

  // What pings are worth to identical sources in continuous time, over the reward without them.
  math.gainOfPings = (recall, precision, items, decay, crawls) => {
    const blind = -crawls / decay * Math.expm1(-decay / crawls), pings = items * recall / precision;
    const longest = pings < crawls ? -Math.log1p(-pings / crawls) / pings : Infinity;
    const used = pings > crawls ? crawls * (1 + precision * decay / items) / (decay + crawls)
      : recall - (1 - recall) * crawls / (decay + pings) * Math.expm1(-(decay + pings) * longest);
    return Math.max(used / blind, 1);
  };

  book.define("explore-signals", ({ parameters, values }) => ({
    title: "Drive it: recall, precision and budget, and where the knee is",
    controls: [
      { name: "r", label: "Recall r", type: "range", min: 0.01, max: 1, step: 0.01, value: values["signals-that-lie-view-recall"] },
      { name: "p", label: "Precision p (or drag in the picture)", type: "range", min: LEAST, max: 1, log: true, value: values["signals-that-lie-view-precision"] },
      { name: "n", label: "Crawls n of a source", unit: "a unit of time", type: "range", min: 0.01, max: 100, log: true, value: parameters.crawls },
      { name: "items", label: "Items \u039b of a source", unit: "a unit of time", type: "range", min: 0.01, max: 10, log: true, value: parameters.items },
      { name: "decay", label: "Decay rate \u03bc", unit: "1/unit of time", type: "range", min: 0.005, max: 2, log: true, value: parameters.decay },
    ],
    draw(state, width) {
      const gain = (p) => math.gainOfPings(state.r, p, state.items, state.decay, state.n);
      const grid = Array.from({ length: POINTS + 1 }, (_, k) => LEAST ** (1 - k / POINTS));
      const curve = grid.map((p) => [Math.log10(p), gain(p)]), highest = Math.max(...curve.map(([, value]) => value), 1);
      const panel = book.panel(width, 260, { range: [-2, 0], label: "precision (log10)" }, { range: [0, 1.1 * highest], label: "reward / reward without pings" });
      const knee = state.r * state.items / state.n, pings = knee / state.p, here = gain(state.p);
      panel.line([[-2, 1], [0, 1]], colour(6), { thick: 1 }).line(curve, colour(0), { thick: 2 });
      if (knee > LEAST && knee < 1) panel.line([[Math.log10(knee), 0], [Math.log10(knee), 1.1 * highest]], colour(1), { thick: 1.2, dash: "4 3" });
      panel.dots([[Math.log10(state.p), here]], colour(4), { radius: 5 });
      const side = pings > 1 ? "Pings outnumber crawls: beyond the knee, and precision counts." : "There are crawls for all pings: before the knee, and precision counts for little where recall is high.";
      return {
        picture: [panel], numbers: { pings, gain: here },
        words: `${said(pings, 2)} pings come for each crawl, and they are worth ${said(here, 3)} times the reward without them. ${side}`,
        legend: [[book.keyLine(colour(0)), "worth of pings, by precision"], [book.keyLine(colour(1), "4 3"), "the knee: a ping for each crawl"]],
        drag: (place) => ({ p: Number(Math.min(1, Math.max(LEAST, 10 ** panel.inverse(place))).toPrecision(3)) }),
      };
    },
  }));
})();
