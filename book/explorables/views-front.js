// Explorable of the front page: what policies find on real sources, at the budgets that were measured.
(function () {
  "use strict";
  const book = window.bookExplorables, { said, colour, plural } = book;
  const FEW = ["robin", "deployed", "even", "index", "forgetting", "feed"];
  const NAMES = {
    robin: "round robin", deployed: "best rule of today's crawlers, tuned", even: "LambdaCrawl's rates, evenly spaced", index: "index",
    forgetting: "index, rates that forget", feed: "index that sees contents", shrunk: "index, rates with a prior", fixed: "best fixed frequencies",
    greedy: "largest expected content", lambdacrawl: "LambdaCrawl, drawn", oracle: "index, later rates known", nutch: "Nutch, as it comes", entry: "Miniflux, as it comes",
  };

  book.define("explore-front", ({ values, rows }) => {
    const budgets = [...new Set(rows.budget)].sort((a, b) => a - b), sources = values["publications-both-sources"];
    const valuesAt = (budget) => Object.fromEntries(rows.policy.map((policy, n) => [policy, rows.ratio[n], rows.budget[n], rows.size[n]])
      .filter(([, , at]) => at === budget).flatMap(([policy, ratio, , size]) => [[policy, ratio], ["deployed", values[`arena-best-${size}`]]])
      .filter(([policy]) => policy in NAMES));
    const most = Math.max(...budgets.flatMap((budget) => Object.values(valuesAt(budget))));
    return {
      title: `Value found on ${sources} real sources, the index policy at 1`,
      controls: [
        { name: "M", label: "Visits an hour", type: "range", min: budgets[0], max: budgets[budgets.length - 1], stops: budgets, integer: true, value: budgets[0] },
        { name: "policies", label: "Policies", type: "select", options: [["few", "the main ones"], ["all", "all that were compared"]], value: "few" },
      ],
      draw(state, width) {
        const budget = budgets.reduce((best, next) => (Math.abs(next - state.M) < Math.abs(best - state.M) ? next : best));
        const value = valuesAt(budget), ROW = 40;
        const names = (state.policies === "few" ? FEW : Object.keys(NAMES)).filter((name) => name in value);
        names.sort((a, b) => value[a] - value[b]);
        const panel = book.panel(width, 68 + ROW * names.length, { range: [0, 1.12 * most], label: "value found / the index policy's" },
          { range: [0, names.length], label: "", ticks: [] }, 12);
        names.forEach((name, n) => {
          const row = names.length - n, shade = name === "feed" ? 2 : name in { index: 1, forgetting: 1, shrunk: 1 } ? 0 : 1;
          // The line at 1 stands beside bars: it crosses neither names nor numbers.
          if (value[name] >= 1 || value[name] < 0.7) panel.line([[1, row - 0.96], [1, row - 0.5]], colour(6), { dash: "5 4", thick: 1.5 });
          panel.label(0, row - 0.38, NAMES[name], { dx: 4 });
          panel.cell([0, row - 0.48], [value[name], row - 0.92], colour(shade));
          panel.label(value[name], row - 0.82, said(value[name], 2), { dx: 5, weight: 600 });
        });
        // How much more or less than the index, by the digits that the picture shows.
        const compared = (name) => {
          const more = Math.round(100 * value[name]) - 100;
          return `${NAMES[name]} ${more ? `${Math.abs(more)}% ${more > 0 ? "more" : "less"}` : "as much"}`;
        };
        const nearest = budget === state.M ? "" : `${said(state.M)} was not measured, ${said(budget)} is nearest. `;
        return {
          picture: [panel], numbers: { times: 1 / value.robin, over_deployed: 1 / value.deployed, feed: value.feed },
          words: `${nearest}At ${plural(budget, "visit")} an hour to ${sources} sources, compared with what the index finds: `
            + `${names.filter((name) => name !== "index").map(compared).join("; ")}.`,
          legend: [[book.keyCell(colour(0)), "index"], [book.keyCell(colour(1)), "other rules"], [book.keyCell(colour(2)), "sees contents"]],
        };
      },
    };
  });
})();
