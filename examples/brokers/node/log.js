// The log: one JSON object a line, in whole lines, at the latest 100 ms after what it records.
'use strict';
const fs = require('node:fs');

const FLUSH_AFTER = 50;  // ms

exports.now = () => process.hrtime.bigint();  // CLOCK_MONOTONIC, in nanoseconds

exports.Log = class {
  constructor({ id, variant, log, incarnation }) {
    Object.assign(this, { lost: 0, written: 0, lines: [], begin: `,"node":${JSON.stringify(id)},"variant":"${variant}","event":` });
    if (!log) return;
    this.file = fs.openSync(log, 'a+');
    const { size } = fs.fstatSync(this.file);
    const last = Buffer.alloc(1);
    if (size && fs.readSync(this.file, last, 0, 1, size - 1) && last.toString() !== '\n') fs.writeSync(this.file, '\n');
    this.timer = setInterval(() => this.flush(), FLUSH_AFTER);
    this.note('started', { count: incarnation });
  }

  /** Times are BigInt, which JSON.stringify does not take. */
  note(event, fields, time = exports.now()) {
    if (!this.file) return;
    const rest = Object.entries(fields).filter(([, value]) => value !== undefined).map(
      ([name, value]) => `,"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`);
    this.lines.push(`{"time":${time}${this.begin}"${event}"${rest.join('')}}\n`);
  }

  flush() {
    const lines = this.lines.splice(0);
    if (!lines.length) return;
    const { size } = fs.fstatSync(this.file);
    const data = Buffer.from(lines.join(''));
    let written = 0;
    try {
      while (written < data.length) written += fs.writeSync(this.file, data, written);
      this.written += lines.length;
    } catch {  // the disk is full: these records are lost, and none stays torn
      this.lost += lines.length;
      if (written) fs.ftruncateSync(this.file, size);
    }
  }

  close() {
    clearInterval(this.timer);
    this.flush();
    this.note('stopped', { count: this.lost, records: this.written + 1 });
    this.flush();
  }
};
