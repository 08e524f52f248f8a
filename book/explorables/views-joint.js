// Explorable of part VI: a price of a page and a queue, against what is crawled.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour, listed } = book;
  const FEW = 8, EPOCHS = 40, AGES = 12;

  book.define("explore-together", ({ parameters, values }) => {
    const columns = book.rateColumns(values, "together"), all = columns[0].length, size = Math.min(FEW, all);
    const [arrival, utility, decay] = columns.map((column) => column.slice(0, size)), T = parameters.period;
    const worth = Math.max(...utility) || 1, pages = arrival.map((rate) => rate * T);
    return {
      title: `Drive it: a price, a queue, and who is crawled${size < all ? ` (the first ${size} sources)` : ""}`,
      controls: [
        { name: "price", label: "Price of a page p", unit: "content", type: "range", min: 0, max: Number((1.2 * worth).toPrecision(3)), value: values["together-price"] },
        { name: "q", label: "Pages that wait, q", type: "range", min: 0, max: 2000, integer: true, value: values["together-queue"] },
        { name: "s", label: "Pages indexed per unit of time, s", type: "range", min: 1, max: 10000, log: true, value: parameters.index_rate },
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: size, integer: true, value: values["together-budget"] },
      ],
      draw(state, width) {
        // Indexed freshest first: worth less by one indexing, and fading the faster the more pages there are.
        const sources = arrival.map((rate, i) =>
          math.makeSource(rate, utility[i] * state.s / (state.s + decay[i]), decay[i] * (1 + rate / (state.s + decay[i])), T));
        const kept = decay.map((mu) => Math.exp(-state.q * Math.log1p(mu / state.s)));
        const run = math.queuedCrawls(sources, pages, kept, state.price, state.M, EPOCHS);
        const lines = sources.map((source, i) =>
          Array.from({ length: AGES }, (_, k) => [k + 1, math.queuedIndex(source, pages[i], kept[i], k + 1, state.price)]));
        const ends = lines.flat().map(([, value]) => value), top = Math.max(...ends, 0);
        const panel = book.panel(width, 220, { range: [1, AGES], label: "age (epochs)" }, { range: [0, 1.05 * top || 1], clip: true, label: "index at this price and queue" });
        lines.forEach((line, i) => panel.line(line.map(([k, value]) => [k, Math.max(value, 0)]), colour(i), { thick: 2 }));
        const grid = book.panel(width, 50 + 20 * size, { range: [0, EPOCHS], label: "epoch" },
          { range: [size, 0], label: "source", ticks: sources.map((_, i) => i + 0.5), names: sources.map((_, i) => i + 1) });
        run.crawls.forEach((crawled, t) => crawled.forEach((i) => grid.cell([t + 0.08, i + 0.1], [t + 0.92, i + 0.9], colour(i))));
        const some = sources.map((_, i) => i).filter((i) => run.crawls.some((crawled) => crawled.includes(i)));
        const who = some.length ? `${some.length > 1 ? "sources" : "source"} ${listed(some.map((i) => String(i + 1)))} ${some.length > 1 ? "are" : "is"} crawled` : "no source is crawled";
        return {
          picture: [panel, grid], numbers: { pages: run.pages, crawls: run.count },
          words: `At a price of ${said(state.price)}, with ${book.plural(state.q, "page")} waiting and ${book.plural(state.M, "crawl")} allowed, ${who}, ${said(run.count, 2)} crawls an epoch. `
            + `They bring ${said(run.pages, 1)} pages an epoch; the engine indexes ${said(state.s * T, 1)}.`,
          legend: [[book.keyCell(colour(0)), "a crawl, in its source's colour"], [book.keyLine(colour(0)), "index of the source"]],
        };
      },
    };
  });
})();
