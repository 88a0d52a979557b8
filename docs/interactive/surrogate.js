"use strict";
// Networks and a Gaussian process in plain JavaScript, as `bnn` computes them in Python.

const surrogate = (() => {
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  const escaped = (value) =>
    typeof value === "string" ? value.replace(/[&<>"']/g, (each) => ENTITIES[each]) : value;

  /** The networks of a JSON text, whose words and symbols the page puts into its HTML. */
  function parse(text) {
    return JSON.parse(text, (_, value) => escaped(value));
  }

  /** Single-precision numbers of a base64 text. */
  function numbers(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  }

  /** φ(z) = z / (1 + exp(-z)) */
  function silu(z) {
    return z / (1 + Math.exp(-z));
  }

  /** Outputs of every network of an ensemble at inputs x, K lists of n_out. */
  function networks(model, name, x) {
    const own = model.ensembles[name];
    const weights = (own.numbers ??= numbers(own.weights));
    const outputs = [];
    let at = 0; // of kernel (n_in, n_out) by rows, then bias, layer by layer, network by network
    while (at < weights.length) {
      let values = x.map((each, i) => (each - own.in_centre[i]) / own.in_half[i]);
      for (let layer = 1; layer < model.widths.length; layer++) {
        const n = model.widths[layer];
        const bias = at + values.length * n;
        const next = new Array(n);
        for (let j = 0; j < n; j++) {
          next[j] = weights[bias + j];
          values.forEach((value, i) => (next[j] += value * weights[at + i * n + j]));
        }
        values = layer < model.widths.length - 1 ? next.map(silu) : next;
        at = bias + n;
      }
      outputs.push(values.map((value, j) => own.out_centre[j] + own.out_half[j] * value));
    }
    return outputs;
  }

  /** Mean and standard deviation over rows, and with the variance of the noise added. */
  function moments(rows, noise) {
    const mean = rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
    const variance = mean.map(
      (m, j) => rows.reduce((sum, row) => sum + (row[j] - m) ** 2, 0) / (rows.length - 1),
    );
    const std = variance.map(Math.sqrt);
    const total = variance.map((v, j) => Math.sqrt(v + noise[j]));
    return { mean, std, total };
  }

  /** What an ensemble predicts at inputs x: moments of the properties, and those of the curve. */
  function predict(model, name, x) {
    const rows = networks(model, name, x);
    const n = model.outputs.length;
    const { mean, vectors, rest } = model.curve;
    // σ(ε) = mean + Vᵀ z, with scores z
    const curves = rows.map((row) =>
      mean.map((m, j) => vectors.reduce((sum, v, q) => sum + row[n + q] * v[j], m)),
    );
    const noise = model.noise.map((each) => each ** 2);
    const scatter = rest.map((r, j) =>
      vectors.reduce((sum, v, q) => sum + noise[n + q] * v[j] ** 2, r),
    );
    const properties = moments(rows.map((row) => row.slice(0, n)), noise);
    return { properties, curve: moments(curves, scatter) };
  }

  /** Numbers of the inputs that lie outside the range of the training RVEs. */
  function outside(model, x) {
    const beyond = (value, [low, high]) => value < low || value > high;
    return model.inputs.flatMap((input, i) => (beyond(x[i], input.learnt) ? [i] : []));
  }

  /** The nearest simulated RVEs, by the distance in inputs over their ranges. */
  function nearest(model, x, count) {
    const width = model.inputs.map(({ range }) => range[1] - range[0]);
    const distance = (rve) => Math.hypot(...x.map((v, i) => (v - rve.inputs[i]) / width[i]));
    return [...model.rves].sort((a, b) => distance(a) - distance(b)).slice(0, count);
  }

  /** L of K = L Lᵀ, by rows. */
  function cholesky(K) {
    const L = K.map(() => []);
    for (let i = 0; i < K.length; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = K[i][j];
        for (let k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
        L[i][j] = i === j ? Math.sqrt(sum) : sum / L[j][j];
      }
    }
    return L;
  }

  /** v of L v = b */
  function solve(L, b) {
    const v = [];
    L.forEach((row, i) => {
      const sum = v.reduce((left, each, k) => left - row[k] * each, b[i]);
      v.push(sum / row[i]);
    });
    return v;
  }

  /**
   * The exact posterior of f ~ GP(slope x, variance exp(-(x - x')² / (2 L²))) with noise:
   * mean m(x) + k(x)ᵀ (K + σ² I)⁻¹ (y - m(X)) and variance k(x, x) - k(x)ᵀ (K + σ² I)⁻¹ k(x).
   */
  function posterior(points, at, { slope, variance, lengthscale, noise }) {
    const k = (a, b) => variance * Math.exp(-(((a - b) / lengthscale) ** 2) / 2);
    const K = points.map((p, i) =>
      points.map((q, j) => k(p.x, q.x) + (i === j ? noise ** 2 : 0)),
    );
    const L = cholesky(K);
    const r = solve(L, points.map(({ x, y }) => y - slope * x));
    const mean = [];
    const std = [];
    for (const x of at) {
      const v = solve(L, points.map((p) => k(x, p.x)));
      mean.push(v.reduce((sum, each, i) => sum + each * r[i], slope * x));
      std.push(Math.sqrt(Math.max(0, v.reduce((left, each) => left - each ** 2, variance))));
    }
    return { mean, std };
  }

  return { parse, predict, outside, nearest, posterior };
})();

if (typeof module !== "undefined") module.exports = surrogate; // for the tests, in node
