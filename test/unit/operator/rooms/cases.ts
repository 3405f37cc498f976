// Table-driven tests of decisions about Rooms: each case is a separate test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';
import { conditionsOf, type Given, observed } from './observed.ts';

/** `expected`: the action, the phase if it matters, and conditions as `Type=Status/Reason`. */
export type Case = [name: string, given: Given, expected: string];

export function check(cases: readonly Case[]): void {
  for (const [name, given, expected] of cases) {
    test(name, () => {
      const decision = reconcile(observed(given));
      const conditions = Object.entries(conditionsOf(decision)).map(([type, value]) => `${type}=${value.replace(' ', '/')}`);
      const found = new Set([decision.action.type, decision.status.phase, ...conditions]);
      const [action, ...others] = expected.split(' ');
      assert.equal(decision.action.type, action);
      for (const each of others) assert.ok(found.has(each), `${each} is not in ${[...found].join(' ')}`);
    });
  }
}

export const unknown = { kind: 'unknown', reason: 'NodeUnreachable', message: 'It could not be reached.' } as const;
