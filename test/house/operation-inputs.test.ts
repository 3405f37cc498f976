// Inputs of operations: a schema that another node validates again must leave its own output unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { nodeRpcs } from '../../api/operations/node-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import { roomFields } from '../../api/room.ts';

/** Idempotent: 0 becomes null, and null stays null. */
const idempotent = ['createRoom.peerlessPurgeTimeout', 'updateRoom.peerlessPurgeTimeout', 'createLocalRoom.options.peerlessPurgeTimeout'];

/** Paths of the transforms in a schema, for example `body.maxPeers`. */
function transformsIn(schema: z.core.$ZodType, path: string, seen = new Set<unknown>()): string[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { def } = schema._zod as unknown as { def: { type: string; shape?: object; getter?: () => unknown } };
  if (def.type === 'transform') return [path];
  const children = [...Object.values(def), def.getter?.()].flat().filter((each) => each instanceof z.core.$ZodType);
  return [
    ...children.flatMap((child) => transformsIn(child, path, seen)),
    ...Object.entries(def.shape ?? {}).flatMap(([name, field]) => transformsIn(field, `${path}.${name}`, seen)),
  ];
}

test('no input that nodes pass on has a transform, so that no node changes its unit or shape a second time', () => {
  const inputs = Object.values(operations).flatMap(({ id, runs, input }) => {
    const { params, body, query } = (input as unknown as z.ZodObject<Record<'params' | 'body' | 'query', z.ZodType>>).shape;
    // A query of an operation that runs here is text for this node only.
    return [...transformsIn(params, id), ...transformsIn(body, id), ...(runs === 'here' ? [] : transformsIn(query, id))];
  });
  const rpcs = Object.values(nodeRpcs).flatMap(({ id, input }) => transformsIn(input, id));
  assert.deepEqual([...inputs, ...rpcs], idempotent);
});

test('a room timeout of 0 is the same after a second validation', () => {
  const { schema } = roomFields.peerlessPurgeTimeout;
  assert.deepEqual(
    [0, null, 5].map((given) => schema.parse(schema.parse(given))),
    [null, null, 5],
  );
});

test('the walk finds transforms in nested schemas', () => {
  const seconds = z.number().transform((value) => value * 1000);
  assert.deepEqual(transformsIn(z.object({ a: z.array(z.object({ b: seconds.optional() })) }), 'x'), ['x.a.b']);
  assert.deepEqual(transformsIn(z.union([z.string(), z.record(z.string(), seconds)]), 'x'), ['x']);
});
