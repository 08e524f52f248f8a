// Explorables of part I that show schedules: timetables, and the calendar.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour, listed, mean } = book;

  const FEW = 8;

  book.define("explore-timetable", ({ parameters, values }) => {
    const columns = book.rateColumns(values, "timetable");
    const size = Math.min(FEW, columns[0].length), places = Array.from({ length: size }, (_, i) => i);
    return {
      title: "Drive it: blocks of the budget, and the epochs that they become",
      controls: [
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: size, integer: true, value: Math.min(size, parameters.budget) },
        { name: "T", label: "Length of an epoch T", unit: "time units", type: "range", min: 0.1, max: 10, log: true, value: 1 },
        { name: "epochs", label: "Epochs shown", type: "range", min: 8, max: 64, integer: true, value: 24 },
        ...book.rateControls(columns, size),
      ],
      draw(state, width) {
        const sources = book.sourcesOf(state, size);
        const { entries, average, bound } = math.timetable(sources, state.M);
        const cycle = math.longRunCycle(sources, "whittle", state.M);
        const line = book.panel(width, 96, { range: [0, state.M], label: "budget (crawls per epoch)" },
          { range: [0, 1], label: "blocks of length 1/gap, by source", ticks: [] });
        entries.forEach((entry) => {
          const start = entry.channel + reversed(entry.phase, entry.gap) / entry.gap, length = 1 / entry.gap;
          line.cell([start, 0], [start + length, 1], colour(entry.source), "stroke:var(--touch-ground);stroke-width:1");
          if (line.px(start + length) - line.px(start) > 16) {
            line.label(start + length / 2, 0.5, String(entry.source + 1), { anchor: "middle", dy: 4, colour: "var(--touch-ground)", weight: 700 });
          }
        });
        const grid = book.panel(width, 70 + 22 * size, { range: [0, state.epochs], label: "epoch" },
          { range: [size, 0], label: "source: timetable, index below", ticks: places.map((i) => i + 0.5), names: places.map((i) => i + 1) });
        const index = math.simulate(sources, "whittle", state.M, state.epochs).crawls;
        for (let epoch = 0; epoch < state.epochs; epoch += 1) {
          entries.filter(({ gap, phase }) => epoch % gap === phase).forEach(({ source }) =>
            grid.cell([epoch + 0.08, source + 0.1], [epoch + 0.92, source + 0.48], colour(source)));
          index[epoch].forEach((source) => grid.cell([epoch + 0.08, source + 0.56], [epoch + 0.92, source + 0.9], colour(6)));
        }
        return {
          picture: [line, grid], words: scheduled(state, places, { entries, average, bound }, cycle),
          numbers: { average, bound, index: cycle?.average },
          legend: [[book.keyCell(colour(0)), "block or crawl of the timetable, in its source's colour"], [book.keyCell(colour(6)), "crawl of the index policy, from empty sources, below"]],
        };
      },
    };
  });

  // A phase with the binary digits of its gap's exponent reversed: where its block begins.
  function reversed(phase, gap) {
    let place = 0;
    for (let width = 1, rest = phase; width < gap; width *= 2) {
      place = 2 * place + (rest % 2);
      rest = Math.floor(rest / 2);
    }
    return place;
  }

  function scheduled(state, places, { entries, average, bound }, cycle) {
    const said100 = (share) => `${said(100 * share, 2)}%`;
    const gaps = places.map((i) => {
      const own = entries.filter(({ source }) => source === i).map(({ gap }) => gap).sort((a, b) => a - b);
      if (!own.length) return `source ${i + 1} never`;
      if (own.length > 1) return `source ${i + 1} every ${own[0] / 2} or ${book.plural(own[0], "epoch")}`;
      return `source ${i + 1} every ${own[0] === 1 ? "epoch" : `${own[0]} epochs`}`;
    });
    const beside = cycle ? `The index policy earns ${said(cycle.average, 2)} in the long run, ${said100(1 - cycle.average / bound)} below the bound.`
      : "The index policy shows no cycle within 20000 epochs.";
    if (!(bound > 0)) return `With M = ${state.M} there is nothing to earn: all sources are empty.`;
    return `With M = ${state.M}, powers of two crawl ${listed(gaps)}. That earns ${said(average, 2)} an epoch, and no policy more than `
      + `${said(bound, 2)}: ${said100(Math.max(0, 1 - average / bound))} is the most that can be lost. ${beside}`;
  }

  // Epochs drawn, and the most that are followed until the schedule repeats itself.
  const DRAWN = 40, LONGEST = 5000;

  book.define("explore-calendar", ({ values }) => {
    const rates = book.rateColumns(values, "many-machines-few");
    const sources = rates[0].map((_, i) => math.makeSource(...rates.map((column) => column[i]), 1));
    return {
      title: `Drive it: the calendar of ${sources.length} sources`,
      controls: [
        { name: "delay", label: "Crawl delay of every source", unit: "epochs", type: "range", min: 1, max: 20, integer: true, value: values["many-machines-few-delay"] },
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: 6, integer: true, value: values["many-machines-few-budget"] },
      ],
      draw(state, width) {
        const plan = math.schedule(sources, state.M, state.delay, LONGEST), size = sources.length;
        const bound = math.relaxedBound(sources, state.M, state.delay), free = math.relaxedBound(sources, state.M, 1);
        const x = { range: [0, DRAWN], label: "epoch" };
        const grid = book.panel(width, 30 + 20 * size, { ...x, quiet: true },
          { range: [size, 0], label: "source", ticks: sources.map((_, i) => i + 0.5), names: sources.map((_, i) => i + 1) });
        let held = 0;
        for (let epoch = 0; epoch < DRAWN; epoch += 1) {
          sources.forEach((_, i) => {
            const crawled = plan.crawls[epoch].includes(i);
            const bar = plan.marginal[epoch] === null ? 0 : plan.marginal[epoch];
            const late = !crawled && plan.indices[epoch][i] >= bar;
            held += Number(late);
            if (crawled) grid.cell([epoch + 0.08, i + 0.1], [epoch + 0.92, i + 0.9], colour(0));
            else if (late) grid.cell([epoch + 0.3, i + 0.35], [epoch + 0.7, i + 0.65], colour(1));
          });
        }
        const [first, last] = plan.cycle ?? [LONGEST / 2, LONGEST - 1];
        const earned = mean(plan.rewards.slice(first, last + 1));
        const spent = mean(plan.crawls.slice(first, last + 1).map((arms) => arms.length));
        const over = plan.cycle ? `over its cycle of ${book.plural(last - first + 1, "epoch")}` : `mean of epochs ${first + 1} to ${last + 1}: no cycle shows`;
        const panel = book.panel(width, 150, x, { range: [0, 1.15 * Math.max(bound, ...plan.rewards.slice(0, DRAWN))], label: "reward of the epoch" });
        panel.line([[0, bound], [DRAWN, bound]], colour(6), { dash: "6 4", thick: 1.5 })
          .line(plan.rewards.slice(0, DRAWN).map((reward, t) => [t + 0.5, reward]), colour(0));
        const unspent = spent < state.M - 1e-9 ? ` The delay leaves only ${said(spent, 2)} crawls an epoch to make.` : "";
        return {
          picture: [grid, panel], numbers: { earned, bound, share: (100 * earned) / bound },
          words: `With a crawl delay of ${book.plural(state.delay, "epoch")} and M = ${state.M}, the policy earns ${said(earned, 2)} an epoch (${over}), `
            + `${said((100 * earned) / bound, 1)}% of the relaxed bound ${said(bound, 2)} under that delay; without a delay the bound is `
            + `${said(free, 2)}. In the ${DRAWN} epochs drawn, a source has to wait for its delay ${book.plural(held, "time")}.${unspent}`,
          legend: [[book.keyCell(colour(0)), "crawled"], [book.keyCell(colour(1)), "index high enough, but within its delay"], [book.keyLine(colour(6), "6 4"), "relaxed bound"]],
        };
      },
    };
  });
})();
