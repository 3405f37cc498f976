// Validation messages: they name the field, the expected value and the received value.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { validationMessage } from '../../../api/derive/validation-messages.ts';

const schema = z.strictObject({
  name: z.string().min(2).max(3),
  size: z.int().min(1).max(5),
  list: z.array(z.boolean()).max(1),
  own: z.string().refine((text) => text === 'x', 'to be an x'),
  rule: z.string().refine((text) => text === 'x', 'may only be an x'),
  one: z.union([z.literal('a'), z.null()]),
});
const good = { name: 'ab', size: 1, list: [], own: 'x', rule: 'x', one: null };
const messageOf = (input: unknown) => {
  const { error } = schema.safeParse(input);
  assert.ok(error);
  return validationMessage(error, input, 'data');
};

for (const [change, expected] of [
  [{ name: 1 }, 'Expected name to be a string, got: 1'],
  [{ name: null }, 'Expected name to be a string, got: null'],
  [{ name: undefined }, 'Required field name is missing'],
  [{ name: 'a' }, 'Expected name to have at least 2 characters, got: "a"'],
  [{ size: 1.5 }, 'Expected size to be an integer, got: 1.5'],
  [{ size: 9 }, 'Expected size to be at most 5, got: 9'],
  [{ list: {} }, 'Expected list to be a list, got: {}'],
  [{ list: [1] }, 'Expected list[0] to be true or false, got: 1'],
  [{ list: [true, true] }, 'Expected list to have at most 1 item, got: [true,true]'],
  [{ own: 'y' }, 'Expected own to be an x, got: "y"'],
  [{ rule: 'y' }, 'rule may only be an x, got: "y"'],
  [{ one: 'b' }, 'Expected one to be valid, got: "b"'],
  [{ more: 1 }, 'Unknown field more'],
] as const) {
  test(`${JSON.stringify(change)} is reported as: ${expected}`, () => {
    assert.equal(messageOf({ ...good, ...change }), expected);
  });
}

test('a non-object input is reported as such', () => {
  assert.equal(messageOf(5), 'Expected data to be an object, got: 5');
});

test('values of secret fields are hidden at any depth', () => {
  const schema = z.object({ token: z.string().optional(), s3: z.object({ secretAccessKey: z.string().max(3) }).optional() });
  for (const input of [{ token: ['hush'] }, { s3: { secretAccessKey: 'hush' } }]) {
    const { error } = schema.safeParse(input);
    assert.match(error ? validationMessage(error, input, 'data') : '', /got: a value that is not shown here$/);
  }
});
