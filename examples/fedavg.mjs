// FedAvg at level server in JavaScript, as a program that speaks JSON lines.
// Judge it with: fedspec check 'cmd:node examples/fedavg.mjs'
import { createInterface } from "node:readline";

const info = {
  name: "fedavg.mjs",
  version: "1.0",
  claims: [
    {
      algorithm: "fedavg",
      level: "server",
      reading: "mcmahan-2017",
      options: { weights: "examples" },
      dtypes: ["float64"], // numbers here are doubles
      blocks: "any",
    },
  ],
};

// Arrays are nested lists: combine two of one shape, number by number.
const zip = (f, a, b) => (Array.isArray(a) ? a.map((v, i) => zip(f, v, b[i])) : f(a, b));

const sessions = new Map();

function average({ x, eta }, messages) {
  const total = messages.reduce((sum, m) => sum + m.weight, 0);
  for (const name of Object.keys(x)) {
    let mean = zip(() => 0, x[name], x[name]);
    for (const m of messages) mean = zip((a, d) => a + (m.weight / total) * d, mean, m.delta[name]);
    x[name] = zip((a, d) => a + eta * d, x[name], mean);
  }
  return { x };
}

function answer(request) {
  switch (request.cmd) {
    case "hello":
      return { info };
    case "start":
      sessions.set(request.session, { x: request.case.x0, eta: request.case.hyper.eta });
      return {};
    case "step":
      return { answer: average(sessions.get(request.session), request.event.messages) };
    case "stop":
      sessions.delete(request.session);
      return {};
  }
  throw new Error(`unknown command ${request.cmd}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  let reply;
  try {
    reply = { ok: true, ...answer(JSON.parse(line)) };
  } catch (error) {
    reply = { ok: false, error: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
