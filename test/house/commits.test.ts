// Subjects of commits: `area: imperative`, one line of a log; the why is in the body.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { root } from './source-files.ts';

/** The last commit before the rule. */
const base = 'da715d6';
const maxLength = 72;
const areas = /^[a-z][a-z0-9/.-]*(?:, [a-z][a-z0-9/.-]*)*: \S/;
/** A first word in another form; the exceptions are verbs whose base form ends so. */
const notImperative = /^[^:]+: (?!(?:address|bring|discuss|embed|feed|need|pass|process|seed) )\w+(?:ed|ing|s) /;

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
}

function problems(subject: string): string[] {
  return [
    ...(subject.length > maxLength ? [`longer than ${maxLength} characters`] : []),
    ...(areas.test(subject) ? [] : ['no `area: ` in lower case']),
    ...(subject.endsWith('.') ? ['a full stop'] : []),
    ...(notImperative.test(subject) ? ['not imperative'] : []),
  ];
}

test('commits since the rule have subjects of the form `area: imperative`', () => {
  // A shallow clone has the newest commits only.
  const isShallow = git('rev-parse', '--is-shallow-repository').trim() === 'true';
  const subjects = git('log', '--no-merges', '--format=%s', isShallow ? 'HEAD' : `${base}..HEAD`)
    .split('\n')
    .filter(Boolean);
  assert.ok(subjects.length > 0);
  assert.deepEqual(
    subjects.flatMap((subject) => problems(subject).map((problem) => `${subject}: ${problem}`)),
    [],
  );
});

test('the rule for subjects finds each violation', () => {
  assert.deepEqual(problems('node: share waitWhile() between uploads and shutdown'), []);
  assert.deepEqual(problems('node, client: remove two duplicated expressions'), []);
  assert.deepEqual(problems('Node says it once.'), ['no `area: ` in lower case', 'a full stop']);
  assert.deepEqual(problems(`node: ${'a'.repeat(70)}`), ['longer than 72 characters']);
  assert.deepEqual(problems('node: fixed the drain'), ['not imperative']);
});
