// Explorable of part I: the index as a maximum of lines.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;

  const LINES = 6;

  book.define("explore-index-lines", ({ parameters, values }) => {
    const [[arrival], [utility], [rate], [cost]] = ["arrival-rate", "mean-utility", "decay-rate", "cost"]
      .map((name) => values[`model-and-index-${name}`]);
    const own = math.makeSource(arrival, utility, rate, parameters.period, cost);
    const second = math.stateAtAge(own, 2) / own.limit;
    return {
      title: `Drive it: the index of source ${parameters.source} is the highest of many lines`,
      controls: [
        { name: "x", label: "Content x (or drag in the picture)", unit: "share of u*", type: "range", min: 0, max: 1.2, step: 0.005, value: second },
        { name: "decay", label: "Decay of interest in an epoch, μT", type: "range", min: 0.05, max: 3, log: true, value: own.decay },
      ],
      draw(state, width) {
        const source = { ...own, decay: state.decay }, { limit } = source;
        const x = state.x * limit, value = math.index(source, x), most = 1.2 * limit;
        const wait = x < limit ? math.indexWait(source, x) : 0;
        const panel = book.panel(width, 340, { range: [0, most], label: "content x (value units)" },
          { range: [0, most / cost], label: "index γ(x) (value per cost)" });
        const etas = Array.from({ length: LINES }, (_, n) => n + 1);
        [...etas, ...(wait > LINES ? [wait] : [])].forEach((eta) => {
          const [at0, at1] = [0, most].map((end) => math.indexLine(source, end, eta)), top = most / cost;
          const meets = (level) => (most * (level - at0)) / (at1 - at0); // where the line is at a level
          const ends = [at0 < 0 ? [meets(0), 0] : [0, at0], at1 > top ? [meets(top), top] : [most, at1]];
          panel.line(ends, colour(eta === wait ? 1 : 5), { thick: eta === wait ? 2.5 : 1.2, dash: "5 4" });
        });
        const curve = Array.from({ length: 241 }, (_, n) => (most * n) / 240).map((at) => [at, math.index(source, at)]);
        const orbit = etas.map((age) => math.stateAtAge(source, age));
        panel.line(curve, colour(6), { thick: 3 })
          .dots(orbit.map((at) => [at, math.index(source, at)]), colour(6), { radius: 4 })
          .line([[x, 0], [x, value]], colour(1), { thick: 1.5 })
          .dots([[x, value]], colour(1), { radius: 7, open: true });
        const where = `At content ${said(x)}, ${said(state.x, 3)} of u* = ${said(limit)}, the index is ${said(value)}`;
        const why = wait
          ? `on the line η = ${wait}: at that subsidy a crawl and a wait tie, and the source is then crawled whenever it is ${book.plural(wait, "epoch")} old.`
          : "which is x/C: from u* on, waiting gains nothing.";
        return {
          picture: [panel], words: `${where}, ${why}`, numbers: { content: x, index: value, wait: Math.max(1, wait) },
          legend: [[book.keyLine(colour(6)), "index"], [book.keyDot(colour(6)), `ages 1 to ${LINES}`], [book.keyLine(colour(5), "5 4"), `lines η = 1 to ${LINES}`],
            ...(wait ? [[book.keyLine(colour(1), "5 4"), `the highest here, η = ${wait}`]] : [])],
          drag: (place) => ({ x: Number((panel.inverse(place) / limit).toFixed(3)) }),
        };
      },
    };
  });
})();
