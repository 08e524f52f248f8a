// What the explorables compute: pure functions, each the twin of one in `analysis`, held against it
// by tests/book/test_explorables.py. A source is {limit, decay, cost}: u*, mu T and C.
(function () {
  "use strict";
  const math = {};
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // Ephemeral content (analysis.ephemeral).

  math.makeSource = (arrival, utility, rate, period, cost = 1) =>
    ({ limit: (arrival * utility) / rate, decay: rate * period, cost });

  // Sum of the terms y^n / n! from n = 2 on, which is exp(y) - 1 - y, for y of at most 1 in size.
  function tailOfExp(y) {
    let tail = 1;
    for (let n = 24; n > 2; n -= 1) tail = 1 + (y / n) * tail;
    return 0.5 * y * y * tail;
  }
  // exp(-y) - 1 + y for y >= 0.
  const bend = (y) => (y < 0.5 ? tailOfExp(-y) : Math.expm1(-y) + y);
  // The regularised incomplete gamma function P(2, z).
  const gammaOfTwo = (z) => (z < 1 ? Math.exp(-z) * tailOfExp(z) : -Math.expm1(-z) - z * Math.exp(-z));

  math.stateAtAge = (source, age) => -Math.expm1(-source.decay * age) * source.limit;
  math.freshState = (source) => math.stateAtAge(source, 1);

  math.indexAtAge = (source, age) => {
    const z = source.decay * age;
    return (source.limit * (gammaOfTwo(z) + age * Math.exp(-z) * bend(source.decay))) / source.cost;
  };

  // The line of slope eta (1 - alpha) whose value at x is the subsidy that ties crawling at x, and
  // every eta epochs from then on, with waiting.
  math.indexLine = (source, x, eta) => {
    const share = x / source.limit, z = source.decay * eta, lost = -Math.expm1(-source.decay);
    if (eta === 1) return (source.limit * lost * share) / source.cost;
    const relative = z < 1
      ? eta * (lost * share + bend(source.decay)) - bend(z)
      : -Math.expm1(-z) - eta * lost * (1 - share);
    return (source.limit * relative) / source.cost;
  };

  math.indexWait = (source, x) =>
    Math.max(1, Math.ceil(-Math.log1p(-x / source.limit) / source.decay));

  math.index = (source, x) =>
    (x >= source.limit ? x / source.cost : math.indexLine(source, x, math.indexWait(source, x)));

  // Positions of the largest values, ties to the smaller position.
  function top(values, budget) {
    const order = values.map((_, place) => place);
    order.sort((a, b) => values[b] - values[a] || a - b);
    return order.slice(0, budget).sort((a, b) => a - b);
  }

  function nextInTurn(ages, crawls) {
    const youngest = Math.min(...ages), size = ages.length;
    for (let i = 0; i < size; i += 1) {
      if (ages[i] > youngest && ages[(i + size - 1) % size] === youngest) return i;
    }
    return crawls % size;
  }

  function choose(policy, sources, budget, epoch, ages, states) {
    if (policy === "round-robin") {
      const first = nextInTurn(ages, epoch * budget);
      return Array.from({ length: budget }, (_, i) => (first + i) % sources.length).sort((a, b) => a - b);
    }
    const ranks = {
      greedy: (source, i) => math.stateAtAge(source, ages[i]),
      whittle: (source, i) => (states ? math.index(source, states[i]) : math.indexAtAge(source, ages[i])),
    };
    if (!(policy in ranks)) {
      throw new RangeError(`policy must be whittle, greedy or round-robin, got ${policy}`);
    }
    return top(sources.map(ranks[policy]), budget);
  }

  // One run from empty sources: states[epoch][source], crawls[epoch], rewards[epoch].
  math.simulate = (sources, policy, budget, horizon) => {
    const run = { states: [], crawls: [], rewards: [] };
    let states = sources.map(() => 0), ages = sources.map(() => 0);
    for (let epoch = 0; epoch < horizon; epoch += 1) {
      const arms = choose(policy, sources, budget, epoch, ages, states);
      run.states.push(states);
      run.crawls.push(arms);
      run.rewards.push(sum(arms.map((i) => states[i])));
      const crawled = (i) => arms.includes(i);
      states = sources.map((source, i) =>
        (crawled(i) ? 0 : Math.exp(-source.decay) * states[i]) + math.freshState(source));
      ages = ages.map((age, i) => (crawled(i) ? 1 : age + 1));
    }
    return run;
  };

  // Crawler and engine (analysis.joint). Pages are those of an epoch; `kept` is the share of its
  // worth that a page keeps behind the queue.

  // The largest worth of a crawl that takes all pages, less their price.
  function cap(source, pages, kept, price) {
    const limit = source.limit * kept, owed = price * pages, m = source.decay;
    if (owed === 0) return limit;
    if (limit === 0) return -owed;
    const fades = Math.log(limit * m) - Math.log(owed);
    const age = Math.max(1, Math.ceil((fades + Math.log(-Math.expm1(-m) / m)) / m)), y = m * age;
    return y < fades
      ? limit * (gammaOfTwo(y) - y * Math.exp(-y) * Math.expm1(y - fades))
      : -limit * Math.expm1(-y) - owed * age;
  }
  math.queuedIndex = (source, pages, kept, age, price) =>
    Math.min(kept * math.indexAtAge(source, age), cap(source, pages, kept, price) / source.cost);

  // Crawls of the largest indices that are not negative, from ages of one epoch: crawls[epoch], and
  // means per epoch of how many there are and of the pages that they bring.
  math.queuedCrawls = (sources, pages, kept, price, budget, horizon) => {
    const crawls = [];
    let ages = sources.map(() => 1), brought = 0;
    for (let epoch = 0; epoch < horizon; epoch += 1) {
      const now = ages, rank = sources.map((source, i) => math.queuedIndex(source, pages[i], kept[i], now[i], price));
      const arms = top(rank, budget).filter((i) => rank[i] >= 0);
      brought += sum(arms.map((i) => pages[i] * now[i]));
      crawls.push(arms);
      ages = ages.map((age, i) => (arms.includes(i) ? 1 : age + 1));
    }
    return { crawls, count: sum(crawls.map((arms) => arms.length)) / horizon, pages: brought / horizon };
  };

  // A source's content at an age beyond PRECISE / decay is its limit, to the last digit.
  const PRECISE = -Math.log(Number.EPSILON / 4);

  // What a policy repeats for ever, by exact ages: {start, crawls, frequency, average}.
  math.longRunCycle = (sources, policy, budget, longest = 20000) => {
    const oldest = sources.map((source) => Math.max(2, Math.ceil(PRECISE / source.decay)));
    const seen = new Map(), crawls = [], rewards = [];
    let ages = sources.map(() => 0);
    for (let epoch = 0; epoch < longest; epoch += 1) {
      const key = ages.join(" ");
      if (seen.has(key)) {
        const start = seen.get(key), round = crawls.slice(start);
        const times = (_, i) => sum(round.map((arms) => Number(arms.includes(i)))) / round.length;
        return {
          start, crawls: round, frequency: sources.map(times), average: sum(rewards.slice(start)) / round.length,
        };
      }
      seen.set(key, epoch);
      const arms = choose(policy, sources, budget, 0, ages, null), now = ages;
      crawls.push(arms);
      rewards.push(sum(arms.map((i) => math.stateAtAge(sources[i], now[i]))));
      ages = now.map((age, i) => (arms.includes(i) ? 1 : Math.min(age + 1, oldest[i])));
    }
    return null;
  };

  // What the index policy of a belief meets in the long run: the ages of each source's crawls and
  // what they earn with the true sources.
  math.closedLoop = (sources, believed, budget) => {
    const { crawls } = math.longRunCycle(believed, "whittle", budget), period = crawls.length;
    const met = sources.map((_, i) => {
      const times = crawls.flatMap((arms, epoch) => (arms.includes(i) ? [epoch] : []));
      return times.map((time, n) => (n + 1 < times.length ? times[n + 1] : times[0] + period) - time);
    });
    return {
      gaps: met.map((ages) => [...new Set(ages)].sort((a, b) => a - b)),
      average: sum(met.map((ages, i) => sum(ages.map((age) => math.stateAtAge(sources[i], age))))) / period,
    };
  };

  // The index policy with a least age, the sources all of age `least` at first: who is crawled, what
  // that earns, the index at which the budget ran out (null where it did not), and the first and last
  // epoch of the first whole cycle (null where none shows).
  math.schedule = (sources, budget, least, epochs) => {
    const oldest = sources.map((source) => Math.max(2, least, Math.ceil(PRECISE / source.decay)));
    const seen = new Map();
    let ages = sources.map(() => Math.max(1, least));
    const plan = { crawls: [], rewards: [], marginal: [], indices: [], cycle: null };
    for (let epoch = 0; epoch < epochs; epoch += 1) {
      const key = ages.map((age, i) => Math.min(age, oldest[i])).join(" ");
      if (!plan.cycle && seen.has(key)) plan.cycle = [seen.get(key), epoch - 1];
      seen.set(key, epoch);
      const now = ages, indices = sources.map((source, i) => math.indexAtAge(source, now[i]));
      const allowed = indices.map((value, i) => (now[i] >= least ? value : -1));
      const arms = top(allowed, budget).filter((i) => now[i] >= least);
      plan.crawls.push(arms);
      plan.indices.push(indices);
      plan.rewards.push(sum(arms.map((i) => math.stateAtAge(sources[i], now[i]))));
      plan.marginal.push(arms.length < budget ? null : Math.min(...arms.map((i) => indices[i])));
      ages = now.map((age, i) => (arms.includes(i) ? 1 : age + 1));
    }
    return plan;
  };

  // First age of at least `least` at which the index reaches a subsidy; infinite where none does.
  math.dueAge = (source, subsidy, least = 1) => {
    if (subsidy > 0 && subsidy >= source.limit / source.cost) return Infinity;
    let below = least - 1, above = Math.max(1, least);
    while (math.indexAtAge(source, above) < subsidy && source.decay * above < 800) {
      below = above;
      above *= 2;
    }
    while (above - below > 1) {
      const middle = Math.floor((above + below) / 2);
      if (math.indexAtAge(source, middle) >= subsidy) above = middle; else below = middle;
    }
    return above;
  };

  // Best average reward when the budget holds on average only, with a least age: the dual's minimum.
  math.relaxedBound = (sources, budget, least = 1) => {
    const at = (subsidy) => sources.map((source) => math.dueAge(source, subsidy, least));
    const spent = (ages) => sum(ages.map((age, i) => sources[i].cost / age));
    const dual = (subsidy, ages) => subsidy * budget + sum(sources.map((source, i) =>
      (Number.isFinite(ages[i]) ? (math.stateAtAge(source, ages[i]) - subsidy * source.cost) / ages[i] : 0)));
    if (spent(at(0)) <= budget) return dual(0, at(0));
    let low = 0, high = Math.max(...sources.map((source) => source.limit / source.cost));
    for (let step = 0; step < 200; step += 1) {
      const middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      if (spent(at(middle)) > budget) low = middle; else high = middle;
    }
    return Math.min(dual(low, at(low)), dual(high, at(high)));
  };

  // A timetable of powers of two (analysis.ephemeral.timetable with odd_parts=(1,)): one row an entry.

  const LEVELS = 30;
  // Crawls are moved from a gap 2^(j+1) (or never) to 2^j, those first that gain most, while they fit;
  // the source of the first that does not is shared with what is left.
  function chooseGaps(sources, budget) {
    const steps = sources.flatMap(({ limit, decay }, source) => Array.from({ length: LEVELS + 1 }, (_, level) => {
      const content = -Math.expm1(-decay * 2 ** level);
      return { source, level, gain: limit * (level === LEVELS ? content : content * content) };
    })).filter(({ gain }) => gain > 0);
    steps.sort((a, b) => b.gain - a.gain || b.level - a.level);
    const levels = sources.map(() => null);
    let left = budget * 2 ** LEVELS; // in units of 2^-30 crawls an epoch
    for (const { source, level } of steps) {
      const more = 2 ** (LEVELS - level) - (level === LEVELS ? 0 : 2 ** (LEVELS - level - 1));
      if (more > left) return { levels, shared: left > 0 ? source : null, extra: left };
      levels[source] = level;
      left -= more;
    }
    return { levels, shared: null, extra: 0 };
  }

  // Channel and phase of a block that begins at some place of the line, in units of 2^-digits.
  function classOf(place, digits) {
    const unit = 2 ** digits, channel = Math.floor(place / unit);
    let rest = place - channel * unit, phase = 0;
    for (let digit = 0; digit < digits; digit += 1) {
      phase = 2 * phase + (rest % 2);
      rest = Math.floor(rest / 2);
    }
    return { channel, phase };
  }

  math.timetable = (sources, budget) => {
    const { levels, shared, extra } = chooseGaps(sources, budget), entries = [];
    const whole = sources.map((_, i) => i).filter((i) => levels[i] !== null && i !== shared);
    whole.sort((a, b) => levels[a] - levels[b] || a - b);
    const longer = shared === null ? -1 : levels[shared];
    const digits = Math.max(0, longer, ...whole.map((i) => levels[i]));
    const unit = 2 ** digits, length = (i) => 2 ** (digits - levels[i]);
    const add = (source, gap, place) => entries.push({ source, gap, ...classOf(place, digits) });
    let place = 0, back = null;
    whole.forEach((i) => {
      if (shared !== null && back === null && levels[i] >= longer) place = share(place);
      if (place + length(i) > budget * unit) { // behind the source that is shared, from its end
        back -= length(i);
        add(i, 2 ** levels[i], back);
        return;
      }
      add(i, 2 ** levels[i], place);
      place += length(i);
    });
    if (shared !== null && back === null) share(place);

    function share(start) {
      const half = unit / 2 ** longer;
      add(shared, 2 ** longer, start);
      let next = start + half;
      const more = extra / 2 ** (LEVELS - digits);
      for (let digit = digits; digit >= 0; digit -= 1) {
        if (Math.floor(more / 2 ** digit) % 2) {
          add(shared, 2 ** (digits - digit), next);
          next += 2 ** digit;
        }
      }
      back = start + 2 * half;
      return back;
    }

    entries.sort((a, b) => a.source - b.source || a.phase - b.phase);
    const rates = sources.map((source, i) => {
      if (levels[i] === null) return 0;
      const gap = 2 ** levels[i], rate = math.stateAtAge(source, gap) / gap;
      if (i !== shared) return rate;
      const share = extra / 2 ** (LEVELS - levels[i]); // of the time with half the gap
      return share * (math.stateAtAge(source, gap / 2) / (gap / 2)) + (1 - share) * rate;
    });
    return { entries, average: sum(rates), bound: math.relaxedBound(sources, budget) };
  };

  // Restart arms (analysis.restarts): policy k leaves the first k states passive.

  math.thresholds = (passive, reset, passiveCost, activeCost, discount) => {
    const size = reset.length, dot = (a, b) => sum(a.map((value, i) => value * b[i]));
    const a = passive.map((row) => row.map((value) => -discount * value));
    const num = passive.map((row, i) => passiveCost[i] - activeCost[i] + discount * dot(row, activeCost));
    const den = reset.map(() => 1), visits = [...reset];
    const cost = [dot(reset, activeCost)], length = [1], crossings = [];
    let last = 0;
    for (let k = 0; k < size; k += 1) {
      const ratio = num[k] / den[k];
      crossings.push(k ? crossings[k - 1] + (ratio - last) * length[k] : ratio - discount * cost[0]);
      // A pivot is a sum of terms of one sign, so that nothing cancels.
      const pivot = (1 - discount) * den[k] - sum(a[k].slice(k + 1));
      const first = visits[k] / pivot;
      cost.push(cost[k] + first * num[k]);
      length.push(length[k] + discount * first * den[k]);
      last = ratio;
      for (let i = k + 1; i < size; i += 1) {
        visits[i] -= first * a[k][i];
        const factor = a[i][k] / pivot;
        num[i] -= factor * num[k];
        den[i] -= factor * den[k];
        for (let j = k + 1; j < size; j += 1) a[i][j] -= factor * a[k][j];
      }
    }
    return {
      crossings,
      costRate: cost.map((value, k) => value / length[k]),
      activity: length.map((value) => Math.max(0, 1 - (1 - discount) * value) / (discount * value)),
    };
  };

  // Soft thresholds (analysis.learning): crawls are renewals.

  math.softThresholdValue = (sources, thresholds, kappa, scale, offset = 0.5) => {
    const value = { reward: 0, engaged: 0 };
    sources.forEach((source, i) => {
      const oldest = Math.ceil(-Math.log(Number.EPSILON / 4) / source.decay);
      const odds = (age) => kappa * ((math.stateAtAge(source, age) - thresholds[i]) / scale - offset);
      let waiting = 0, length = 0, reward = 0; // log P(age > k), and sums over it
      for (let age = 1; age < oldest; age += 1) {
        const logit = odds(age), alive = Math.exp(waiting);
        length += alive;
        reward += (alive / (1 + Math.exp(-logit))) * math.stateAtAge(source, age);
        waiting -= Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit)));
      }
      const crawl = 1 / (1 + Math.exp(-odds(oldest))), alive = Math.exp(waiting);
      if (crawl === 0) return;
      length += alive / crawl;
      value.reward += (reward + alive * source.limit) / length;
      value.engaged += 1 / length;
    });
    return value;
  };

  // A fixed number of robots (analysis.robots.mm1k): the M/M/1/K queue.

  // 1 / (1 + e^x + ... + e^(Kx)).
  function firstShare(x, capacity) {
    if (x === 0) return 1 / (capacity + 1);
    if (x > 600 / (capacity + 1)) return -Math.expm1(-x) * Math.exp(-capacity * x);
    return Math.expm1(x) / Math.expm1((capacity + 1) * x);
  }
  math.starvation = (load, capacity) => firstShare(Math.log(load), capacity);
  math.lossRate = (load, capacity) => load * firstShare(-Math.log(load), capacity);
  math.staticCost = (load, gamma, capacity) =>
    gamma * math.starvation(load, capacity) + math.lossRate(load, capacity);

  function logSum(terms) {
    const largest = Math.max(...terms);
    return largest + Math.log(sum(terms.map((term) => Math.exp(term - largest))));
  }
  // log h_K(e^x), rising in x; the best load is where it is log(gamma/mu).
  function logSlopeRatio(x, capacity) {
    const powers = Array.from({ length: capacity + 1 }, (_, i) => i);
    return capacity * x + logSum(powers.map((i) => Math.log(capacity + 1 - i) + i * x))
      - logSum(powers.slice(1).map((i) => Math.log(i) + (i - 1) * x));
  }
  math.optimalLoad = (gamma, capacity) => {
    const gap = Math.log(gamma) - Math.log((capacity + 2) / capacity);
    if (gap === 0) return 1;
    let low = Math.min(0, gap) - 1e-9, high = Math.max(0, gap) + 1e-9;
    for (let step = 0; step < 200; step += 1) {
      const middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      if (logSlopeRatio(middle, capacity) < Math.log(gamma)) low = middle; else high = middle;
    }
    return Math.exp(0.5 * (low + high));
  };
  math.optimalRobots = (loadOfOne, gamma, capacity) => {
    const robots = math.optimalLoad(gamma, capacity) / loadOfOne;
    const [low, high] = [Math.max(1, Math.floor(robots)), Math.max(1, Math.ceil(robots))];
    const cost = (n) => math.staticCost(n * loadOfOne, gamma, capacity);
    return cost(high) < cost(low) ? high : low;
  };

  // The controlled queue (analysis.robots.control): policy[q][r] says whether one more robot is
  // started with q pages left and r active. Service rate 1.

  // Where each state of number q (N + 1) + r goes under a policy: pairs of a state and a rate.
  function movesOf(queue, policy) {
    const width = queue.robots + 1, moves = [[]];
    const after = (q, r) => q * width + r + Number(policy[q][r]);
    for (let state = 1; state < (queue.capacity + 1) * width; state += 1) {
      const q = Math.floor(state / width), r = state % width;
      const targets = q > 0 ? [[after(q - 1, r), 1]] : [];
      if (r > 0) targets.push([after(Math.min(q + 1, queue.capacity), r - 1), queue.rate * r]);
      moves.push(targets);
    }
    return moves;
  }

  // One state of each recurrent class, with the states that it leads to: its class.
  function recurrentClasses(moves) {
    const reached = moves.map((_, from) => {
      const found = new Uint8Array(moves.length), stack = [from];
      found[from] = 1;
      while (stack.length) {
        moves[stack.pop()].forEach(([target]) => {
          if (!found[target]) { found[target] = 1; stack.push(target); }
        });
      }
      return found;
    });
    const classes = [];
    for (let state = 1; state < moves.length; state += 1) {
      const recurrent = reached[state].every((leads, other) => !leads || reached[other][state]);
      if (recurrent && !classes.some(({ members }) => members[state])) {
        classes.push({ reference: state, members: reached[state] });
      }
    }
    return classes;
  }

  // The policy with every decision outside of a class turned, where it has to be, towards it.
  function leadTo(queue, policy, members) {
    const width = queue.robots + 1, led = Uint8Array.from(members), turned = policy.map((row) => [...row]);
    for (let grows = true; grows;) {
      grows = false;
      turned.forEach((row, q) => row.forEach((starts, r) => {
        const here = q * width + r;
        if (r < queue.robots && here > 0 && !led[here + Number(starts)]) {
          if (led[here + Number(!starts)]) row[r] = !starts;
        }
      }));
      movesOf(queue, turned).forEach((targets, state) => {
        if (!led[state] && targets.some(([target]) => led[target])) { led[state] = 1; grows = true; }
      });
    }
    return turned;
  }

  // Cost of each state until the reference state is entered, the time until then, and the gain: by
  // eliminating states, in sums of terms of one sign (Grassmann, Taksar and Heyman).
  function evaluate(queue, policy, reference) {
    const moves = movesOf(queue, policy), order = [reference], place = [];
    moves.forEach((_, state) => { if (state && state !== reference) order.push(state); });
    order.forEach((state, i) => { place[state] = i; });
    const size = order.length, cost = new Float64Array(size), time = new Float64Array(size);
    const jump = order.map((state, i) => {
      const row = new Float64Array(size), out = sum(moves[state].map((move) => move[1]));
      moves[state].forEach(([target, speed]) => { row[place[target]] += speed / out; });
      const q = Math.floor(state / (queue.robots + 1)), r = state % (queue.robots + 1);
      cost[i] = ((q === 0 ? queue.gamma : 0) + (q === queue.capacity ? queue.rate * r : 0)) / out;
      time[i] = 1 / out;
      return row;
    });
    const leaving = new Float64Array(size);
    for (let k = size - 1; k > 0; k -= 1) {
      for (let j = 0; j < k; j += 1) leaving[k] += jump[k][j];
      for (let i = 0; i < k; i += 1) {
        const share = jump[i][k] / leaving[k];
        if (share === 0) continue;
        cost[i] += share * cost[k];
        time[i] += share * time[k];
        for (let j = 0; j < k; j += 1) jump[i][j] += share * jump[k][j];
      }
    }
    const found = { gain: cost[0] / time[0], policy, cost: [], time: [] };
    found.cost[reference] = found.time[reference] = 0;
    for (let k = 1; k < size; k += 1) {
      let [spent, passed] = [cost[k], time[k]];
      for (let j = 1; j < k; j += 1) {
        spent += jump[k][j] * found.cost[order[j]];
        passed += jump[k][j] * found.time[order[j]];
      }
      found.cost[order[k]] = spent / leaving[k];
      found.time[order[k]] = passed / leaving[k];
    }
    return found;
  }

  // The policy, led into the cheapest of its recurrent classes if it has several, and evaluated.
  function evaluateOneClass(queue, policy) {
    const classes = recurrentClasses(movesOf(queue, policy));
    const led = ({ reference, members }) =>
      evaluate(queue, classes.length > 1 ? leadTo(queue, policy, members) : policy, reference);
    return classes.map(led).reduce((best, other) => (other.gain < best.gain ? other : best));
  }

  // An optimal policy by policy iteration, from all robots always on: {gain, policy}.
  math.controlRobots = (robots, rate, capacity, gamma) => {
    const queue = { robots, rate, capacity, gamma }, width = robots + 1;
    let policy = Array.from({ length: capacity + 1 }, () =>
      Array.from({ length: width }, (_, r) => r < robots));
    for (let round = 0; round < 200; round += 1) {
      const found = evaluateOneClass(queue, policy), { gain, cost, time } = found;
      policy = found.policy.map((row, q) => row.map((starts, r) => {
        if (r === robots || (q === 0 && r === 0)) return starts;
        const [one, more] = [q * width + r, q * width + r + 1];
        const gap = cost[more] - cost[one] - gain * (time[more] - time[one]);
        const size = cost[more] + cost[one] + gain * (time[more] + time[one]);
        return starts ? gap <= 1e-13 * size : gap < -1e-13 * size;
      }));
      if (policy.every((row, q) => row.every((starts, r) => starts === found.policy[q][r]))) {
        return { gain, policy };
      }
    }
    throw new Error("policy iteration did not settle");
  };

  window.bookExplorables = { math };
})();
