// What components of a node may take of its machine, together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission, type CpuBudget } from '../../../../node/components/process/admission.ts';

const idle: CpuBudget = { budget: 1.5, cores: 2, busy: 0 };
const of = (machine: Partial<CpuBudget> = {}) => new Admission(() => ({ ...idle, ...machine }));

test('more is taken until the budget is used up, and again when a share was given back', () => {
  const admission = of();
  const releaseBudget = admission.take(0.95);
  admission.take(0.03);
  assert.doesNotThrow(() => admission.requireBudget('one more stream', 0.52));
  const refused = {
    code: 'unavailable',
    retryAfter: 10,
    message: 'This node cannot carry one more stream: components may use 1.5 cores, 0.98 are in use and 0.53 would be needed',
  };
  assert.throws(() => admission.requireBudget('one more stream', 0.53), refused);
  releaseBudget();
  releaseBudget();
  assert.doesNotThrow(() => admission.requireBudget('one more stream', 1.47));
  assert.throws(() => admission.requireBudget('one more stream', 1.48), { code: 'unavailable' });
});

test('a budget is used up to its last share', () => {
  const admission = of({ budget: 0.3 });
  for (let calls = 0; calls < 3; calls += 1) {
    admission.requireBudget('a call', 0.1);
    admission.take(0.1);
  }
  assert.throws(() => admission.requireBudget('a call', 0.1));
});

test('what others take of the machine counts, with a part that stays free for media', () => {
  const admission = of({ busy: 0.8 });
  assert.doesNotThrow(() => admission.requireIdleCpu('one more stream', 0.19));
  assert.throws(() => admission.requireIdleCpu('one more stream', 0.5), {
    code: 'unavailable',
    message: 'This node is too busy for one more stream: 0.2 of 2 cores are free and 0.5 would be needed',
  });
  assert.throws(() => of({ busy: 1 }).requireIdleCpu('one more stream', 0.1), { message: /: 0\.0 of 2 cores are free/ });
});
