// The log: one JSON object a line, in whole lines, at once, and once a second what was sent to each neighbour.
'use strict';
const fs = require('node:fs');

exports.now = () => process.hrtime.bigint();  // CLOCK_MONOTONIC, in nanoseconds

exports.Log = class {
  constructor({ id, variant, log, incarnation }) {
    Object.assign(this, { lost: 0, written: 0, sent: {}, begin: `,"node":${JSON.stringify(id)},"variant":"${variant}","event":` });
    if (!log) return;
    this.file = fs.openSync(log, 'a+');
    const [{ size }, last] = [fs.fstatSync(this.file), Buffer.alloc(1)];
    if (size && fs.readSync(this.file, last, 0, 1, size - 1) && last.toString() !== '\n') fs.writeSync(this.file, '\n');
    this.note('started', { count: incarnation });
    setInterval(() => this.gauge(), 1000).unref();
  }

  /** Times are BigInt, which JSON.stringify does not take. */
  note(event, fields, time = exports.now()) {
    if (!this.file) return;
    const { sent, bytes } = this.sent[fields.peer] ?? { sent: 0, bytes: 0 };
    if (event === 'sent') this.sent[fields.peer] = { sent: sent + 1, bytes: bytes + fields.bytes };
    const rest = Object.entries(fields).filter(([, value]) => value !== undefined).map(
      ([name, value]) => `,"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`);
    const line = Buffer.from(`{"time":${time}${this.begin}"${event}"${rest.join('')}}\n`);
    let written = 0;
    try { written = fs.writeSync(this.file, line); } catch { /* the disk is full */ }
    this[written === line.length ? 'written' : 'lost'] += 1;
    if (written && written < line.length) fs.ftruncateSync(this.file, fs.fstatSync(this.file).size - written);  // none stays torn
  }

  /** Writes the sums of the `sent` records of each neighbour. */
  gauge() { for (const [peer, sums] of Object.entries(this.sent)) this.note('queue', { peer, ...sums }); }

  close() { this.gauge(); this.note('stopped', { count: this.lost, records: this.written + 1 }); }
};
