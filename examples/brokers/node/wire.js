// What proto/ defines: the services, and decoders of the contents that messages carry as bytes.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const PROTO = ['proto', '../../../proto'].map((place) => path.join(__dirname, place)).find(fs.existsSync);
const options = { includeDirs: [PROTO], keepCase: true, defaults: true, oneofs: true, longs: String, enums: Number };
const defined = loader.loadSync(['broker.proto', 'content.proto'], options);
const named = (name) => defined[`brokerlab.v1.${name}`];

/** A frame that cannot be decoded becomes `{malformed}`, because the session answers it. */
function decode(bytes) {
  try { return named('ClientFrame').deserialize(bytes); } catch (error) { return { malformed: error.message }; }
}
const { Session } = named('BrokerClient');
const same = (bytes) => bytes;
const raw = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };

exports.CLIENT = { Session: { ...Session, requestDeserialize: decode } };
exports.CONTROL = named('BrokerControl');
exports.HEALTH = { Check: { ...raw, path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false } };
exports.SERVING = Buffer.from([0x08, 0x01]);
exports.LINK = named('BrokerLink');
exports.Neighbour = grpc.makeGenericClientConstructor(exports.LINK, 'BrokerLink');
exports.Content = (body) => named('Content').deserialize(body).attributes;
exports.Predicates = (body) => named('Predicates').deserialize(body).predicates;
exports.bind = (server, address) => new Promise((done, fail) => {
  server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => (error ? fail(error) : done()));
});
