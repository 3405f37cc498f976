// docs/reference/resources.md tells every condition and reason that the operator gives, and no other.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mediaClusterConditions, roomConditions } from '../../crds/condition-reasons.ts';
import { sourceFiles } from './source-files.ts';

/** What the operator says about MediaClusters to the Room controller. */
const ofRooms = ['ClusterNotFound', 'ClusterNotNamed'];

function textOf(folder: string): string {
  return sourceFiles([folder])
    .map(({ text }) => text)
    .join('\n');
}

/** Words in quotes behind `reason:`, `problem(` or `refuse(`, also behind a condition on the same line. */
function reasonsIn(text: string): string[] {
  const places = text.matchAll(/(?:\breason: |#?[pP]roblem\(\s*|\brefuse\()([^{}\n]*)/g);
  const words = [...places].flatMap(([, rest = '']) => [
    ...rest
      .split(/, ?`|message:/, 1)
      .join()
      .matchAll(/'([A-Z][A-Za-z]+)'/g),
  ]);
  return [...new Set(words.map(([, word = '']) => word))];
}

/** Why pods are drained: in annotations and Events, not in conditions. */
const drains = ['HostDrained', 'ScaleDown', 'Rollout'];
const rooms = textOf('operator/rooms');
const clusters = textOf('operator/clusters');

describe('The reasons of conditions', () => {
  const missing = (words: readonly string[], known: object) => words.filter((word) => !Object.hasOwn(known, word));
  const gone = (known: object, text: string) => Object.keys(known).filter((word) => !text.includes(`'${word}'`));
  const help = 'crds/condition-reasons.ts tells them; then npm run crds';

  it('of Rooms are all told, and those that are told exist', () => {
    assert.deepEqual(missing([...reasonsIn(rooms), ...ofRooms], roomConditions.reasons), [], help);
    assert.deepEqual(gone(roomConditions.reasons, `${rooms}\n${clusters}`), [], help);
  });

  it('of MediaClusters are all told, and those that are told exist', () => {
    const found = reasonsIn(clusters).filter((word) => ![...ofRooms, ...drains, 'Invalid'].includes(word));
    assert.deepEqual(missing(found, mediaClusterConditions.reasons), [], help);
    assert.deepEqual(gone(mediaClusterConditions.reasons, clusters), [], help);
  });

  it('are found in the source by this test', () => {
    assert.ok(reasonsIn(rooms).length > 20 && reasonsIn(clusters).length > 30);
    const text = ["{ reason: a ? 'One' : 'Two', message: 'Three' }", "refuse(x, 'Four', `It is 'Five'`)", "#problem('Six'"];
    assert.deepEqual(reasonsIn(text.join('\n')), ['One', 'Two', 'Four', 'Six']);
  });

  it('come with conditions that are all told', () => {
    const typesOf = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, word = '']) => word));
    const ofClusters = typesOf(clusters, /\btype: '([A-Z][A-Za-z]+)', (?:status|\.\.\.config)/g);
    assert.deepEqual(ofClusters, new Set(Object.keys(mediaClusterConditions.conditions)));
    const types = typesOf(rooms, /^\s+([A-Z][a-z]+): (?:accepted|conditionValue)\(/gm);
    assert.deepEqual(types, new Set(Object.keys(roomConditions.conditions)));
  });
});
