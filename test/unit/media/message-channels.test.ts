// Message channels on stand-ins for transports: what the node reads of a client that floods it.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import { openMessage, payloadProtocol } from '../../../node/media/data/dcep.ts';
import { type MessageChannelsOptions, NodeMessageChannels } from '../../../node/media/data/message-channels.ts';
import { eventually } from '../../kit/eventually.ts';
import { turns } from '../../kit/turns.ts';

class Tap extends EventEmitter {
  paused = false;

  async pause() {
    this.paused = true;
  }

  async resume() {
    this.paused = false;
  }

  async setBufferedAmountLowThreshold() {}
  async send() {}
  closed = false;
  close() {
    this.closed = true;
  }
}

/** `single`: one transport for both directions. */
async function open(t: TestContext, { single = false } = {}) {
  const taps: Tap[] = [];
  const closedBeforeTaps: string[] = [];
  const received: string[] = [];
  const sending: Tap[] = [];
  const consumeData = async () => {
    const consumer = new Tap();
    sending.push(consumer);
    return consumer;
  };
  const produceData = async () => ({
    id: 'p',
    close: () => {
      if (taps.some(({ closed }) => !closed)) closedBeforeTaps.push('p');
    },
  });
  const both = { produceData, consumeData };
  const options = {
    worker: { call: (_: string, call: Promise<unknown>) => call },
    send: both,
    recv: single ? both : { consumeData, sctpState: 'new', on: () => {} },
    direct: {
      consumeData: async () => {
        const tap = new Tap();
        taps.push(tap);
        return tap;
      },
    },
    source: { id: 's' },
    channels: [{ label: '_lossy', reliable: false }],
    listener: { message: (_label: string, message: Buffer) => received.push(message.toString()) },
  };
  const channels = new NodeMessageChannels(options as unknown as MessageChannelsOptions);
  await channels.open();
  t.after(() => channels.close());
  const [first] = taps;
  assert.ok(first);
  const send = (message: Buffer, protocol: number) => first.emit('message', message, protocol);
  const openChannel = () => send(openMessage('_lossy', false), payloadProtocol.dcep);
  openChannel();
  return {
    taps,
    closedBeforeTaps,
    sending,
    received,
    channels,
    openChannel,
    say: (text: string) => send(Buffer.from(text), payloadProtocol.binary),
  };
}

test('of a client that sends too many messages, the media worker drops them for a second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { taps, received, say } = await open(t);
  for (let index = 0; index < 50_000; index += 1) say('flood');
  // The time that this takes adds to the burst.
  assert.ok(received.length >= 3_999 && received.length < 25_000, String(received.length));
  assert.deepEqual(
    taps.map(({ paused }) => paused),
    [true, true, true, true],
  );
  t.mock.timers.tick(1_000);
  assert.ok(taps.every(({ paused }) => !paused));
});

test('closed channels read nothing, and a message of a stream without an opened channel is ignored', async (t) => {
  const { taps, closedBeforeTaps, received, channels, say } = await open(t);
  taps[1]?.emit('message', Buffer.from('x'), payloadProtocol.binary);
  say('read');
  channels.close();
  say('late');
  assert.deepEqual(received, ['read']);
  // The media worker closes the consumers of a producer with it.
  assert.deepEqual(closedBeforeTaps, []);
});

test('a channel that a client opens again and again is acknowledged by one consumer', async (t) => {
  const { sending, openChannel } = await open(t);
  for (let index = 0; index < 100; index += 1) openChannel();
  await turns();
  assert.equal(sending.length, 1);
});

test('over one transport the node sends in a channel that the client opened, with one consumer however often that opens', async (t) => {
  const { sending, channels, openChannel } = await open(t, { single: true });
  for (let index = 0; index < 100; index += 1) openChannel();
  await eventually('the channel is open', () => channels.send('_lossy', Buffer.from('x')));
  assert.equal(sending.length, 1);
});
