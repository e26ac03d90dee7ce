#!/usr/bin/env node
// A broker: `broker.js /etc/brokerlab/broker.json` serves until SIGTERM.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const { setTimeout: pause } = require('node:timers/promises');
const { promisify } = require('node:util');
const grpc = require('@grpc/grpc-js');
const { Log } = require('./log.js');
const { CLIENT, CONTROL, HEALTH } = require('./proto.js');
const { Sessions } = require('./session.js');

const CONTRACT = 1;
const EXIT = { stopped: 0, badInput: 2, defect: 5 };
const ROUTINGS = { foreign: ['./router.js', './link.js'], cbf: ['./wire/tree.js', './wire/link.js'] };

/** Reads the configuration; fields that it does not know are left alone. */
function load(file) {
  const config = { contract: CONTRACT, variant: 'base', listen: [], links: [], ...JSON.parse(fs.readFileSync(file, 'utf8')) };
  const asked = [config.service_time, ...config.links.flatMap((link) => [link.send_time, link.disturbance])];
  const reason = (config.contract > CONTRACT && `contract ${config.contract} is newer than ${CONTRACT}`)
    || (!ROUTINGS[config.protocol] && `protocol: this broker routes by foreign or cbf, not by ${config.protocol}`)
    || (Object.keys(config.options || {}).length && `options: this broker has none, and ${Object.keys(config.options)} is given`)
    || ((config.sample || asked.some((one) => one?.mean || one?.lose || one?.repeat || one?.hold))
      && 'sample, service_time, send_time and disturbance are not offered');
  if (reason) throw new Error(reason);
  return config;
}

/** Removes the socket of a predecessor that was killed; one that answers belongs to another broker. */
const clearSocket = (file) => new Promise((done, fail) => {
  net.connect(file, () => fail(new Error(`another broker listens at ${file}`))).on(
    'error', ({ code }) => done(code === 'ECONNREFUSED' && fs.unlinkSync(file)));
});

async function serve(config) {
  const [{ Router }, { Link }] = ROUTINGS[config.protocol].map(require);  // of others no file is loaded
  const log = new Log(config);
  const links = new Map();
  const router = new Router(config, links, log, (...notified) => sessions.deliver(...notified));
  const sessions = new Sessions(config, router, log);
  for (const settings of config.links) links.set(settings.neighbour, new Link(config, settings, log, router));
  const server = new grpc.Server({ 'grpc.max_receive_message_length': config.limits.message_bytes });
  server.addService(CLIENT, { Session: (call) => sessions.serve(call) });
  server.addService(HEALTH, { Check: (_call, answer) => answer(null, {}) });
  server.addService(CONTROL, {
    Status: ({ request }, answer) => {
      const ends = [...links.values()].map((link) => link.status());
      const dropped = [router, sessions.counts, ...ends].reduce((sum, part) => sum + part.dropped, 0);
      const tables = request.tables ? JSON.stringify(router.tables()) : '';
      answer(null, { broker: config.id, incarnation: config.incarnation, links: ends, clients: sessions.clients.size,
        ...sessions.counts, dropped, log_lost: log.lost, awaited_timers: router.awaited, tables });
    },
  });
  for (const address of config.listen) {
    if (address.startsWith('unix:')) await clearSocket(address.slice('unix:'.length));
    await promisify(server.bindAsync.bind(server))(address, grpc.ServerCredentials.createInsecure());
  }
  await Promise.all([...links.values()].map((link) => link.open()));

  async function stop() {
    sessions.stopping = true;
    const deadline = Date.now() + config.limits.stop_within * 1000;
    while ([...links.values(), ...sessions.open].some(({ drained }) => !drained) && Date.now() < deadline) await pause(5);
    log.close();
    process.exit(EXIT.stopped);
  }
  process.once('SIGTERM', stop).once('SIGINT', stop);
  process.on('uncaughtException', (error) => {
    console.error(`${error.stack}\nbroker defect: ${config.id}: ${error.message}`);
    process.exit(EXIT.defect);
  });
}

(async () => serve(load(process.argv[2])))().catch((error) => {
  console.error(`broker cannot start: ${error.message}`);
  process.exit(EXIT.badInput);
});
