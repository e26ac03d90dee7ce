// The pipe to the broker: calls of handlers by name, asks and tells in between. No package is needed.
'use strict';
const fs = require('fs');

const chunk = Buffer.alloc(1 << 16);

// A line comes alone, because the broker waits for what is said to it.
function readLine() {
  const parts = [];
  for (;;) {
    const count = fs.readSync(0, chunk, 0, chunk.length, null);
    if (count === 0) process.exit(0);  // the broker has ended
    const ends = chunk[count - 1] === 10;
    if (ends && parts.length === 0) return JSON.parse(chunk.toString('utf8', 0, count));
    parts.push(Buffer.from(chunk.subarray(0, count)));
    if (ends) return JSON.parse(Buffer.concat(parts).toString());
  }
}

function writeLine(said) {
  const line = Buffer.from(JSON.stringify(said) + '\n');
  for (let written = 0; written < line.length;) written += fs.writeSync(1, line, written);
}

exports.ask = (question) => {
  writeLine({ ask: question });
  return readLine();
};

exports.tell = (statement) => writeLine({ tell: statement });

// `makeRouter` makes the router of one broker: an object with handlers that have the names of calls. Each gets the call,
// and returns a list of actions, or nothing. An object is an answer of another kind: { malformed: 'reason' }.
//
// One process serves all simulated brokers (`multiplexed`), so that the code is compiled once.
exports.serve = (declaration, makeRouter) => {
  const routers = new Map();
  for (;;) {
    const call = readLine();
    if (call.call === 'declare') {
      writeLine({ declaration: { contract: 1, multiplexed: true, ...declaration } });
      continue;
    }
    if (call.call === 'init') routers.set(call.broker, makeRouter(call));
    const handle = routers.get(call.broker)[call.call];
    const answer = handle === undefined ? [] : handle(call) || [];
    writeLine(Array.isArray(answer) ? { actions: answer } : answer);
  }
};
