"use strict";
// Sliders, points that can be dragged, and pictures of docs/interactive.md.

document.addEventListener("DOMContentLoaded", () => {
  const root = document.getElementById("interactive");
  if (!root) return;
  const model = surrogate.parse(document.getElementById("surrogate").textContent);
  const NAMES = Object.keys(model.ensembles);
  const SHOWN = 5; // nearest RVEs
  const query = (selector) => root.querySelector(selector);
  const append = (box, html) => {
    box.insertAdjacentHTML("beforeend", html);
    return box.lastElementChild;
  };
  const clamp = (v, [low, high]) => Math.min(Math.max(v, low), high);
  const symbol = (name) => name.replace(/_(.+)/, "<sub>$1</sub>");
  const unit = (name) => (name === "–" ? "" : ` [${name}]`);

  /** Scales of a picture that fills the width of its svg. */
  function scales(svg, xs, ys, { left, right, top, bottom }) {
    const width = svg.clientWidth;
    const height = svg.clientHeight;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const along = (v, [low, high], from, to) => from + ((v - low) / (high - low)) * (to - from);
    const back = (p, [low, high], from, to) => low + ((p - from) / (to - from)) * (high - low);
    return {
      x: (v) => along(v, xs, left, width - right),
      y: (v) => along(v, ys, height - bottom, top),
      fromX: (p) => back(p, xs, left, width - right),
      fromY: (p) => back(p, ys, height - bottom, top),
      width,
      height,
    };
  }

  const points = (at, x, y) => x.map((v, i) => `${at.x(v).toFixed(1)},${at.y(y[i]).toFixed(1)}`);
  const line = (at, x, y, kind) => `<polyline class="${kind}" points="${points(at, x, y).join(" ")}"/>`;

  function band(at, x, mean, std, kind) {
    const above = points(at, x, mean.map((m, i) => m + 2 * std[i]));
    const below = points(at, x, mean.map((m, i) => m - 2 * std[i])).reverse();
    return `<polygon class="${kind}" points="${[...above, ...below].join(" ")}"/>`;
  }

  function axes(at, xs, ys, labels) {
    const across = xs.map((v) => `<text class="tick" text-anchor="middle" x="${at.x(v)}" y="${at.height - 22}">${v}</text>
      <line class="grid" x1="${at.x(v)}" x2="${at.x(v)}" y1="${at.y(ys[0])}" y2="${at.y(ys.at(-1))}"/>`);
    const up = ys.map((v) => `<text class="tick" text-anchor="end" x="38" y="${at.y(v) + 4}">${v}</text>
      <line class="grid" x1="${at.x(xs[0])}" x2="${at.x(xs.at(-1))}" y1="${at.y(v)}" y2="${at.y(v)}"/>`);
    const middle = (at.x(xs[0]) + at.x(xs.at(-1))) / 2;
    return `${across.join("")}${up.join("")}
      <text text-anchor="middle" x="${middle}" y="${at.height - 4}">${labels[0]}</text>
      <text x="2" y="12">${labels[1]}</text>`;
  }

  /** A labelled slider in a box; `changed` is called with every new value. */
  function slider(box, { words, name, of, range, value, step, learnt }, changed) {
    const share = (v) => (100 * (v - range[0])) / (range[1] - range[0]);
    const known = learnt ? `<i style="margin-left: ${share(learnt[0])}%; width: ${share(learnt[1]) - share(learnt[0])}%"></i>` : "";
    const label = append(box, `<label><span>${words} ${symbol(name)}${unit(of)}</span>
      <output></output><input type="range" min="${range[0]}" max="${range[1]}" step="${step}"
      name="${name}" value="${value}">${known}</label>`);
    const [input, shown] = [label.querySelector("input"), label.querySelector("output")];
    const digits = Math.max(0, Math.ceil(-Math.log10(step)));
    const tell = () => {
      shown.textContent = Number(input.value).toFixed(digits);
      changed(Number(input.value));
    };
    input.addEventListener("input", tell);
    tell();
  }

  // -- the composite ----------------------------------------------------------------------------
  const x = model.inputs.map(({ range }) => (range[0] + range[1]) / 2);
  const percent = model.curve.strain.map((each) => 100 * each);
  const limits = model.outputs.map((_, j) => {
    const values = model.rves.map((rve) => rve.outputs[j]);
    const room = 0.15 * (Math.max(...values) - Math.min(...values));
    return [Math.min(...values) - room, Math.max(...values) + room];
  });
  const kindOf = (rve) =>
    rve.learnt ? "learnt" : surrogate.outside(model, rve.inputs).length ? "far" : "near";

  function drawCurve(name, found, rves) {
    const svg = query(`svg.curve.${name}`);
    const at = scales(svg, [0, 5], [0, 1000], { left: 44, right: 10, top: 24, bottom: 38 });
    const at0 = (values) => [0, ...values];
    const strain = at0(percent);
    const mean = at0(found.curve.mean);
    const measured = [0, ...model.rve_strain.map((each) => 100 * each)];
    svg.innerHTML =
      axes(at, [0, 1, 2, 3, 4, 5], [0, 250, 500, 750, 1000], ["mean strain [%]", "mean stress [MPa]"]) +
      band(at, strain, mean, at0(found.curve.total), `wide ${name}`) +
      band(at, strain, mean, at0(found.curve.std), `band ${name}`) +
      rves.map((rve) => line(at, measured, at0(rve.stress), `rve ${kindOf(rve)}`)).join("") +
      line(at, strain, mean, `mean ${name}`);
  }

  function drawProperty(j, found, rves) {
    const svg = query(`svg.strip[data-output="${j}"]`);
    const at = scales(svg, limits[j], [0, 40], { left: 4, right: 4, top: 0, bottom: 0 });
    const inside = (v) => clamp(v, limits[j]);
    const bar = (name, middle, width, y, kind) => {
      const [a, b] = [at.x(inside(middle - 2 * width)), at.x(inside(middle + 2 * width))];
      return `<rect class="${kind} ${name}" x="${a}" width="${b - a}" y="${y}" height="10"/>`;
    };
    const rows = NAMES.map((name, i) => {
      const { mean, std, total } = found[name].properties;
      const y = 3 + 23 * i;
      const middle = at.x(inside(mean[j]));
      return `${bar(name, mean[j], total[j], y, "wide")}${bar(name, mean[j], std[j], y, "band")}
        <line class="mean ${name}" x1="${middle}" x2="${middle}" y1="${y - 2}" y2="${y + 12}"/>`;
    });
    const mark = (rve) => `<circle class="rve ${kindOf(rve)}" r="4" cy="19" cx="${at.x(inside(rve.outputs[j]))}"/>`;
    svg.innerHTML = rows.join("") + rves.map(mark).join("");
  }

  function drawRVE() {
    const rves = surrogate.nearest(model, x, SHOWN);
    const found = Object.fromEntries(NAMES.map((n) => [n, surrogate.predict(model, n, x)]));
    NAMES.forEach((name) => drawCurve(name, found[name], rves));
    model.outputs.forEach(({ decimals }, j) => {
      NAMES.forEach((name) => {
        const { mean, total } = found[name].properties;
        const text = `${mean[j].toFixed(decimals)} ± ${(2 * total[j]).toFixed(decimals)}`;
        query(`td.${name}[data-output="${j}"]`).textContent = text;
      });
      query(`td.nearest[data-output="${j}"]`).textContent = rves[0].outputs[j].toFixed(decimals);
      drawProperty(j, found, rves);
    });
    const beyond = surrogate.outside(model, x).map((i) => model.inputs[i]);
    query(".where").classList.toggle("outside", beyond.length > 0);
    query(".where").innerHTML = beyond.length
      ? `Outside the training range: ${beyond.map(({ symbol: name, learnt, unit: of }) =>
          `${symbol(name)} was between ${learnt.map((v) => v.toPrecision(3)).join(" and ")}${of === "–" ? "" : ` ${of}`}`).join(", ")}.`
      : "Inside the range of the training RVEs.";
  }

  model.inputs.forEach(({ words, symbol: name, unit: of, range, learnt }, i) => {
    const step = range[1] > 1 ? 5 : 0.005;
    slider(query(".inputs"), { words, name, of, range, value: x[i], step, learnt }, (value) => {
      x[i] = value;
      if (root.dataset.ready) drawRVE();
    });
  });
  model.outputs.forEach(({ words, symbol: name, unit: of }, j) => {
    const cells = NAMES.map((each) => `<td class="${each}" data-output="${j}"></td>`).join("");
    append(query(".properties tbody"), `<tr><th scope="row">
      ${words} ${symbol(name)}${unit(of)}</th>${cells}<td class="nearest" data-output="${j}"></td></tr>
      <tr class="bars"><td colspan="4"><svg class="strip" data-output="${j}" aria-hidden="true"></svg></td></tr>`);
  });

  // -- one dimension ----------------------------------------------------------------------------
  const prior = { slope: 2, variance: 1 };
  const fresh = () => JSON.parse(query(".line").dataset.points).map(([a, b]) => ({ x: a, y: b }));
  let data = fresh();
  const grid = Array.from({ length: 161 }, (_, i) => -1 + i / 80);
  const truth = grid.map((v) => 1.5 * (v - 0.2) + Math.sin(8 * (v - 0.2)));
  let at;

  function drawLine() {
    const svg = query("svg.line");
    at = scales(svg, [-1, 1], [-4, 4], { left: 44, right: 10, top: 24, bottom: 38 });
    const { mean, std } = surrogate.posterior(data, grid, prior);
    const held = [...svg.querySelectorAll("circle")].indexOf(document.activeElement);
    svg.querySelector("g").innerHTML =
      axes(at, [-1, -0.5, 0, 0.5, 1], [-4, -2, 0, 2, 4], ["x", "f(x)"]) +
      band(at, grid, mean, std, "band anchored") +
      line(at, grid, truth, "truth") +
      line(at, grid, mean, "mean anchored");
    data.forEach((point, i) => {
      const circle = svg.querySelectorAll("circle")[i];
      circle.setAttribute("cx", at.x(point.x));
      circle.setAttribute("cy", at.y(point.y));
      const where = `x = ${point.x.toFixed(2)}, y = ${point.y.toFixed(2)}`;
      circle.setAttribute("aria-label", `data point ${i + 1}: ${where}`);
      if (i === held) query(".point").textContent = `Data point ${i + 1}: ${where}`;
    });
  }

  function move(i, a, b) {
    data[i] = { x: clamp(a, [-1, 1]), y: clamp(b, [-4, 4]) };
    drawLine();
  }

  data.forEach((_, i) => {
    const circle = append(query("svg.line"), '<circle class="data" r="8" tabindex="0" role="button"/>');
    circle.addEventListener("pointerdown", (event) => {
      circle.setPointerCapture(event.pointerId);
      circle.focus();
      event.preventDefault();
    });
    circle.addEventListener("pointermove", (event) => {
      if (!circle.hasPointerCapture(event.pointerId)) return;
      const box = query("svg.line").getBoundingClientRect();
      move(i, at.fromX(event.clientX - box.left), at.fromY(event.clientY - box.top));
    });
    circle.addEventListener("focus", drawLine);
    circle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!step) return;
      event.preventDefault();
      move(i, data[i].x + 0.02 * step[0], data[i].y + 0.1 * step[1]);
    });
  });
  const change = (name) => (value) => {
    prior[name] = value;
    if (root.dataset.ready) drawLine();
  };
  const line1 = query(".line-inputs");
  slider(line1, { words: "length scale", name: "L", of: "–", range: [0.05, 1.5], value: 0.3, step: 0.05 }, change("lengthscale"));
  slider(line1, { words: "standard deviation of the noise", name: "σ", of: "–", range: [0.02, 0.5], value: 0.1, step: 0.02 }, change("noise"));
  query("button.again").addEventListener("click", () => {
    data = fresh();
    drawLine();
  });

  // -- tabs, and a picture that fits the window --------------------------------------------------
  const tabs = [...root.querySelectorAll("[role=tab]")];
  const draw = () => (query("#panel-rve").hidden ? drawLine() : drawRVE());
  function choose(tab) {
    tabs.forEach((each) => {
      each.setAttribute("aria-selected", each === tab);
      each.tabIndex = each === tab ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = each !== tab;
    });
    draw();
  }
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      tabs[1 - i].focus();
      choose(tabs[1 - i]);
    });
  });
  window.addEventListener("resize", draw);
  root.dataset.ready = "yes";
  choose(tabs[0]);
});
