// Condition reasons: docs/reference/resources.md lists every condition and reason that the operator sets, and no other.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mediaClusterConditions, roomConditions } from '../../crds/condition-reasons.ts';
import { convergenceTypes } from '../../operator/kube/conditions.ts';
import { sourceFiles } from './source-files.ts';

/** Results of the cluster lookup for the Room controller. */
const ofRooms = ['ClusterNotFound', 'ClusterNotNamed'];

function textOf(folder: string): string {
  return sourceFiles([folder])
    .map(({ text }) => text)
    .join('\n');
}

/** Quoted words after `reason:`, `problem(` or `refuse(`, also after a condition on the same line. */
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

/** Reasons of a drain: in annotations and Events, not in conditions. */
const drains = ['HostDrained', 'ScaleDown', 'Rollout'];
const rooms = textOf('operator/rooms');
const clusters = textOf('operator/clusters');

describe('condition reasons', () => {
  const missing = (words: readonly string[], known: object) => words.filter((word) => !Object.hasOwn(known, word));
  const unused = (known: object, text: string) => Object.keys(known).filter((word) => !text.includes(`'${word}'`));
  const help = 'edit crds/condition-reasons.ts, then npm run crds';

  it('of Rooms are all documented, and the documented ones exist', () => {
    assert.deepEqual(missing([...reasonsIn(rooms), ...ofRooms], roomConditions.reasons), [], help);
    assert.deepEqual(unused(roomConditions.reasons, `${rooms}\n${clusters}`), [], help);
  });

  it('of MediaClusters are all documented, and the documented ones exist', () => {
    const found = reasonsIn(clusters).filter((word) => ![...ofRooms, ...drains, 'Invalid'].includes(word));
    assert.deepEqual(missing(found, mediaClusterConditions.reasons), [], help);
    assert.deepEqual(unused(mediaClusterConditions.reasons, clusters), [], help);
  });

  it('are found in the source by this test', () => {
    assert.ok(reasonsIn(rooms).length > 20 && reasonsIn(clusters).length > 30);
    const text = ["{ reason: a ? 'One' : 'Two', message: 'Three' }", "refuse(x, 'Four', `It is 'Five'`)", "#problem('Six'"];
    assert.deepEqual(reasonsIn(text.join('\n')), ['One', 'Two', 'Four', 'Six']);
  });

  it('of Stalled are documented', () => {
    for (const { stalled, reasons } of [roomConditions, mediaClusterConditions]) assert.deepEqual(missing(stalled, reasons), [], help);
  });

  it('belong to documented conditions', () => {
    const typesOf = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, word = '']) => word));
    const ofClusters = typesOf(clusters, /\btype: '([A-Z][A-Za-z]+)', (?:status|\.\.\.config)/g);
    assert.deepEqual(new Set([...ofClusters, ...convergenceTypes]), new Set(Object.keys(mediaClusterConditions.conditions)));
    const types = typesOf(rooms, /^\s+([A-Z][a-z]+): (?:accepted|conditionValue|missing|problem)\b/gm);
    assert.deepEqual(new Set([...types, ...convergenceTypes]), new Set(Object.keys(roomConditions.conditions)));
  });
});
