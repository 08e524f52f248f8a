// Explorables of part II: the best threshold of a restart arm, and the histogram of the slides.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;

  book.define("explore-restart-threshold", ({ parameters, values }) => {
    const [passive, ...others] = ["passive", "reset", "passive-cost", "active-cost"].map((name) => values[`restart-thresholds-${name}`]);
    // Saved values are rounded, and rows of probabilities add up to one.
    const summed = (row) => row.map((value) => value / row.reduce((total, one) => total + one, 0));
    const parts = [passive.map(summed), summed(others[0]), ...others.slice(1)], size = passive.length;
    const opened = math.thresholds(...parts, parameters.discount).crossings;
    const room = 0.2 * (Math.max(...opened) - Math.min(...opened)) || 1;
    const ends = [Math.floor(Math.min(...opened) - room), Math.ceil(Math.max(...opened) + room)];
    const grid = Array.from({ length: 401 }, (_, n) => ends[0] + ((ends[1] - ends[0]) * n) / 400);
    return {
      title: "Drive it: which threshold is best",
      controls: [
        { name: "penalty", label: "Penalty λ (or drag in the picture)", unit: "cost per active epoch", type: "range", min: ends[0], max: ends[1], step: (ends[1] - ends[0]) / 200, value: values["restart-thresholds-penalty"] },
        { name: "b", label: "Discount b", type: "range", min: 0.1, max: 0.99, step: 0.01, value: parameters.discount },
      ],
      draw(state, width) {
        const { crossings, costRate, activity } = math.thresholds(...parts, state.b);
        const cost = (k, penalty) => costRate[k] + penalty * activity[k];
        const ks = costRate.map((_, k) => k);
        const least = (penalty) => ks.reduce((best, k) => (cost(k, penalty) < cost(best, penalty) ? k : best), 0);
        const envelope = grid.map((at) => [at, cost(least(at), at)]), heights = envelope.map(([, y]) => y);
        const [low, high] = [Math.min(...heights), Math.max(...heights)], space = 0.1 * (high - low);
        const x = { range: ends, label: "penalty λ (cost per active epoch)" }, best = least(state.penalty);
        const panel = book.panel(width, 300, x, { range: [low - space, high + 2 * space], clip: true, label: "cost C(k) of threshold k" });
        ks.forEach((k) => {
          const inside = grid.filter((at) => cost(k, at) <= high + 2 * space && cost(k, at) >= low - space);
          panel.line(inside.map((at) => [at, cost(k, at)]), colour(k), { thick: k === best ? 2.5 : 1.2, dash: k === best ? "" : "5 4" });
        });
        panel.line(envelope, colour(6), { thick: 1 })
          .dots([[state.penalty, cost(best, state.penalty)]], colour(1), { radius: 7, open: true });
        const steps = book.panel(width, 190, x, { range: [-0.3, size + 0.3], label: "states left passive by the best threshold", ticks: ks });
        steps.line(grid.flatMap((at, n) => (n && least(at) !== least(grid[n - 1]) ? [[at, least(grid[n - 1])], [at, least(at)]] : [[at, least(at)]])), colour(6))
          .line([[state.penalty, -0.3], [state.penalty, size + 0.3]], colour(1), { thick: 1.5 })
          .dots([[state.penalty, best]], colour(1), { radius: 7, open: true });
        const policy = best === 0 ? "is active in every state" : best === size ? "is never active"
          : `leaves the first ${best} of ${size} states passive`;
        const ordered = crossings.every((w, k) => k === 0 || w >= crossings[k - 1]);
        return {
          picture: [panel, steps],
          numbers: { best: best + 1, cost: cost(best, state.penalty), activity: 100 * activity[best] },
          words: `At λ = ${said(state.penalty)} and b = ${said(state.b)} the best threshold ${policy}. It costs ${said(cost(best, state.penalty))} an epoch (discounted mean) `
            + `and is active in ${said(100 * activity[best], 1)}% of the epochs. Neighbouring lines cross at ${crossings.map((w) => said(w)).join(", ")}: `
            + `${ordered ? "these rise, so they are the Whittle index of the states in order." : "these do not rise, so thresholds are not always optimal."}`,
          legend: [[book.keyLine(colour(best)), "best threshold"], [book.keyLine(colour(0), "5 4"), "the others"], [book.keyLine(colour(6)), "least cost"]],
          drag: (place) => ({ penalty: Number(panel.inverse(place).toPrecision(3)) }),
        };
      },
    };
  });

  const BIN = 0.5;
  const TIES = { alpha: "ties to the lower arm", alpha_best: "the best ties", alpha_worst: "the worst ties" };

  book.define("explore-tie-rules", ({ rows, printed }) => {
    const names = [...new Set(rows.kernel)], budgets = [...new Set(rows.budget)];
    const low = Number(printed["C-e12-lo"]);
    const least = Math.min(...Object.keys(TIES).flatMap((ties) => rows[ties]));
    const first = Math.min(Math.floor(low), Math.floor(least)) , bins = Math.round((100 - first) / BIN);
    return {
      title: "Drive it: which generator, and which rule for ties",
      controls: [
        { name: "kernel", label: "Generator of the matrices", type: "select", options: [["all", "all generators"], ...names.map((name) => [name, name])], value: "all" },
        { name: "ties", label: "Equal indices", type: "select", options: Object.entries(TIES), value: "alpha" },
        { name: "low", label: "Lower end of the range that is counted", unit: "%", type: "range", min: first, max: 100, step: BIN, value: low },
        { name: "m", label: "Budget m", type: "select", options: [["all", "all"], ...budgets.map((m) => [String(m), String(m)])], value: "all" },
      ],
      draw(state, width) {
        const kept = (n) => state.kernel === "all" || rows.kernel[n] === state.kernel;
        const shown = budgets.filter((m) => state.m === "all" || String(m) === state.m);
        const ratios = shown.map((m) => rows[state.ties].filter((_, n) => kept(n) && rows.budget[n] === m));
        const counts = ratios.map((values) => {
          const found = new Array(bins).fill(0);
          values.forEach((value) => { found[Math.min(bins - 1, Math.floor((value - first) / BIN))] += 1; });
          return found;
        });
        const panel = book.panel(width, 320, { range: [first, 100], label: `optimum over index policy (%), bins of ${BIN}` },
          { range: [0, 1.08 * Math.max(1, ...counts.flat())], label: "systems" });
        const edges = (found) => found.flatMap((count, n) => [[first + n * BIN, count], [first + (n + 1) * BIN, count]]);
        counts.forEach((found, n) => {
          const place = budgets.indexOf(shown[n]);
          if (place === 0) found.forEach((count, bin) => panel.cell([first + bin * BIN, 0], [first + (bin + 1) * BIN, count], colour(0), "stroke:var(--touch-ground)"));
          else panel.line([[first, 0], ...edges(found), [100, 0]], colour(place));
        });
        panel.line([[state.low, 0], [state.low, 1.08 * Math.max(1, ...counts.flat())]], colour(6), { dash: "6 4", thick: 1.5 });
        const all = ratios.flat().sort((a, b) => a - b), median = 0.5 * (all[(all.length - 1) >> 1] + all[all.length >> 1]);
        const inside = (100 * all.filter((value) => value >= state.low).length) / all.length;
        return {
          picture: [panel],
          numbers: { inside, least: all[0], median },
          words: `${state.kernel === "all" ? "All generators" : state.kernel}, ${TIES[state.ties]}, ${shown.map((m) => `m = ${m}`).join(" and ")}: ${all.length} systems from `
            + `${said(all[0], 2)} to ${said(all[all.length - 1], 2)}, half of them above ${said(median, 2)}; ${said(inside, 1)}% lie at ${said(state.low)} or above.`,
          legend: [...shown.map((m) => [budgets.indexOf(m) ? book.keyLine(colour(budgets.indexOf(m))) : book.keyCell(colour(0)), `m = ${m}`]),
            [book.keyLine(colour(6), "6 4"), state.low === low ? "printed lower end" : "lower end chosen"]],
        };
      },
    };
  });
})();
