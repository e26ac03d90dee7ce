// The content model: publications are attributes with values, subscriptions and advertisements are predicates.
//
// Integers are BigInt and decimals Number, which JavaScript compares with each other exactly. Strings are compared by
// code point, which is the order of their UTF-8 bytes and not JavaScript's own order.
'use strict';
const wire = require('./wire.js');

const MOST = { attributes: 256, predicates: 256, advertised: 1024, name: 256, text: 4096, digits: 1000 };

class ContentError extends Error {}

function require_(condition, message) { if (!condition) throw new ContentError(message); }
const characters = (text) => [...text].length;
const order = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const isPresent = () => true;
const equal = (a, b) => a == b;  // not ===, because 1n == 1
const NUMBERS = {
  '=': equal, '<>': (a, b) => !equal(a, b), eq: equal, neq: (a, b) => !equal(a, b), isPresent,
  '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};
const STRINGS = {
  eq: equal, neq: (a, b) => !equal(a, b), isPresent,
  'str-lt': (a, b) => order(a, b) < 0, 'str-le': (a, b) => order(a, b) <= 0,
  'str-gt': (a, b) => order(a, b) > 0, 'str-ge': (a, b) => order(a, b) >= 0, 'str-contains': (a, b) => a.includes(b),
  'str-prefix': (a, b) => a.startsWith(b), 'str-postfix': (a, b) => a.endsWith(b),
};

function decoded(decode, body) {
  try { return decode(body); } catch (error) { throw new ContentError(`the body cannot be decoded: ${error.message}`); }
}

function valueOf(name, value) {
  require_(name !== '' && characters(name) <= MOST.name, `an attribute's name has 1 to ${MOST.name} characters`);
  require_(value?.kind, `attribute ${name} has no value`);
  const held = value[value.kind];
  if (value.kind === 'text') return held;
  if (value.kind === 'integer') return BigInt(held);
  if (value.kind === 'decimal') require_(Number.isFinite(held), `attribute ${name} is no finite number`);
  else require_(/^-?\d+$/.test(held) && held.replace('-', '').length <= MOST.digits, `attribute ${name} is no integer`);
  return value.kind === 'decimal' ? held : BigInt(held);
}

/** The attributes of a publication. */
exports.publication = (body) => {
  const attributes = decoded(wire.Content, body);
  require_(attributes.length <= MOST.attributes, `a publication has at most ${MOST.attributes} attributes`);
  const content = new Map(attributes.map(({ name, value }) => [name, valueOf(name, value)]));
  require_(content.size === attributes.length, 'an attribute occurs more than once');
  require_(typeof content.get('class') === 'string', 'a publication has the attribute class, a string');
  return content;
};

function predicates(body, most) {
  const list = decoded(wire.Predicates, body);
  require_(list.length <= most, `a conjunction has at most ${most} predicates`);
  return list.map(({ attribute, operator, value }) => {
    const wanted = valueOf(attribute, value);
    const text = typeof wanted === 'string';
    const tests = text ? STRINGS : NUMBERS;
    require_(Object.hasOwn(tests, operator), `${operator} does not go with ${text ? 'strings' : 'numbers'}`);
    require_(!text || characters(wanted) <= MOST.text, `a predicate's string has at most ${MOST.text} characters`);
    return { attribute, holds: (found) => (typeof found === 'string') === text && tests[operator](found, wanted) };
  });
}

exports.subscription = (body) => predicates(body, MOST.predicates);

/** The predicates of an advertisement, by attribute. */
exports.advertisement = (body) => {
  const byAttribute = new Map();
  for (const predicate of predicates(body, MOST.advertised)) {
    byAttribute.set(predicate.attribute, [...(byAttribute.get(predicate.attribute) || []), predicate]);
  }
  require_(byAttribute.has('class'), 'an advertisement names the attribute class');
  require_([...byAttribute.values()].every(({ length }) => length <= MOST.predicates), 'too many predicates on one attribute');
  return byAttribute;
};

exports.matches = (subscribed, content) => subscribed.every(
  ({ attribute, holds }) => content.has(attribute) && holds(content.get(attribute)));

exports.conforms = (content, advertised) => [...content].every(
  ([name, value]) => advertised.has(name) && advertised.get(name).every(({ holds }) => holds(value)));

exports.ContentError = ContentError;
