// Control messages of an established connection (Erlang/OTP, "Distribution Protocol", "Protocol between Connected Nodes").
import { defaultTermLimits, type TermLimits, TermReader } from './terms/term-reader.ts';
import type { TermWriter } from './terms/term-writer.ts';
import { Atom, isAtom, Pid, Reference, type Term, Tuple } from './terms/terms.ts';
import { WireError } from './wire-error.ts';

const passThrough = 112;

/** Numbers of the operations that are sent or handled. Those with tracing have one more field, which is ignored. */
export const operations = {
  link: 1,
  send: 2,
  exit: 3,
  unlink: 4,
  nodeLink: 5,
  regSend: 6,
  groupLeader: 7,
  exit2: 8,
  sendTraced: 12,
  exitTraced: 13,
  regSendTraced: 16,
  exit2Traced: 18,
  monitor: 19,
  demonitor: 20,
  monitorExit: 21,
  sendSender: 22,
  sendSenderTraced: 23,
  payloadExit: 24,
  payloadExitTraced: 25,
  payloadExit2: 26,
  payloadExit2Traced: 27,
  payloadMonitorExit: 28,
  spawnRequest: 29,
  spawnRequestTraced: 30,
  spawnReply: 31,
  spawnReplyTraced: 32,
  aliasSend: 33,
  aliasSendTraced: 34,
  unlinkId: 35,
  unlinkIdAck: 36,
} as const;

/** Requests of a remote node. Names stand for registered processes, pids for others. */
export type ControlMessage =
  | { kind: 'toName'; name: string; message: Term }
  | { kind: 'toPid'; to: Pid; message: Term }
  | { kind: 'toAlias'; to: Reference; message: Term }
  | { kind: 'link'; from: Pid; to: Pid }
  | { kind: 'unlink'; id: Term; from: Pid; to: Pid }
  | { kind: 'monitor'; from: Pid; to: Pid | string; reference: Reference }
  | { kind: 'down'; reference: Reference; reason: Term }
  | { kind: 'spawn'; request: Reference; from: Pid }
  /** No action needed: the processes of this node neither end nor act as group leaders. */
  | { kind: 'ignored'; operation: number };

/** Parses one message without its length. @throws WireError */
export function parseControl(frame: Buffer, limits: TermLimits = defaultTermLimits): ControlMessage {
  // This includes distribution headers and fragments: our flags do not allow them.
  if (frame[0] !== passThrough) throw new WireError(`unknown message type ${frame[0]}`);
  const reader = new TermReader(frame, 1, limits);
  const control = reader.read();
  if (!(control instanceof Tuple)) throw new WireError('message without an operation');
  const message = reader.done ? undefined : reader.read();
  if (!reader.done) throw new WireError('extra bytes after the message');
  return toMessage(control.items, message);
}

/** Appends a message without its length to the writer. */
export function writeControl(writer: TermWriter, control: Term, message?: Term): void {
  writer.u8(passThrough);
  writer.write(control);
  if (message !== undefined) writer.write(message);
}

function toMessage(items: readonly Term[], message: Term | undefined): ControlMessage {
  const [operation, first, second, third, fourth] = items;
  switch (operation) {
    case operations.regSend:
    case operations.regSendTraced:
      return { kind: 'toName', name: name(third), message: payload(message) };
    case operations.send:
    case operations.sendTraced:
    case operations.sendSender:
    case operations.sendSenderTraced:
      return { kind: 'toPid', to: pid(second), message: payload(message) };
    case operations.aliasSend:
    case operations.aliasSendTraced:
      return { kind: 'toAlias', to: reference(second), message: payload(message) };
    case operations.monitor:
      return { kind: 'monitor', from: pid(first), to: second instanceof Atom ? second.name : pid(second), reference: reference(third) };
    case operations.monitorExit:
      return { kind: 'down', reference: reference(third), reason: payload(fourth) };
    case operations.payloadMonitorExit:
      return { kind: 'down', reference: reference(third), reason: payload(message) };
    case operations.link:
      return { kind: 'link', from: pid(first), to: pid(second) };
    case operations.unlinkId:
      return { kind: 'unlink', id: payload(first), from: pid(second), to: pid(third) };
    case operations.spawnRequest:
    case operations.spawnRequestTraced:
      return { kind: 'spawn', request: reference(first), from: pid(second) };
    default:
      if (typeof operation !== 'number') throw new WireError('message without an operation');
      return { kind: 'ignored', operation };
  }
}

function payload(term: Term | undefined): Term {
  if (term === undefined) throw new WireError('message without its payload');
  return term;
}

function name(term: Term | undefined): string {
  if (!(term instanceof Atom) || isAtom(term, '')) throw new WireError('message without a registered name');
  return term.name;
}

function pid(term: Term | undefined): Pid {
  if (!(term instanceof Pid)) throw new WireError('message without a process');
  return term;
}

function reference(term: Term | undefined): Reference {
  if (!(term instanceof Reference)) throw new WireError('message without a reference');
  return term;
}
