// Explorables of part IV: the cost of a fixed number of robots, and the best policy of a controlled one.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;

  book.define("explore-robots-cost", ({ parameters }) => {
    const { gammas, capacities } = parameters;
    return {
      title: "Drive it: how many robots",
      controls: [
        { name: "gamma", label: "Weight of starvation γ", unit: "in units of μ", type: "range", min: 0.05, max: 20, log: true, value: gammas[gammas.length >> 1] },
        { name: "K", label: "Capacity K", unit: "pages", type: "range", min: 1, max: 60, integer: true, value: capacities[Math.min(1, capacities.length - 1)] },
        { name: "feed", label: "Robots that feed the engine exactly, μ/λ", type: "range", min: 0.5, max: 40, log: true, value: parameters.load_of_one },
      ],
      draw(state, width) {
        const one = 1 / state.feed, best = math.optimalRobots(one, state.gamma, state.K);
        const load = math.optimalLoad(state.gamma, state.K), most = Math.max(4, Math.ceil(2.2 * Math.max(state.feed, best)));
        const cost = (n) => math.staticCost(n * one, state.gamma, state.K);
        const grid = Array.from({ length: 241 }, (_, n) => (most * (n + 0.5)) / 241);
        const top = 1.6 * Math.max(cost(best), Math.min(state.gamma, cost(most)));
        const panel = book.panel(width, 320, { range: [0, most], label: "robots N" }, { range: [0, top], clip: true, label: "cost per unit of time, in units of μ" });
        const curve = (of) => grid.map((n) => [n, of(n)]).filter(([, value]) => value <= top);
        const numbers = Array.from({ length: most }, (_, n) => n + 1).filter((n) => cost(n) <= top);
        panel.line(curve((n) => state.gamma * math.starvation(n * one, state.K)), colour(5), { dash: "5 4", thick: 1.5 })
          .line(curve((n) => math.lossRate(n * one, state.K)), colour(1), { dash: "2 3", thick: 1.5 })
          .line(curve(cost), colour(0), { thick: 2 })
          .dots(numbers.map((n) => [n, cost(n)]), colour(0), { radius: 3.5 })
          .dots([[best, cost(best)]], colour(6), { radius: 8, open: true })
          .dots([[best, cost(best)]], colour(0), { radius: 3.5 })
          .label(best, cost(best), `N = ${best}`, { dy: -14, anchor: "middle", weight: 600 });
        const share = (value) => said(100 * value, 1);
        return {
          picture: [panel], numbers: { best, cost: cost(best), load },
          words: `With γ = ${said(state.gamma)} μ, K = ${state.K} and μ/λ = ${said(state.feed)}, the best load is ${said(load)} and the best number of robots ${best}. It costs ${said(cost(best))} μ: `
            + `the engine starves ${share(math.starvation(best * one, state.K))}% of the time, and ${share(math.lossRate(best * one, state.K) / (best * one))}% of the pages are lost.`,
          legend: [[book.keyLine(colour(0)), "cost"], [book.keyLine(colour(5), "5 4"), "γ × starvation"], [book.keyLine(colour(1), "2 3"), "pages lost"], [book.keyDot(colour(6), true), "best number"]],
        };
      },
    };
  });

  book.define("explore-robots-policy", ({ parameters }) => ({
    title: "Drive it: when one more robot is started",
    controls: [
      { name: "gamma", label: "Weight of starvation γ", unit: "in units of μ", type: "range", min: 0.1, max: 10, log: true, value: parameters.gammas[0] / parameters.service_rate },
      { name: "K", label: "Capacity K", unit: "pages", type: "range", min: 1, max: 10, integer: true, value: Math.min(10, parameters.capacity) },
      { name: "rate", label: "Pages of one robot, λ", unit: "in units of μ", type: "range", min: 0.02, max: 2, log: true, value: parameters.arrival_rate / parameters.service_rate },
      { name: "N", label: "Robots N", type: "range", min: 1, max: 20, integer: true, value: Math.min(20, parameters.robots) },
    ],
    draw(state, width) {
      const { gain, policy } = math.controlRobots(state.N, state.rate, state.K, state.gamma);
      const always = math.staticCost(state.N * state.rate, state.gamma, state.K);
      const robots = Array.from({ length: state.N }, (_, r) => r), pages = policy.map((_, q) => q);
      const panel = book.panel(width, 90 + 26 * (state.K + 1), { range: [0, state.N], label: "robots active besides, r", ticks: robots.filter((r) => state.N < 13 || r % 2 === 0).map((r) => r + 0.5), names: robots.filter((r) => state.N < 13 || r % 2 === 0) },
        { range: [0, state.K + 1], label: "pages left in the queue, q", ticks: pages.map((q) => q + 0.5), names: pages });
      pages.forEach((q) => robots.forEach((r) => {
        const starts = policy[q][r], look = "stroke:var(--touch-edge);stroke-width:1";
        panel.cell([r, q], [r + 1, q + 1], starts ? colour(0) : "var(--touch-ground)", look);
        if (!starts) panel.dots([[r + 0.5, q + 0.5]], "var(--touch-edge)", { radius: 1.5 });
      }));
      const falls = robots.every((r) => pages.every((q) => (!policy[q][r] || q === 0 || policy[q - 1][r]) && (!policy[q][r] || r === 0 || policy[q][r - 1])));
      const curve = robots.map((r) => pages.filter((q) => policy[q][r]).length - 1);
      const empty = curve.filter((height) => height >= 0).length;
      return {
        picture: [panel],
        numbers: { gain, always, saving: 100 * (1 - gain / always) },
        words: `With γ = ${said(state.gamma)} μ, K = ${state.K}, λ = ${said(state.rate)} μ and N = ${state.N}, the best policy costs ${said(gain)} μ per unit of time, against ${said(always)} μ with all robots always on. `
          + `${falls ? `It is a switching curve: with no robot active one is started up to ${book.plural(curve[0], "page")}, and an empty queue starts one while fewer than ${empty} are active.` : "It is not a switching curve."}`,
        legend: [[book.keyCell(colour(0)), "start one more robot"], [book.keyCell("var(--touch-ground)"), "start none (dot)"]],
      };
    },
  }));
})();
