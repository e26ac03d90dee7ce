// The pipe to the broker: calls of handlers by name, asks and tells in between. No package is needed.
'use strict';
const fs = require('fs');

let rest = Buffer.alloc(0);

function readLine() {
  const chunk = Buffer.alloc(1 << 16);
  for (;;) {
    const end = rest.indexOf(10);
    if (end >= 0) {
      const line = rest.toString('utf8', 0, end);
      rest = rest.subarray(end + 1);
      return JSON.parse(line);
    }
    const count = fs.readSync(0, chunk);
    if (count === 0) process.exit(0);  // the broker has ended
    rest = Buffer.concat([rest, chunk.subarray(0, count)]);
  }
}

function writeLine(said) {
  const line = Buffer.from(JSON.stringify(said) + '\n');
  for (let written = 0; written < line.length;) written += fs.writeSync(1, line, written);
}

const tools = {
  ask(question) {
    writeLine({ ask: question });
    return readLine();
  },
  tell(statement) {
    writeLine({ tell: statement });
  },
};

// Handlers have the names of calls; each gets the call and `tools`, and returns a list of actions, or nothing. An object
// is an answer of another kind: { malformed: 'reason' }.
exports.serve = (handlers) => {
  for (;;) {
    const call = readLine();
    const answer = handlers[call.call](call, tools);
    if (call.call === 'declare') writeLine({ declaration: { contract: 1, ...answer } });
    else if (answer === undefined || Array.isArray(answer)) writeLine({ actions: answer || [] });
    else writeLine(answer);
  }
};
