// Explorables of part III: the printed learning scheme, and the learners side by side.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;

  book.define("explore-printed-scheme", ({ parameters, values, rows }) => {
    const rates = ["arrival-rate", "mean-utility", "decay-rate"].map((name) => values[`printed-${name}`]);
    const sources = rates[0].map((_, i) => math.makeSource(...rates.map((column) => column[i]), 1));
    const bounds = sources.map(({ limit }) => limit), mostContent = Math.max(...bounds);
    const steps = [...new Set(rows.step)].sort((a, b) => b - a);
    const units = { scaled: ["divided by the largest u*", mostContent], raw: ["as they are", 1] };
    return {
      title: "Drive it: what the printed scheme is worth",
      controls: [
        { name: "kappa", label: "Steepness κ of the logit (or drag in the picture)", type: "range", min: 0.1, max: 20, log: true, value: parameters.kappa },
        { name: "c", label: "c of the step sizes (runs)", type: "select", options: steps.map((c) => [String(c), said(c)]), value: String(steps.includes(parameters.step) ? parameters.step : steps[0]) },
        { name: "unit", label: "States enter the logit", type: "select", options: Object.entries(units).map(([name, [text]]) => [name, text]), value: "scaled" },
      ],
      draw(state, width) {
        const [told, scale] = units[state.unit];
        const at = (kappa) => math.softThresholdValue(sources, bounds, kappa, scale);
        const grid = Array.from({ length: 81 }, (_, n) => 0.1 * 200 ** (n / 80)), worth = grid.map(at), now = at(state.kappa);
        const chosen = rows.step.map((step, n) => n).filter((n) => state.unit === "scaled" && String(rows.step[n]) === state.c);
        const x = { range: [0.1, 20], log: true, label: "κ" };
        const draw = (height, axis, key, quiet) => {
          const highest = Math.max(...worth.map((value) => value[key]), ...chosen.map((n) => rows[`${key}_high`][n]));
          const panel = book.panel(width, height, { ...x, quiet }, { range: [0, 1.1 * highest], label: axis });
          panel.line(grid.map((kappa, n) => [kappa, worth[n][key]]), colour(0), { thick: 2.5 });
          chosen.forEach((n) => {
            panel.line([[rows.kappa[n], rows[`${key}_low`][n]], [rows.kappa[n], rows[`${key}_high`][n]]], colour(1))
              .dots([[rows.kappa[n], rows[key][n]]], colour(1), { radius: 5 });
          });
          return panel.line([[state.kappa, 0], [state.kappa, now[key]]], colour(6), { thick: 1.2 })
            .dots([[state.kappa, now[key]]], colour(6), { radius: 7, open: true });
        };
        const panels = [draw(210, "reward per epoch", "reward", true), draw(220, "sources crawled per epoch", "engaged", false)];
        const stuck = chosen.map((n) => rows.at_bounds[n]), low = Math.min(...stuck), high = Math.max(...stuck);
        const range = low === high ? said(100 * low, 0) : `${said(100 * low, 0)} to ${said(100 * high, 0)}`;
        const runs = !chosen.length ? "No runs are shown for this unit."
          : `In the runs with c = ${state.c}, ${range}% of the thresholds end on their bounds.`;
        return {
          picture: panels, numbers: { reward: now.reward, engaged: now.engaged },
          words: `Thresholds at their upper bounds, κ = ${said(state.kappa)}, states ${told}: ${said(now.reward, 2)} per epoch with ${said(now.engaged, 3)} sources crawled. ${runs}`,
          legend: [[book.keyLine(colour(0)), "thresholds at their upper bounds, exact"], ...(chosen.length ? [[book.keyDot(colour(1)), "runs of the scheme, 95% intervals"]] : []), [book.keyDot(colour(6), true), "this κ"]],
          drag: (place) => ({ kappa: Number(panels[1].inverse(place).toPrecision(3)) }),
        };
      },
    };
  });

  const FLOOR = 0.01;
  // A look for each of the eight learners, as in the still picture.
  const COLOURS = [0, 5, 2, 3, 1, 1, 4, 6];
  const DASHES = ["", "7 4", "8 3 2 3", "10 3 2 3 2 3", "7 4", "8 3 2 3", "1 3", "2 2"];
  const tint = (place) => colour(COLOURS[place % COLOURS.length]);
  const slug = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/-+$/, "");

  book.define("explore-learners", ({ parameters, rows }) => {
    // One sentence: who has lost least and who most. The key has the others.
    function told(budget, near) {
      const [least, most] = [near[0], near[near.length - 1]];
      const lost = ({ n }) => {
        const [low, high] = [said(rows.low[n], 3), said(rows.high[n], 3)];
        return `${said(rows.mean[n], 3)}% (${low === high ? "the same in all runs" : `95% interval ${low} to ${high}`})`;
      };
      return `At M = ${budget}, after ${rows.epoch[least.n]} epochs, ${least.name} has lost least of the index policy's reward, ${lost(least)}`
        + `${near.length > 1 ? `, and ${most.name} most, ${lost(most)}` : ""}.`;
    }
    const names = [...new Set(rows.learner)], budgets = [...new Set(rows.budget)];
    const opened = budgets.includes(parameters.budget) ? parameters.budget : budgets[0];
    const stops = [...new Set(rows.epoch)].sort((a, b) => a - b), [first, last] = [stops[0], stops[stops.length - 1]];
    return {
      title: "Drive it: learners on and off",
      controls: [
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "select", options: budgets.map((m) => [String(m), String(m)]), value: String(opened) },
        { name: "epoch", label: "Epoch that is read off (or drag in the picture)", type: "range", min: first, max: last, stops, integer: true, value: last },
        ...names.map((name) => ({ name: slug(name), label: name, type: "checkbox", value: true })),
        { name: "logx", label: "logarithmic epochs", type: "checkbox", value: true },
        { name: "logy", label: "logarithmic loss", type: "checkbox", value: true },
      ],
      draw(state, width) {
        const floor = (value) => (state.logy ? Math.max(value, FLOOR) : value);
        const all = names.map((name, place) => {
          const mine = rows.learner.map((_, n) => n).filter((n) => rows.learner[n] === name && String(rows.budget[n]) === state.M);
          const closer = (best, one) => (Math.abs(rows.epoch[one] - state.epoch) < Math.abs(rows.epoch[best] - state.epoch) ? one : best);
          return { name, place, mine, n: mine.length ? mine.reduce(closer) : null };
        }).filter(({ mine }) => mine.length);
        const curves = all.filter(({ name }) => state[slug(name)]);
        const highest = Math.max(FLOOR * 10, ...curves.flatMap(({ mine }) => mine.map((n) => rows.high[n])));
        const x = { range: [first, last], log: state.logx, label: "epoch" };
        const panel = book.panel(width, 360, x, { range: [state.logy ? FLOOR : Math.min(0, ...curves.flatMap(({ mine }) => mine.map((n) => rows.low[n]))), 1.05 * highest], log: state.logy, clip: true, label: "loss so far (% of the index policy's reward)" });
        curves.forEach(({ place, mine }) => {
          const line = (column) => mine.map((n) => [rows.epoch[n], floor(rows[column][n])]);
          panel.band(line("low"), line("high"), tint(place)).line(line("mean"), tint(place), { dash: DASHES[place % DASHES.length] });
        });
        const near = [...curves].sort((a, b) => rows.mean[a.n] - rows.mean[b.n]);
        panel.line([[state.epoch, panel.lowest], [state.epoch, 1.05 * highest]], colour(6), { thick: 1 });
        near.forEach(({ place, n }) => panel.dots([[rows.epoch[n], floor(rows.mean[n])]], tint(place), { radius: 4.5 }));
        return {
          picture: [panel], numbers: Object.fromEntries(all.map(({ name, n }) => [slug(name), rows.mean[n]])),
          words: near.length ? told(state.M, near) : "No learner is switched on.",
          legend: curves.map(({ name, place, n }) => [book.keyLine(tint(place), DASHES[place % DASHES.length]), `${name}: ${said(rows.mean[n], 3)}%`]),
          drag: (place) => ({ epoch: Math.round(panel.inverse(place)) }),
        };
      },
    };
  });
})();
