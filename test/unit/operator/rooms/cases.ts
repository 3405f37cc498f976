// Table-driven tests of decisions about Rooms: each case is a separate test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action } from '../../../../operator/rooms/observed.ts';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';
import { conditionsOf, type Given, observed } from './observed.ts';

export type Case = [
  name: string,
  given: Given,
  expected: { action: Action['type']; phase?: string; ready?: string; accepted?: string; degraded?: string },
];

export function check(cases: readonly Case[]): void {
  for (const [name, given, { action, phase, ready, accepted, degraded }] of cases) {
    test(name, () => {
      const decision = reconcile(observed(given));
      assert.equal(decision.action.type, action);
      const conditions = conditionsOf(decision);
      if (phase !== undefined) assert.equal(decision.status.phase, phase);
      if (ready !== undefined) assert.equal(conditions.Ready, ready);
      if (accepted !== undefined) assert.equal(conditions.Accepted, accepted);
      if (degraded !== undefined) assert.equal(conditions.Degraded, degraded);
    });
  }
}

export const unknown = { kind: 'unknown', reason: 'NodeUnreachable', message: 'It could not be reached.' } as const;
