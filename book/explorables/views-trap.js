// Explorable of the page on estimates that confirm themselves: two sources, and a belief about one.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;
  const source = (limit, alpha) => ({ limit, decay: -Math.log(alpha), cost: 1 });
  const listed = (ages) => (ages.length ? `age ${ages.join(" or ")}` : "no age: it is never crawled");

  book.define("explore-trap", ({ values }) => ({
    title: "Drive it: beliefs that predict what a crawl of source 1 finds",
    controls: [
      { name: "alpha", label: "Believed \u03b1 of source 1 (or drag in the picture)", type: "range", min: 0.02, max: 0.98, step: 0.01, value: values["learning-trap-believed"] },
      { name: "k", label: "Age at which source 1 was met", unit: "epochs", type: "range", min: 1, max: 4, step: 1, integer: true, value: 2 },
      { name: "second", label: "u* of source 2", unit: "value units", type: "range", min: 1, max: 12, step: 0.1, value: 8 },
    ],
    draw(state, width) {
      const truth = [source(10, 0.1), source(state.second, 0.5)], content = math.stateAtAge(truth[0], state.k);
      const on = (alpha) => [source(content / (1 - alpha ** state.k), alpha), truth[1]];
      const believed = on(state.alpha), run = math.closedLoop(truth, believed, 1);
      const best = math.longRunCycle(truth, "whittle", 1).average, loss = 100 * (1 - run.average / best);
      const grid = Array.from({ length: 97 }, (_, n) => 0.02 + 0.01 * n), ages = [1, 2, 3];
      const curve = (age) => grid.map((alpha) => [alpha, math.indexAtAge(on(alpha)[0], age)]);
      const rival = ages.map((age) => math.indexAtAge(truth[1], age));
      const highest = 1.1 * Math.max(content, rival[2], ...ages.map((age) => curve(age)[0][1]));
      const panel = book.panel(width, 300, { range: [0, 1], label: "believed \u03b1 of source 1" }, { range: [0, highest], label: "index" });
      rival.forEach((value, n) => panel.line([[0, value], [1, value]], colour(6), { thick: 1, dash: ["1 3", "7 4", ""][n] }));
      ages.forEach((age, n) => panel.line(curve(age), colour(n), { dash: ["", "7 4", "2 3"][n] }));
      panel.line([[state.alpha, 0], [state.alpha, highest]], colour(4), { thick: 1.2 })
        .dots(ages.map((age) => [state.alpha, math.indexAtAge(believed[0], age)]), colour(4), { radius: 4.5 });
      const off = run.gaps[0].filter((age) => {
        const [met, thought] = [truth, believed].map((pair) => math.stateAtAge(pair[0], age));
        return Math.abs(met - thought) > 1e-9 * met;
      });
      const sees = run.gaps[0].map((age) => `at age ${age} it expects ${said(math.stateAtAge(believed[0], age))} and finds ${said(math.stateAtAge(truth[0], age))} on average`);
      const verdict = off.length ? "What it finds contradicts the belief, which will move."
        : run.gaps[0].length > 1 ? "It meets source 1 at two ages, and the belief is the truth."
          : loss > 1e-9 ? "Nothing that it finds on average contradicts the belief: the loss is for ever." : "Nothing that it finds contradicts the belief, and nothing is lost.";
      return {
        picture: [panel],
        numbers: { limit: believed[0].limit, earned: run.average, best, loss: Math.max(loss, 0) },
        words: `Believe \u03b1 = ${said(state.alpha)} and u* = ${said(believed[0].limit)} of source 1 (truth: 0.1 and 10). The index policy then meets source 1 at ${listed(run.gaps[0])}, and source 2 at ${listed(run.gaps[1])}${sees.length ? `; of source 1, ${sees.join(", ")}` : ""}. It earns ${said(run.average)} of ${said(best)} per epoch, ${said(Math.max(loss, 0), 2)}% less than the truth would. ${verdict}`,
        legend: [...ages.map((age, n) => [book.keyLine(colour(n), ["", "7 4", "2 3"][n]), `source 1 at age ${age}, believed`]),
          ...ages.map((age, n) => [book.keyLine(colour(6), ["1 3", "7 4", ""][n]), `source 2 at age ${age}`])],
        drag: (place) => ({ alpha: Number(panel.inverse(place).toFixed(2)) }),
      };
    },
  }));
})();
