// Conditions: one per type, with transition times.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Condition, setCondition, setConvergence } from '../../../../operator/kube/conditions.ts';
import { fieldsOf } from '../../../kit/fields.ts';

const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: 'The room is there.', observedGeneration: 1 } as const;
const first = new Date('2026-01-01T10:00:00.123Z');
const later = new Date('2026-01-01T11:00:00Z');

describe('setCondition()', () => {
  it('records when a status changed, in whole seconds', () => {
    assert.deepEqual(setCondition([], ready, first), [{ ...ready, lastTransitionTime: '2026-01-01T10:00:00Z' }]);
  });

  it('keeps the transition time if only reason, message or generation change', () => {
    const list = setCondition([], ready, first);
    const [next] = setCondition(list, { ...ready, reason: 'Other', message: 'Still.', observedGeneration: 2 }, later);
    assert.deepEqual(next, {
      ...ready,
      reason: 'Other',
      message: 'Still.',
      observedGeneration: 2,
      lastTransitionTime: '2026-01-01T10:00:00Z',
    });
  });

  it('updates the transition time when the status changes', () => {
    const list = setCondition(setCondition([], ready, first), { ...ready, status: 'Unknown' }, later);
    assert.equal(list[0]?.lastTransitionTime, '2026-01-01T11:00:00Z');
  });

  it('keeps one condition of each type in a stable order', () => {
    const types = ['Ready', 'Accepted', 'Placed', 'Ready'];
    const list = types.reduce<Condition[]>((before, type) => setCondition(before, { ...ready, type }, first), []);
    assert.deepEqual(fieldsOf(list, 'type'), ['Accepted', 'Placed', 'Ready']);
  });

  it('does not mutate its input', () => {
    const list = Object.freeze(setCondition([], ready, first).map((condition) => Object.freeze(condition)));
    setCondition(list, { ...ready, status: 'False' }, later);
    assert.equal(list[0]?.status, 'True');
  });

  it('truncates a message at the limit of the API, between two characters', () => {
    const [condition] = setCondition([], { ...ready, message: `x${'😀'.repeat(20_000)}` }, first);
    assert.equal(condition?.message.length, 32_767);
    assert.ok(condition?.message.isWellFormed());
  });
});

describe('setConvergence()', () => {
  const reconciling = { type: 'Reconciling', reason: 'Starting', message: 'It starts.' } as const;
  const stalled = { type: 'Stalled', reason: 'Refused', message: 'It was refused.' } as const;
  const list = setConvergence(setCondition([], ready, first), reconciling, 1, first);

  it('adds the condition that holds', () => {
    assert.deepEqual(fieldsOf(list, 'type'), ['Ready', 'Reconciling']);
    const { type, status, lastTransitionTime } = list[1] ?? {};
    assert.deepEqual([type, status, lastTransitionTime], ['Reconciling', 'True', '2026-01-01T10:00:00Z']);
  });

  it('keeps the transition time while it holds', () => {
    assert.equal(setConvergence(list, { ...reconciling, reason: 'Draining' }, 2, later)[1]?.lastTransitionTime, '2026-01-01T10:00:00Z');
  });

  it('removes what no longer holds', () => {
    assert.deepEqual(fieldsOf(setConvergence(list, stalled, 1, later), 'type'), ['Ready', 'Stalled']);
    assert.deepEqual(fieldsOf(setConvergence(list, undefined, 1, later), 'type'), ['Ready']);
  });
});
