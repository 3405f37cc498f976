// Fuzzing of all parsers in the distribution: only WireError, bounded time, no memory growth.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { operations, parseControl, writeControl } from '../../../../node/cluster/erlang/control.ts';
import {
  aliveReply,
  aliveRequest,
  namesReply,
  parseAliveReply,
  parseEpmdRequest,
  parseNamesReply,
  parsePortReply,
  portPleaseRequest,
  portReply,
} from '../../../../node/cluster/erlang/epmd/epmd-packets.ts';
import { ownFlags } from '../../../../node/cluster/erlang/handshake/flags.ts';
import {
  ackPacket,
  challengePacket,
  namePacket,
  parseAck,
  parseChallengePacket,
  parseNamePacket,
  parseReply,
  parseStatus,
  replyPacket,
  statusPacket,
} from '../../../../node/cluster/erlang/handshake/handshake-packets.ts';

import { TermWriter } from '../../../../node/cluster/erlang/terms/term-writer.ts';
import {
  atom,
  BitString,
  Float,
  ImproperList,
  Pid,
  Port,
  Reference,
  type Term,
  tuple,
} from '../../../../node/cluster/erlang/terms/terms.ts';
import { WireError } from '../../../../node/cluster/erlang/wire-error.ts';
import { decodeTerm, encodeTerm } from '../../../kit/erlang-terms.ts';
import { ByteFuzzer } from '../../../kit/fuzzer.ts';
import { liveHeap } from '../../../kit/processes/resources.ts';

const pid = new Pid('a@b', 1, 2, 3);
const reference = new Reference('a@b', 3, [1, 2, 3]);
const rich = tuple(
  [1, 2, 70_000, 2n ** 70n, -1],
  new Map<Term, Term>([[atom('key'), [new Float(1.5), new BitString(Buffer.of(8), 5)]]]),
  tuple(new Port('a@b', 5n, 6), 'some text', new ImproperList([atom('alias')], reference)),
);

const terms = [rich, tuple(atom('$gen_call'), tuple(pid, reference), 'x'), [[[[[[]]]]]]].map((term) => encodeTerm(term));
const controls = [
  tuple(operations.regSend, pid, atom(''), atom('svc')),
  tuple(operations.send, atom(''), pid),
  tuple(operations.aliasSend, pid, reference),
  tuple(operations.monitor, pid, atom('svc'), reference),
  tuple(operations.payloadMonitorExit, atom('svc'), pid, reference),
  tuple(operations.unlinkId, 7, pid, pid),
  tuple(operations.spawnRequest, reference, pid, pid, tuple(atom('erlang'), atom('halt'), 0), []),
].map((control) => {
  const writer = new TermWriter();
  writeControl(writer, control, rich);
  return writer.take();
});
const entry = { name: 'svc', port: 9000, hidden: false, highest: 6, lowest: 6, extra: Buffer.from('more') };
const name = { flags: ownFlags, creation: 5, name: 'svc@host.local' };

const targets: readonly { what: string; samples: readonly Buffer[]; read: (bytes: Buffer) => unknown }[] = [
  { what: 'terms', samples: terms, read: decodeTerm },
  { what: 'control messages', samples: controls, read: parseControl },
  {
    what: 'EPMD requests',
    samples: [aliveRequest(entry), portPleaseRequest('svc')].map((request) => request.subarray(2)),
    read: parseEpmdRequest,
  },
  { what: 'responses to a registration', samples: [aliveReply(5, 6), aliveReply(5, 5)], read: parseAliveReply },
  { what: 'responses with a port', samples: [portReply(entry)], read: parsePortReply },
  { what: 'responses with names', samples: [namesReply(4369, [entry, entry])], read: parseNamesReply },
  { what: 'handshake names', samples: [namePacket(name)], read: parseNamePacket },
  { what: 'handshake challenges', samples: [challengePacket({ ...name, challenge: 7 })], read: parseChallengePacket },
  { what: 'responses to challenges', samples: [replyPacket({ challenge: 7, digest: Buffer.alloc(16) })], read: parseReply },
  { what: 'handshake acknowledgements', samples: [ackPacket(Buffer.alloc(16))], read: parseAck },
  { what: 'statuses', samples: [statusPacket('ok_simultaneous')], read: parseStatus },
];

/** Per type. Terms and messages are nested, so they get five times as many. */
const rounds = 20_000;

describe('200,000 and more mutated packets', () => {
  for (const [index, { what, samples, read }] of targets.entries()) {
    test(`${what} cause no error except WireError`, () => {
      const byteFuzzer = new ByteFuzzer(4369 + index);
      const count = index < 2 ? rounds * 5 : rounds;
      let read_ = 0;
      for (let round = 0; round < count; round += 1) {
        const bytes = byteFuzzer.mutate(samples);
        try {
          read(bytes);
          read_ += 1;
        } catch (error) {
          assert.ok(error instanceof WireError, `${bytes.toString('hex')}: ${String(error)}`);
        }
      }
      // Both must occur, or the mutations are too strong or too weak.
      assert.ok(read_ > 0 && read_ < count, `${read_} of ${count} were parsed`);
    });
  }

  test('cause no memory growth', async () => {
    const byteFuzzer = new ByteFuzzer(1);
    const round = () => {
      for (let index = 0; index < rounds; index += 1) {
        try {
          parseControl(byteFuzzer.mutate(controls));
        } catch {}
      }
    };
    round();
    const before = await liveHeap();
    round();
    const grown = (await liveHeap()) - before;
    assert.ok(grown < 1_000_000, `${grown} bytes more`);
  });
});
