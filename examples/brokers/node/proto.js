// What proto/ defines: the services, and decoders of the contents that messages carry as bytes.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const loader = require('@grpc/proto-loader');

const PROTO = ['proto', '../../../proto'].map((place) => path.join(__dirname, place)).find(fs.existsSync);
const options = { includeDirs: [PROTO], keepCase: true, defaults: true, oneofs: true, longs: String, enums: Number };
const defined = loader.loadSync(['broker.proto', 'content.proto'], options);
exports.named = (name) => defined[`brokerlab.v1.${name}`];

/** A frame that cannot be decoded becomes `{malformed}`, because the session answers it. */
function decode(bytes) {
  try { return exports.named('ClientFrame').deserialize(bytes); } catch (error) { return { malformed: error.message }; }
}
exports.CLIENT = { Session: { ...exports.named('BrokerClient').Session, requestDeserialize: decode } };
exports.CONTROL = exports.named('BrokerControl');
exports.HEALTH = { Check: { path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false,
  requestDeserialize: () => ({}), responseSerialize: () => Buffer.from([0x08, 0x01]) } };  // SERVING
