#!/usr/bin/env node
// A broker: `broker.js /etc/brokerlab/broker.json` serves until SIGTERM.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const grpc = require('@grpc/grpc-js');
const { Link } = require('./link.js');
const { Log } = require('./log.js');
const { Router } = require('./router.js');
const { Sessions } = require('./session.js');
const { Tree } = require('./tree.js');
const { CLIENT, CONTROL, HEALTH, SERVING, bind } = require('./wire.js');

const CONTRACT = 1;
const STOPPED = 0;
const BAD_INPUT = 2;
const DEFECT = 5;
const ROUTINGS = { foreign: Router, cbf: Tree };

/** Reads the configuration; fields that it does not know are left alone. */
function load(file) {
  const config = { contract: CONTRACT, variant: 'base', listen: [], links: [], ...JSON.parse(fs.readFileSync(file, 'utf8')) };
  if (!config.id || !config.incarnation) throw new Error('id and incarnation are needed');
  if (config.contract > CONTRACT) throw new Error(`contract ${config.contract} is newer than ${CONTRACT}`);
  if (!ROUTINGS[config.protocol]) throw new Error(`protocol: this broker routes by foreign or cbf, not by ${config.protocol}`);
  const [option] = Object.keys(config.options || {});
  if (option) throw new Error(`options.${option}: this broker has no options`);
  const asked = [config.service_time, ...config.links.flatMap((link) => [link.send_time, link.disturbance])];
  if (config.sample || asked.some((one) => one?.mean || one?.lose || one?.repeat || one?.hold)) {
    throw new Error('sample, service_time, send_time and disturbance are not offered');
  }
  const limits = { window: 128, link_queue: 100000, session_queue: 20000, sessions: 1000, heartbeat: 1, reconnect_first: 0.05,
    reconnect_last: 1, message_bytes: 1 << 20, stop_within: 2, ...config.limits };
  return { ...config, limits };
}

/** Removes the socket of a predecessor that was killed; one that answers belongs to another broker. */
const clearSocket = (file) => new Promise((done, fail) => {
  net.connect(file, () => fail(new Error(`another broker listens at ${file}`))).on('error', ({ code }) => {
    if (code === 'ECONNREFUSED') fs.unlinkSync(file);
    done();
  });
});

async function serve(config) {
  const log = new Log(config);
  const links = new Map();
  const router = new ROUTINGS[config.protocol](config, links, log, (clients, message) => sessions.deliver(clients, message));
  const sessions = new Sessions(config, router, log);
  for (const settings of config.links) links.set(settings.neighbour, new Link(config, settings, log, router));
  const server = new grpc.Server({ 'grpc.max_receive_message_length': config.limits.message_bytes });
  server.addService(CLIENT, { Session: (call) => sessions.serve(call) });
  server.addService(HEALTH, { Check: (_call, answer) => answer(null, SERVING) });
  server.addService(CONTROL, {
    Status: ({ request }, answer) => {
      const ends = [...links.values()].map((link) => link.status());
      const { published, delivered, rejected, malformed, clients } = sessions;
      const dropped = [router, sessions, ...ends].reduce((sum, part) => sum + part.dropped, 0);
      const tables = request.tables ? JSON.stringify(router.tables()) : '';
      answer(null, { broker: config.id, incarnation: config.incarnation, links: ends, clients: clients.size, published, delivered,
        rejected, dropped, malformed, log_lost: log.lost, awaited_timers: router.awaited, tables });
    },
  });
  for (const address of config.listen) {
    if (address.startsWith('unix:')) await clearSocket(address.slice('unix:'.length));
    await bind(server, address);
  }
  await Promise.all([...links.values()].map((link) => link.open()));

  async function stop() {
    sessions.stopping = true;
    const deadline = Date.now() + config.limits.stop_within * 1000;
    const waiting = () => [...links.values(), ...sessions.open].some(({ drained }) => !drained);
    while (waiting() && Date.now() < deadline) await new Promise((done) => { setTimeout(done, 5); });
    for (const link of links.values()) link.close();
    log.close();
    process.exit(STOPPED);
  }
  process.once('SIGTERM', stop).once('SIGINT', stop);
  process.on('uncaughtException', (error) => {
    log.flush();
    console.error(`${error.stack}\nbroker defect: ${config.id}: ${error.message}`);
    process.exit(DEFECT);
  });
}

(async () => serve(load(process.argv[2])))().catch((error) => {
  console.error(`broker cannot start: ${error.message}`);
  process.exit(BAD_INPUT);
});
