// Explorables of part I: four sources, the index as a maximum of lines, costs, timetables, and the calendar.
(function () {
  "use strict";
  const book = window.bookExplorables, { math, said, colour } = book;
  const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;
  const listed = (words) => (words.length < 2 ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`);

  const POLICIES = [["whittle", "index policy"], ["greedy", "greedy: most content now"], ["round-robin", "round robin"]];
  const RATES = [
    ["arrival", "four-sources-arrival-rate", "arrival rate Λ", 0, 1e6],
    ["utility", "four-sources-mean-utility", "mean utility ξ̄", 0, 1e6],
    ["decay", "four-sources-decay-rate", "decay rate μ", 1e-3, 100],
  ];

  book.define("explore-four-sources", ({ parameters, values }) => {
    const size = values[RATES[0][1]].length, places = Array.from({ length: size }, (_, i) => i);
    const rates = places.flatMap((i) => RATES.map(([name, id, label, min, max]) => ({
      name: `${name}${i + 1}`, label: `Source ${i + 1}: ${label}`, type: "number", min, max,
      value: values[id][i], group: "Rates and utilities of the sources",
    })));
    return {
      title: "Drive it: who is crawled, and what it earns",
      controls: [
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: size, integer: true, value: parameters.budget },
        { name: "T", label: "Period T", unit: "time units", type: "range", min: 0.1, max: 10, log: true, value: parameters.period },
        { name: "epochs", label: "Epochs shown", type: "range", min: 10, max: 200, integer: true, value: Math.min(200, parameters.horizon) },
        { name: "policy", label: "Policy", type: "select", options: POLICIES, value: "whittle" },
        ...rates,
      ],
      draw(state, width) {
        const sources = places.map((i) => math.makeSource(...RATES.map(([name]) => state[`${name}${i + 1}`]), state.T));
        const run = math.simulate(sources, state.policy, state.M, state.epochs);
        const cycle = math.longRunCycle(sources, state.policy, state.M);
        const x = { range: [0, state.epochs - 1], label: "epoch" };
        const panels = places.map((i) => {
          const points = run.states.map((states, t) => [t, states[i]]);
          const range = [0, 1.05 * sources[i].limit || 1];
          const panel = book.panel(width, 92, { ...x, quiet: true }, { range, label: `content of source ${i + 1}` });
          return panel.line(points, colour(i), { thick: 1.5 })
            .dots(points.filter(([t]) => run.crawls[t].includes(i)), colour(i), { radius: 3.5 });
        });
        let total = 0;
        const running = run.rewards.map((reward, t) => { total += reward; return [t, total / (t + 1)]; });
        const ends = [...running.map(([, value]) => value), cycle ? cycle.average : 0];
        const panel = book.panel(width, 170, x, { range: [0, 1.1 * Math.max(...ends) || 1], label: "mean reward so far" });
        if (cycle) panel.line([[0, cycle.average], [state.epochs - 1, cycle.average]], colour(6), { dash: "6 4", thick: 1.5 });
        panel.line(running, colour(0), { thick: 2.5 });
        return {
          picture: [...panels, panel], words: told(state, cycle, total / state.epochs),
          legend: [[book.keyDot(colour(0)), "a crawl"], [book.keyLine(colour(0)), "mean so far"], [book.keyLine(colour(6), "6 4"), "long run"]],
        };
      },
    };
  });

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

  const LINES = 6;

  book.define("explore-index-lines", ({ parameters, values }) => {
    const [[arrival], [utility], [rate], [cost]] = ["arrival-rate", "mean-utility", "decay-rate", "cost"]
      .map((name) => values[`model-and-index-${name}`]);
    const own = math.makeSource(arrival, utility, rate, parameters.period, cost);
    const second = math.stateAtAge(own, 2) / own.limit;
    return {
      title: `Drive it: the index of source ${parameters.source} is the highest of many lines`,
      controls: [
        { name: "x", label: "Content x (or drag in the picture)", unit: "share of u*", type: "range", min: 0, max: 1.2, step: 0.005, value: Number(second.toFixed(3)) },
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
          picture: [panel], words: `${where}, ${why}`,
          legend: [[book.keyLine(colour(6)), "index"], [book.keyDot(colour(6)), `ages 1 to ${LINES}`], [book.keyLine(colour(5), "5 4"), `lines η = 1 to ${LINES}`],
            ...(wait ? [[book.keyLine(colour(1), "5 4"), `the highest here, η = ${wait}`]] : [])],
          drag: (place) => ({ x: Number((panel.inverse(place) / limit).toFixed(3)) }),
        };
      },
    };
  });

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
        const shown = places.filter((n) => state.kind === "all" || kind(n) === state.kind), chosen = state.instance - 1;
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
        const unit = state.show === "loss" ? "per cent lost" : "budgets spent";
        return {
          picture: [panel],
          words: `Instance ${state.instance} (${kind(chosen)}), ${unit}: ${each(chosen, 2)}. Over the ${shown.length} instances shown, `
            + `value has mean ${said(mean(shown.map((n) => of("value", n))), 3)} and is ${said(worst, 2)} at most; `
            + `reach has mean ${said(mean(shown.map((n) => of("reach", n))), 2)}.`,
          legend: [[book.keyDot(colour(6), true), "the instance that is followed"], [book.keyLine(colour(6)), "mean (bar)"]],
        };
      },
    };
  });

  const FEW = 8;

  book.define("explore-timetable", ({ parameters, values }) => {
    const ids = ["arrival-rate", "mean-utility", "decay-rate"].map((name) => `timetable-${name}`);
    const size = Math.min(FEW, values[ids[0]].length), places = Array.from({ length: size }, (_, i) => i);
    const rates = places.flatMap((i) => RATES.map(([name, , label, min, max], n) => ({
      name: `${name}${i + 1}`, label: `Source ${i + 1}: ${label}`, type: "number", min, max,
      value: values[ids[n]][i], group: "Rates and utilities of the sources",
    })));
    return {
      title: "Drive it: blocks of the budget, and the epochs that they become",
      controls: [
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: size, integer: true, value: Math.min(size, parameters.budget) },
        { name: "T", label: "Length of an epoch T", unit: "time units", type: "range", min: 0.1, max: 10, log: true, value: 1 },
        { name: "epochs", label: "Epochs shown", type: "range", min: 8, max: 64, integer: true, value: 24 },
        ...rates,
      ],
      draw(state, width) {
        const sources = places.map((i) => math.makeSource(...RATES.map(([name]) => state[`${name}${i + 1}`]), state.T));
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
  // The delay and the budget of the page's example of a schedule.
  const OPENED = { delay: 2, budget: 2 };

  book.define("explore-calendar", ({ values }) => {
    const rates = ["arrival-rate", "mean-utility", "decay-rate"].map((name) => values[`at-scale-few-${name}`]);
    const sources = rates[0].map((_, i) => math.makeSource(...rates.map((column) => column[i]), 1));
    return {
      title: `Drive it: the calendar of ${sources.length} sources`,
      controls: [
        { name: "delay", label: "Crawl delay of every source", unit: "epochs", type: "range", min: 1, max: 20, integer: true, value: OPENED.delay },
        { name: "M", label: "Budget M", unit: "sources per epoch", type: "range", min: 1, max: 6, integer: true, value: OPENED.budget },
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
          picture: [grid, panel],
          words: `With a crawl delay of ${book.plural(state.delay, "epoch")} and M = ${state.M}, the policy earns ${said(earned, 2)} an epoch (${over}), `
            + `${said((100 * earned) / bound, 1)}% of the relaxed bound ${said(bound, 2)} under that delay; without a delay the bound is `
            + `${said(free, 2)}. In the ${DRAWN} epochs drawn, a source has to wait for its delay ${book.plural(held, "time")}.${unspent}`,
          legend: [[book.keyCell(colour(0)), "crawled"], [book.keyCell(colour(1)), "index high enough, but within its delay"], [book.keyLine(colour(6), "6 4"), "relaxed bound"]],
        };
      },
    };
  });
})();
