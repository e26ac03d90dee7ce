// The content model: publications are attributes with values, subscriptions and advertisements are predicates.
//
// Integers are BigInt and decimals Number, which JavaScript compares with each other exactly. Strings are compared by
// code point, which is the order of their UTF-8 bytes and not JavaScript's own order.
'use strict';
const { named } = require('./proto.js');

const MOST = { attributes: 256, predicates: 256, advertised: 1024, name: 256, text: 4096, digits: 1000 };

class Rejected extends Error {}
function demand(condition, message) { if (!condition) throw new Rejected(message); }
const characters = (text) => [...text].length;
const order = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const BOTH = { eq: (a, b) => a == b, neq: (a, b) => a != b, isPresent: () => true };  // not ===, because 1n == 1
const NUMBERS = {
  ...BOTH, '=': BOTH.eq, '<>': BOTH.neq,
  '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};
const STRINGS = {
  ...BOTH, 'str-contains': (a, b) => a.includes(b), 'str-prefix': (a, b) => a.startsWith(b), 'str-postfix': (a, b) => a.endsWith(b),
  'str-lt': (a, b) => order(a, b) < 0, 'str-le': (a, b) => order(a, b) <= 0,
  'str-gt': (a, b) => order(a, b) > 0, 'str-ge': (a, b) => order(a, b) >= 0,
};

function decoded(type, body) {
  try { return named(type).deserialize(body); } catch (error) { throw new Rejected(`the body is no ${type}: ${error.message}`); }
}

function valueOf(name, value) {
  demand(name !== '' && characters(name) <= MOST.name, `an attribute's name has 1 to ${MOST.name} characters`);
  demand(value?.kind, `attribute ${name} has no value`);
  const held = value[value.kind];
  if (value.kind === 'text') return held;
  if (value.kind === 'decimal') demand(Number.isFinite(held), `attribute ${name} is no finite number`);
  else demand(/^-?\d+$/.test(held) && held.replace('-', '').length <= MOST.digits, `attribute ${name} is no integer`);
  return value.kind === 'decimal' ? held : BigInt(held);
}

function predicates(body, most = MOST.predicates) {
  const list = decoded('Predicates', body).predicates;
  demand(list.length <= most, `a conjunction has at most ${most} predicates`);
  return list.map(({ attribute, operator, value }) => {
    const wanted = valueOf(attribute, value);
    const text = typeof wanted === 'string';
    const tests = text ? STRINGS : NUMBERS;
    demand(Object.hasOwn(tests, operator), `${operator} does not go with ${text ? 'strings' : 'numbers'}`);
    demand(!text || characters(wanted) <= MOST.text, `a predicate's string has at most ${MOST.text} characters`);
    return { attribute, holds: (found) => (typeof found === 'string') === text && tests[operator](found, wanted) };
  });
}

/** The attributes of a publication. */
exports.publication = (body) => {
  const { attributes } = decoded('Content', body);
  const content = new Map(attributes.map(({ name, value }) => [name, valueOf(name, value)]));
  demand(content.size === attributes.length && content.size <= MOST.attributes, `one attribute twice, or over ${MOST.attributes}`);
  demand(typeof content.get('class') === 'string', 'a publication has the attribute class, a string');
  return content;
};

exports.advertisement = (body) => {
  const advertised = predicates(body, MOST.advertised);
  const on = (name) => advertised.filter(({ attribute }) => attribute === name);
  demand(on('class').length, 'an advertisement names the attribute class');
  demand(advertised.every(({ attribute }) => on(attribute).length <= MOST.predicates), 'too many predicates on one attribute');
  return { conforms: ([name, value]) => on(name).length && on(name).every(({ holds }) => holds(value)) };
};

/** Those of the subscriptions in a map that a publication matches. */
exports.matching = (subscriptions, content) => [...subscriptions.values()].filter(({ predicates: all }) => all.every(
  ({ attribute, holds }) => content.has(attribute) && holds(content.get(attribute))));

Object.assign(exports, { Rejected, demand, subscription: predicates });
