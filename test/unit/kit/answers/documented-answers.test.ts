// Compiled validators of responses: they judge as those that a process derives from the document.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { answersModule, type DocumentedAnswers, documentedAnswers } from '../../../kit/answers/documented-answers.ts';

test('a module of compiled validators has the same responses and differences as the document', () => {
  const require = createRequire(import.meta.url);
  const loaded = { exports: {} };
  new Function('module', 'exports', 'require', answersModule())(loaded, loaded.exports, require);
  const { responses, validators } = loaded.exports as DocumentedAnswers;
  const derived = documentedAnswers();
  assert.deepEqual(responses, derived.responses);
  const room = responses['/room']?.post?.[201] ?? '';
  const names = [room, responses['/room/{roomId}']?.get?.[404] ?? '', responses['/health']?.get?.[200] ?? ''];
  for (const name of names) {
    for (const body of [undefined, {}, { data: {} }, { data: { room: { id: 7 } } }, { errors: 'No', code: 'room_full' }]) {
      const verdicts = [validators, derived.validators].map((from) => [from[name]?.(body), from[name]?.errors]);
      assert.deepEqual(verdicts[0], verdicts[1]);
      assert.equal(verdicts[0]?.[0], false);
    }
  }
  const error = { errors: 'No', code: 'room_not_found' };
  for (const from of [validators, derived.validators]) assert.equal(from[names[1] ?? '']?.(error), true);
});
