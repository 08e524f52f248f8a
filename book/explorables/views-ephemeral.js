// Explorables of part I: four sources, and costs.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour, listed, mean } = book;

  const POLICIES = [["whittle", "index policy"], ["greedy", "greedy: most content now"], ["round-robin", "round robin"]];

  book.define("explore-four-sources", ({ parameters, values }) => {
    const columns = book.rateColumns(values, "four-sources"), size = columns[0].length;
    return {
      title: "Drive it: who is crawled, and what it earns",
      controls: [
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: size, integer: true, value: parameters.budget },
        { name: "T", label: "Period T", unit: "time units", type: "range", min: 0.1, max: 10, log: true, value: parameters.period },
        { name: "epochs", label: "Epochs shown", type: "range", min: 10, max: 200, integer: true, value: Math.min(200, parameters.horizon) },
        { name: "policy", label: "Policy", type: "select", options: POLICIES, value: "whittle" },
        ...book.rateControls(columns, size),
      ],
      draw(state, width) {
        const sources = book.sourcesOf(state, size);
        const run = math.simulate(sources, state.policy, state.M, state.epochs);
        const cycle = math.longRunCycle(sources, state.policy, state.M);
        const index = state.policy === "whittle" ? cycle : math.longRunCycle(sources, "whittle", state.M);
        const x = { range: [0, state.epochs - 1], label: "epoch" };
        const panels = sources.map((_, i) => {
          const points = run.states.map((states, t) => [t, states[i]]);
          const range = [0, 1.05 * sources[i].limit || 1];
          const panel = book.panel(width, 92, { ...x, quiet: true }, { range, label: `content of source ${i + 1}` });
          return panel.line(points, colour(i), { thick: 1.5 })
            .dots(points.filter(([t]) => run.crawls[t].includes(i)), colour(i), { radius: 3.5 });
        });
        const panel = meanPanel(run, cycle, width, 170, x);
        return {
          picture: [...panels, panel], words: told(state, cycle, mean(run.rewards)),
          numbers: { average: index?.average, period: index?.crawls.length },
          legend: [[book.keyDot(colour(0)), "a crawl"], [book.keyLine(colour(0)), "mean so far"], [book.keyLine(colour(6), "6 4"), "long run"]],
        };
      },
    };
  });

  // The mean reward of the epochs so far, and what is earned in the long run.
  function meanPanel(run, cycle, width, height, x) {
    let total = 0;
    const running = run.rewards.map((reward, t) => { total += reward; return [t, total / (t + 1)]; });
    const ends = [...running.map(([, value]) => value), cycle ? cycle.average : 0];
    const panel = book.panel(width, height, x, { range: [0, 1.1 * Math.max(...ends) || 1], label: "mean reward so far" });
    if (cycle) panel.line([[0, cycle.average], [x.range[1], cycle.average]], colour(6), { dash: "6 4", thick: 1.5 });
    return panel.line(running, colour(0), { thick: 2.5 });
  }

  function told(state, cycle, shown) {
    const name = POLICIES.find(([value]) => value === state.policy)[1].split(":")[0];
    const start = `With M = ${state.M} and ${name === "greedy" ? "the greedy policy" : name === "round robin" ? name : `the ${name}`}`;
    const first = `the mean of the ${state.epochs} epochs shown, from empty sources, is ${said(shown, 2)}`;
    if (!cycle) return `${start}, no cycle shows within 20000 epochs; ${first}.`;
    const shares = cycle.frequency.map((share, i) => [share, i + 1]);
    const crawled = shares.filter(([share]) => share > 0).map(([share, i]) => `source ${i} in ${said(100 * share)}%`);
    const never = shares.filter(([share]) => share === 0).map(([, i]) => String(i));
    const left = never.length ? `, never ${never.length > 1 ? "sources" : "source"} ${listed(never)}` : "";
    return `${start}, the crawls repeat every ${book.plural(cycle.crawls.length, "epoch")}: ${listed(crawled)} of the epochs${left}. `
      + `That earns ${said(cycle.average, 2)} an epoch in the long run; ${first}.`;
  }

  const WAYS = ["value", "index", "skip", "stop", "debt", "reach"];
  const bent = (value) => Math.asinh(value / 0.1);

  book.define("explore-costs", ({ rows }) => {
    const places = rows.sources.map((_, n) => n);
    const kind = (n) => `${rows.sources[n]} sources, budget ${rows.budget[n]}`;
    const kinds = [...new Set(places.map(kind))];
    const measures = {
      loss: { of: (way, n) => 100 * (1 - rows[way][n]), bent, label: "loss against the exact optimum (%)", ticks: [-50, -5, -0.5, 0, 0.5, 5, 50] },
      cost: { of: (way, n) => rows[`${way}_cost`][n], bent: (value) => value, label: "cost per epoch (budgets)" },
    };
    return {
      title: "Drive it: a dot is an instance",
      controls: [
        { name: "show", label: "Show", type: "select", options: [["loss", "what each way loses"], ["cost", "what each way spends"]], value: "loss" },
        { name: "kind", label: "Instances", type: "select", options: [["all", "all"], ...kinds.map((one) => [one, one])], value: "all" },
        { name: "instance", label: "Instance that is followed", type: "range", min: 1, max: places.length, integer: true, value: 1 },
      ],
      draw(state, width) {
        const { of, bent: moved, label, ticks } = measures[state.show];
        const shown = places.filter((n) => state.kind === "all" || kind(n) === state.kind);
        const place = Math.min(state.instance, shown.length), chosen = shown[place - 1];
        const all = WAYS.flatMap((way) => places.map((n) => moved(of(way, n))));
        const [low, high] = [Math.min(...all), Math.max(...all)], room = 0.03 * (high - low) || 1;
        const kept = ticks && ticks.filter((tick) => moved(tick) >= low - room && moved(tick) <= high + room);
        const x = { range: [low - room, high + room], label, ticks: kept && kept.map(moved), names: kept && kept.map((t) => String(t).replace("-", "\u2212")) };
        const panel = book.panel(width, 330, x, { range: [WAYS.length - 0.5, -0.5], label: "way to fill the budget", ticks: WAYS.map((_, n) => n), names: WAYS });
        WAYS.forEach((way, row) => {
          const jitter = (n) => row + 0.5 * (n / places.length - 0.5);
          panel.dots(shown.map((n) => [moved(of(way, n)), jitter(n)]), colour(row), { radius: 3, opacity: 0.55 });
          const middle = moved(mean(shown.map((n) => of(way, n))));
          panel.line([[middle, row - 0.36], [middle, row + 0.36]], colour(6), { thick: 2.5 });
        });
        const followed = WAYS.map((way, row) => [moved(of(way, chosen)), row]);
        panel.line(followed, colour(6), { thick: 1.2 }).dots(followed, colour(6), { radius: 5, open: true });
        const each = (n, digits) => listed(WAYS.map((way) => `${way} ${said(of(way, n), digits)}`));
        const worst = Math.max(...shown.map((n) => of("value", n)));
        const unit = state.show === "loss" ? "% lost" : "budgets spent";
        const over = state.show === "loss" ? " A way that spends more than the budget can earn more than the optimum: its loss is then negative." : "";
        return {
          picture: [panel],
          numbers: Object.fromEntries(WAYS.map((way) => [way, measures.loss.of(way, chosen)])),
          words: `Instance ${place} of ${shown.length} (${kind(chosen)}), ${unit}: ${each(chosen, 2)}. Over these ${shown.length} instances `
            + `value has mean ${said(mean(shown.map((n) => of("value", n))), 3)} and is ${said(worst, 2)} at most; `
            + `reach has mean ${said(mean(shown.map((n) => of("reach", n))), 2)}.${over}`,
          legend: [[book.keyDot(colour(6), true), "the instance that is followed"], [book.keyLine(colour(6)), "mean (bar)"]],
        };
      },
    };
  });
})();
