// The frame of every explorable: controls, the picture, what it says in words, and the address.
// A view is {title, controls, draw}; views-*.js define them. Everything is native and works from disk.
(function () {
  "use strict";
  const book = window.bookExplorables;
  const views = {};
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // Register the view of an explorable: a function of its data that returns
  // {title, controls, draw}. A control is {name, label, type, ...}; draw(state, width) returns
  // {picture, words, legend, drag, numbers}: parts of an SVG, a sentence, its key, what a drag sets,
  // and results by name, which sentences of the page show.
  book.define = (id, make) => { views[id] = make; };

  // Numbers as the book writes them: four digits, or as many decimals as are asked for.
  book.said = (value, decimals) => {
    const text = decimals === undefined ? String(Number(value.toPrecision(4))) : value.toFixed(decimals);
    return text.replace("-", "\u2212");
  };
  book.colour = (n) => `var(--touch-${(n % 7) + 1})`;
  book.plural = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;
  book.listed = (words) => (words.length < 2 ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`);
  book.mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

  // Rates of sources: the columns that a page saved, controls for the first of them, and the
  // sources that a state describes.

  const RATES = [
    ["arrival", "arrival-rate", "arrival rate Λ", 0, 1e6],
    ["utility", "mean-utility", "mean utility ξ̄", 0, 1e6],
    ["decay", "decay-rate", "decay rate μ", 1e-3, 100],
  ];
  const counted = (size, each) => Array.from({ length: size }, (_, i) => each(i));
  book.rateColumns = (values, page) => RATES.map(([, id]) => values[`${page}-${id}`]);
  book.rateControls = (columns, size) => counted(size, (i) => RATES.map(([name, , label, min, max], n) => ({
    name: `${name}${i + 1}`, label: `Source ${i + 1}: ${label}`, type: "number", min, max,
    value: columns[n][i], group: "Rates and utilities of the sources",
  }))).flat();
  book.sourcesOf = (state, size) => counted(size, (i) => book.math.makeSource(...RATES.map(([name]) => state[`${name}${i + 1}`]), state.T));

  // Controls. A control's value is what the state holds; a slider moves in equal steps, in equal
  // ratios where the control is logarithmic, or from stop to stop.

  const STEPS = 400;
  const isNumber = (control) => control.type === "range" || control.type === "number";
  function toSlider({ log, stops, min, max }, value) {
    if (stops) return stops.filter((stop) => stop < value).length;
    return log ? (STEPS * Math.log(value / min)) / Math.log(max / min) : value;
  }
  function fromSlider({ log, stops, min, max }, place) {
    if (stops) return stops[place];
    return Number((log ? min * (max / min) ** (place / STEPS) : place).toPrecision(log ? 3 : 6));
  }
  function slider({ log, stops, min, max, step }) {
    if (stops) return { min: 0, max: stops.length - 1, step: 1 };
    return log ? { min: 0, max: STEPS, step: 1 } : { min, max, step: step || 1 };
  }

  // The value that a text stands for, or the one before if it stands for none.
  function read(control, text, before) {
    if (control.type === "checkbox") return text === "1" || text === "true";
    if (control.type === "select") {
      return control.options.some(([value]) => String(value) === text) ? text : before;
    }
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value)) return before;
    const inside = Math.min(control.max, Math.max(control.min, value));
    return control.integer ? Math.round(inside) : inside;
  }
  const written = (control, value) => (control.type === "checkbox" ? String(Number(value)) : String(value));

  function makeControl(id, control, change) {
    const row = document.createElement("div");
    row.className = `touch-control touch-${control.type}`;
    const name = `${id}--${control.name}`, inputs = [];
    const unit = control.unit ? ` <span class="touch-unit">(${escaped(control.unit)})</span>` : "";
    row.innerHTML = `<label for="${name}">${escaped(control.label)}${unit}</label>`;
    const add = (element, attributes, event, value) => {
      Object.entries(attributes).forEach(([key, text]) => element.setAttribute(key, text));
      element.addEventListener(event, () => change(control.name, value(element)));
      row.append(element);
      inputs.push(element);
    };
    const input = () => document.createElement("input");
    if (isNumber(control)) {
      const step = control.integer ? 1 : "any";
      if (control.type === "range") {
        add(input(), { type: "range", ...slider(control), "aria-label": control.label }, "input",
          (element) => fromSlider(control, Number(element.value)));
      }
      add(input(), { type: "number", id: name, min: control.min, max: control.max, step, inputmode: "decimal" },
        "change", (element) => element.value);
    } else if (control.type === "select") {
      const select = document.createElement("select");
      control.options.forEach(([value, text]) => select.append(new Option(text, value)));
      add(select, { id: name }, "input", (element) => element.value);
    } else {
      add(input(), { type: "checkbox", id: name }, "input", (element) => String(Number(element.checked)));
    }
    const show = (value) => inputs.forEach((element) => {
      if (element.type === "checkbox") element.checked = value;
      else if (element.type === "range") {
        element.value = toSlider(control, value);
        element.setAttribute("aria-valuetext", `${book.said(value)} ${control.unit || ""}`.trim());
      } else element.value = value;
    });
    return { row, show };
  }

  // A number in a sentence that sets a control: dragged sideways, or moved with the arrow keys.

  const DRAGGED = 12; // pixels a step
  const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  function makeNumber(number, control, change, value) {
    const ends = slider(control);
    const last = { min: fromSlider(control, ends.min), max: fromSlider(control, ends.max) };
    const stride = control.log || control.stops ? Math.ceil((ends.max - ends.min) / 40) : Number(ends.step);
    const move = (steps) => {
      const place = toSlider(control, value()) + steps * stride;
      change(control.name, fromSlider(control, Math.min(ends.max, Math.max(ends.min, place))));
    };
    let from = null;
    number.tabIndex = 0;
    Object.entries({ role: "slider", title: "drag, or use the arrow keys", "aria-label": control.label, "aria-valuemin": last.min, "aria-valuemax": last.max })
      .forEach(([name, text]) => number.setAttribute(name, text));
    number.addEventListener("keydown", (event) => {
      if (!(event.key in KEYS)) return;
      event.preventDefault();
      move(KEYS[event.key]);
    });
    number.addEventListener("pointerdown", (event) => {
      from = event.clientX;
      number.setPointerCapture(event.pointerId);
    });
    number.addEventListener("pointermove", (event) => {
      const steps = from === null ? 0 : Math.trunc((event.clientX - from) / DRAGGED);
      if (!steps) return;
      from += steps * DRAGGED;
      move(steps);
    });
    ["pointerup", "pointercancel"].forEach((name) => number.addEventListener(name, () => { from = null; }));
    return () => {
      number.textContent = book.said(value());
      number.setAttribute("aria-valuenow", value());
    };
  }

  // One explorable on the page.

  function build(place) {
    const id = place.dataset.explorable, make = views[id];
    const view = make(JSON.parse(place.querySelector("script").textContent));
    // What the page itself was run with is always in range, unless it is a number of things to draw.
    view.controls.filter((control) => isNumber(control) && !control.integer).forEach((control) => {
      control.min = Math.min(control.min, control.value);
      control.max = Math.max(control.max, control.value);
    });
    const defaults = Object.fromEntries(view.controls.map((control) =>
      [control.name, read(control, written(control, control.value), control.value)]));
    let state = { ...defaults }, drag = null, drawn = 0;

    place.innerHTML = `<p class="touch-title">${escaped(view.title)}</p><form class="touch-controls"></form>
      <div class="touch-picture"></div><ul class="touch-legend"></ul>
      <p class="touch-words" role="status" aria-live="polite"></p>
      <p class="touch-foot"><button type="button">Reset</button> <a>Link to this view</a></p>`;
    document.getElementById(place.dataset.instead)?.classList.add("touch-replaced");
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", view.title);
    const part = (name) => place.querySelector(name);
    const [form, picture, words] = [part("form"), part(".touch-picture"), part(".touch-words")];
    const [link, legend] = [part("a"), part(".touch-legend")];

    const change = (name, text) => {
      const control = view.controls.find((one) => one.name === name);
      const value = read(control, String(text), state[name]);
      set({ ...state, [name]: value });
      history.replaceState(null, "", link.hash);
    };
    const shown = view.controls.map((control) => {
      const { row, show } = makeControl(id, control, change);
      groupOf(form, control.group).append(row);
      return () => show(state[control.name]);
    });

    document.querySelectorAll(`[data-sets="${id}"]`).forEach((number) => {
      const control = view.controls.find(({ name }) => name === number.dataset.control);
      shown.push(makeNumber(number, control, change, () => state[control.name]));
    });
    const following = [...document.querySelectorAll(`[data-follows="${id}"]`)];

    function set(next) {
      state = next;
      shown.forEach((show) => show());
      const changed = view.controls.filter(({ name }) => state[name] !== defaults[name]);
      const query = changed.map((c) => `${c.name}=${encodeURIComponent(written(c, state[c.name]))}`);
      link.setAttribute("href", `#${id}${query.length ? `?${query.join("&")}` : ""}`);
      draw();
    }

    function draw() {
      drawn = Math.max(280, Math.floor(picture.clientWidth));
      let result;
      try {
        result = view.draw(state, drawn);
      } catch (error) {
        result = { picture: [], words: `Not computed here: ${error.message}.` };
      }
      drag = result.drag || null;
      picture.innerHTML = book.svg(drawn, result.picture, view.title);
      picture.classList.toggle("touch-drags", Boolean(drag));
      legend.innerHTML = (result.legend || []).map(([sign, text]) =>
        `<li><svg width="28" height="14" aria-hidden="true">${sign}</svg>${escaped(text)}</li>`).join("");
      words.textContent = result.words;
      following.forEach((number) => {
        const value = (result.numbers || {})[number.dataset.number];
        number.textContent = value === undefined ? "none" : book.said(value, Number(number.dataset.decimals));
        number.dataset.value = value;
      });
    }

    function restore() {
      const [target, query] = hashParts();
      if (target !== id) return;
      const given = new URLSearchParams(query), next = { ...defaults };
      view.controls.forEach((control) => {
        if (given.has(control.name)) {
          next[control.name] = read(control, given.get(control.name), defaults[control.name]);
        }
      });
      set(next);
      place.scrollIntoView({ block: "start" });
    }

    part("button").addEventListener("click", () => {
      set({ ...defaults });
      history.replaceState(null, "", `#${id}`);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    const pull = (event) => {
      if (!drag || !(event.buttons & 1)) return;
      const box = picture.firstElementChild.getBoundingClientRect();
      const moved = drag(((event.clientX - box.left) * drawn) / box.width);
      Object.entries(moved).forEach(([name, value]) => change(name, value));
    };
    picture.addEventListener("pointerdown", pull);
    picture.addEventListener("pointermove", pull);
    window.addEventListener("hashchange", restore);
    new ResizeObserver(() => {
      if (Math.abs(picture.clientWidth - drawn) > 1 && picture.clientWidth >= 280) draw();
    }).observe(picture);

    place.hidden = false;
    set(state);
    restore();
  }

  // Controls of a group are folded together.
  function groupOf(form, name) {
    if (!name) return form;
    const found = [...form.querySelectorAll("details")].find((one) => one.dataset.group === name);
    if (found) return found.lastElementChild;
    const details = document.createElement("details");
    details.dataset.group = name;
    details.innerHTML = `<summary>${escaped(name)}</summary><div class="touch-controls"></div>`;
    form.append(details);
    return details.lastElementChild;
  }

  function hashParts() {
    const [target, query = ""] = location.hash.slice(1).split("?");
    return [target, query];
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-explorable]").forEach(build);
  });

  book.escaped = escaped;
})();
