// FedNova (server and rounds), FedAdam (server) and SM3-II (client) in JavaScript, as a program that speaks JSON lines.
// Judge it with: fedspec check 'cmd:node examples/native.mjs'
import { createInterface } from "node:readline";

// A model is one flat list of numbers; `shapes` says how the judge's blocks lie in it, row-major, in the order of x0.
const shapeOf = (a) => (Array.isArray(a) ? [a.length, ...shapeOf(a[0])] : []);
const flat = (blocks, names) => names.flatMap((n) => [blocks[n]].flat(Infinity));
const zeros = (d) => new Array(d).fill(0);

// sum_i c_i v_i
function combined(coefficients, vectors) {
  const out = zeros(vectors[0].length);
  vectors.forEach((v, i) => v.forEach((x, j) => (out[j] += coefficients[i] * x)));
  return out;
}

// Shares of the participants: by their examples, or all alike.
function shares(examples, how) {
  const total = examples.reduce((sum, n) => sum + n, 0);
  return examples.map((n) => (how === "uniform" ? 1 / examples.length : n / total));
}

// x + tau_eff sum_i p_i Delta_i / ||a_i||_1 with tau_eff = sum_i p_i ||a_i||_1
function nova(x, deltas, p, norms) {
  const tauEff = norms.reduce((sum, a, i) => sum + p[i] * a, 0);
  const direction = combined(p.map((w, i) => w / norms[i]), deltas);
  return { x: x.map((v, j) => v + tauEff * direction[j]), tauEff };
}

class NovaServer {
  constructor({ options }, x) {
    Object.assign(this, { options, x });
  }
  step({ messages }) {
    const p = shares(messages.map((m) => m.weight), this.options.weights);
    const { x, tauEff } = nova(this.x, messages.map((m) => m.delta), p, messages.map((m) => m.a_norm));
    this.x = x;
    return { x, tau_eff: tauEff };
  }
}

class NovaRounds {
  constructor({ hyper, problem, options }, x) {
    Object.assign(this, { eta: hyper.eta_l, problem, options, x });
  }
  step({ participants, steps }) {
    const { H, e, examples } = this.problem;
    const deltas = participants.map((i, k) => {
      let y = this.x;
      for (let t = 0; t < steps[k]; t++) {
        const g = H[i].map((row, j) => row.reduce((sum, h, l) => sum + h * y[l], 0) - e[i][j]);
        y = y.map((v, j) => v - this.eta * g[j]);
      }
      return y.map((v, j) => v - this.x[j]);
    });
    const p = shares(participants.map((i) => examples[i]), this.options.weights);
    const { x, tauEff } = nova(this.x, deltas, p, steps); // plain SGD: ||a_i||_1 is the number of steps
    this.x = x;
    return { x, tau_eff: tauEff };
  }
}

class AdamServer {
  constructor({ hyper, options }, x) {
    Object.assign(this, { h: hyper, options, x, m: zeros(x.length), v: new Array(x.length).fill(hyper.v0) });
  }
  step({ messages }) {
    const { eta, beta1, beta2, tau } = this.h;
    const delta = combined(shares(messages.map((m) => m.weight), this.options.weights), messages.map((m) => m.delta));
    this.m = this.m.map((m, j) => beta1 * m + (1 - beta1) * delta[j]);
    this.v = this.v.map((v, j) => beta2 * v + (1 - beta2) * delta[j] * delta[j]);
    this.x = this.x.map((x, j) => x + (eta * this.m[j]) / (Math.sqrt(this.v[j]) + tau));
    return { x: this.x, delta, m: this.m, v: this.v };
  }
}

// For each coordinate the numbers of its sets: one set for each slice along each axis of each block.
function coverByAxes(shapes) {
  const sets = [];
  let first = 0;
  for (const shape of shapes) {
    const count = shape.reduce((a, b) => a * b, 1);
    for (let j = 0; j < count; j++) {
      const mine = [];
      let rest = j;
      let offset = first;
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        mine.push(offset + (rest % shape[axis]));
        rest = Math.floor(rest / shape[axis]);
        offset += shape[axis];
      }
      sets.push(mine.length ? mine : [first]);
    }
    first += shape.reduce((a, b) => a + b, 0) || 1;
  }
  return { sets, count: first };
}

class Sm3 {
  constructor({ hyper }, x, shapes) {
    Object.assign(this, { h: hyper, cover: coverByAxes(shapes) });
    this.begin(x);
  }
  begin(x) {
    Object.assign(this, { x, mu: zeros(this.cover.count) });
    return { x, nu: zeros(x.length) };
  }
  step({ type, x, g }) {
    if (type === "begin") return this.begin(x);
    const { sets, count } = this.cover;
    const nu = g.map((v, j) => Math.min(...sets[j].map((r) => this.mu[r])) + v * v);
    this.mu = zeros(count);
    nu.forEach((bound, j) => sets[j].forEach((r) => (this.mu[r] = Math.max(this.mu[r], bound))));
    this.x = this.x.map((v, j) => v - this.h.eta_l * (g[j] / (Math.sqrt(nu[j]) + this.h.eps)));
    return { x: this.x, nu };
  }
}

const kinds = {
  "fednova/server": NovaServer,
  "fednova/round": NovaRounds,
  "fedadam/server": AdamServer,
  "sm3-ii/client": Sm3,
};

const claim = (algorithm, level, reading, options, intermediates) => ({
  ...{ algorithm, level, reading, options, intermediates },
  dtypes: ["float64"], // numbers here are doubles
});
const claims = [
  claim("fednova", "server", "fednova", { weights: "examples" }, ["tau_eff"]),
  claim("fednova", "round", "fednova", { weights: "examples" }, ["tau_eff"]),
  claim("fedadam", "server", "reddi-2021", { weights: "uniform" }, ["delta", "m", "v"]),
  claim("fedadam", "server", "reddi-2021", { weights: "examples" }, ["delta", "m", "v"]),
  claim("sm3-ii", "client", "fedada2", { cover: "axes" }, ["nu"]),
];

const sessions = new Map();

function answer({ cmd, session, case: given, event }) {
  switch (cmd) {
    case "hello":
      return { info: { name: "native.mjs", version: "1.0", claims } };
    case "start": {
      const names = Object.keys(given.x0);
      const kind = kinds[`${given.algorithm}/${given.level}`];
      const state = new kind(given, flat(given.x0, names), names.map((n) => shapeOf(given.x0[n])));
      sessions.set(session, { names, state });
      return {};
    }
    case "step": {
      const { names, state } = sessions.get(session);
      const told = { ...event };
      for (const what of ["x", "g"]) if (told[what]) told[what] = flat(told[what], names);
      if (told.messages) told.messages = told.messages.map((m) => ({ ...m, delta: flat(m.delta, names) }));
      return { answer: state.step(told) };
    }
    case "stop":
      sessions.delete(session);
      return {};
  }
  throw new Error(`unknown command ${cmd}`);
}

// JSON has no word for what is not finite; JSON.stringify would say null.
const words = (key, v) =>
  typeof v !== "number" || Number.isFinite(v) ? v : Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf";

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  let reply;
  try {
    reply = { ok: true, ...answer(JSON.parse(line)) };
  } catch (error) {
    reply = { ok: false, error: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(reply, words) + "\n");
}
