// Admission control: CPU budget that the components of a node share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission, type CpuBudget } from '../../../../node/components/process/admission.ts';

const idle: CpuBudget = { budget: 1.5, cores: 2, busy: 0 };
const of = (machine: Partial<CpuBudget> = {}) => new Admission(() => ({ ...idle, ...machine }));

test('components are admitted until the budget is used up, and again after a release', () => {
  const admission = of();
  const releaseBudget = admission.take(0.95);
  admission.take(0.03);
  assert.doesNotThrow(() => admission.requireBudget('one more stream', 0.52));
  const refused = {
    code: 'unavailable',
    retryAfter: 10,
    message: 'This node has no capacity for one more stream: 0.53 cores are required, and 0.98 of 1.5 are reserved',
  };
  assert.throws(() => admission.requireBudget('one more stream', 0.53), refused);
  releaseBudget();
  releaseBudget();
  assert.doesNotThrow(() => admission.requireBudget('one more stream', 1.47));
  assert.throws(() => admission.requireBudget('one more stream', 1.48), { code: 'unavailable' });
});

test('the budget can be used up completely', () => {
  const admission = of({ budget: 0.3 });
  for (let calls = 0; calls < 3; calls += 1) {
    admission.requireBudget('a call', 0.1);
    admission.take(0.1);
  }
  assert.throws(() => admission.requireBudget('a call', 0.1));
});

test('CPU use of other processes counts, and a reserve for media stays free', () => {
  const admission = of({ busy: 0.8 });
  assert.doesNotThrow(() => admission.requireIdleCpu('one more stream', 0.19));
  assert.throws(() => admission.requireIdleCpu('one more stream', 0.5), {
    code: 'unavailable',
    message: 'This node is too busy for one more stream: 0.2 of 2 cores are idle and 0.5 are required',
  });
  assert.throws(() => of({ busy: 1 }).requireIdleCpu('one more stream', 0.1), { message: /: 0\.0 of 2 cores are idle/ });
});
