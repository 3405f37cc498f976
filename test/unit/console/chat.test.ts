// Chat of the console: sanitizing untrusted messages, rate limit and bounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chat } from '../../../packages/console/src/chat/chat.ts';
import { maxMessageLength, messageText, textParts } from '../../../packages/console/src/chat/chat-text.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { assertPrompt, stopwatch } from '../../kit/promised-time.ts';
import { turns } from '../../kit/turns.ts';

test('a message is text without control characters and of bounded length', () => {
  assert.equal(messageText({ text: ' <b>hi</b> \n' }), '<b>hi</b>');
  assert.equal(messageText('hello'), 'hello');
  for (const nothing of [
    null,
    undefined,
    7,
    [],
    {},
    { text: 7 },
    { text: { toString: 'x' } },
    { text: ' \n ' },
    { text: '\u0000\u001b\u0085' },
  ])
    assert.equal(messageText(nothing), undefined);
  assert.equal(messageText({ text: 'a\u0000b\u0007c\td' }), 'abc\td');
  assert.equal(messageText({ text: 'a\r\nb\rc\n\n\n\n  \n\nd' }), 'a\nb\nc\n\nd');
  assert.equal(messageText({ text: 'a\ud800' }), 'a\ufffd');
  assert.equal(messageText({ text: '\u202eevil' }), '\u202eevil');
  assert.equal(messageText({ text: '👩‍👩‍👧 שלום' }), '👩‍👩‍👧 שלום');
  const cut = messageText({ text: 'x'.repeat(16 * 1024) });
  assert.equal(cut, `${'x'.repeat(maxMessageLength)}…`);
  const elapsed = stopwatch();
  messageText({ text: '\n '.repeat(200_000) });
  messageText({ text: ' '.repeat(200_000) });
  // Half a second; an expression with backtracking from each character would take minutes.
  assertPrompt('to read spaces', elapsed(), { promised: 500, bound: 10_000 });
});

test('only web URLs become links', () => {
  assert.deepEqual(textParts('See https://example.com/a?b=1#c, and http://x.org.'), [
    { text: 'See ' },
    { text: 'https://example.com/a?b=1#c', href: 'https://example.com/a?b=1#c' },
    { text: ', and ' },
    { text: 'http://x.org', href: 'http://x.org' },
    { text: '.' },
  ]);
  for (const text of ['javascript:alert(1)', 'data:text/html,x', 'http://', 'https://exam\u202emoc.elp', '<a href=x>'])
    assert.equal(
      textParts(text).some(({ href }) => href !== undefined),
      false,
      text,
    );
  assert.equal(textParts('"https://a.example"><img src=x>')[1]?.href, 'https://a.example');
});

function chatAt(send: () => Promise<void> = async () => {}) {
  let now = 1_000_000;
  const chat = new Chat({ send, now: () => new Date(now) });
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  return { chat, pass };
}

test('messages received while the chat is closed count as unread until it is opened', () => {
  const { chat } = chatAt();
  chat.receive('a', 'Anna', { text: 'one' });
  chat.receive('a', 'Anna', { text: '' });
  chat.receive(null, 'The server', 'two');
  assert.equal(chat.state.unread, 2);
  chat.setOpen(true);
  chat.receive('a', 'Anna', { text: 'three' });
  assert.equal(chat.state.unread, 0);
  assert.deepEqual(fieldsOf(chat.state.messages, 'name', 'text', 'own'), [
    ['Anna', 'one', false],
    ['The server', 'two', false],
    ['Anna', 'three', false],
  ]);
});

test('the rate limit applies per sender, and the list is bounded', () => {
  const { chat, pass } = chatAt();
  for (let i = 0; i < 1_000; i += 1) chat.receive('a', 'Anna', { text: `${i}` });
  assert.equal(chat.state.messages.length, 20);
  assert.equal(chat.state.flooded, 'Anna');
  chat.receive('b', 'Ben', { text: 'me too' });
  assert.equal(chat.state.messages.length, 21);
  pass(10_001);
  chat.receive('a', 'Anna', { text: 'later' });
  assert.equal(chat.state.messages.at(-1)?.text, 'later');
  for (let i = 0; i < 1_000; i += 1) {
    pass(600);
    chat.receive('c', 'Carl', { text: `${i}` });
  }
  assert.equal(chat.state.messages.length, 300);
  assert.equal(chat.state.messages.at(-1)?.text, '999');
});

test('a failed message shows the error and can be sent again', async () => {
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let asked = 0;
  const { chat } = chatAt(() => answers[asked++]?.promise ?? Promise.reject(new Error('too many')));
  chat.send('  ');
  assert.equal(asked, 0);
  chat.send('hello');
  const state = () => chat.state.messages.map((message) => [message.text, message.state, message.problem]);
  assert.deepEqual(state(), [['hello', 'sending', undefined]]);
  answers[0]?.reject(new Error('This peer is not permitted to send data'));
  await turns();
  assert.deepEqual(state(), [['hello', 'failed', 'This peer is not permitted to send data.']]);
  chat.sendAgain(chat.state.messages[0]?.id ?? 0);
  assert.equal(chat.state.messages[0]?.state, 'sending');
  answers[1]?.resolve();
  await turns();
  assert.equal(chat.state.messages[0]?.state, 'sent');
});
