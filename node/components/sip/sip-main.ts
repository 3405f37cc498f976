// Process of a sip component: runs its user agent and call audio, controlled by the node.
import { isIP } from 'node:net';
import { connectToParent } from '../process/child-ipc.ts';
import { markTrack } from '../process/track-marks.ts';
import { SipCommandError, SipUserAgent } from './agent/agent.ts';
import { ComponentAudio } from './audio/component-audio.ts';
import { type SipCommand, type SipReport, sipCommandSchema, type UserAgentSettings } from './sip-messages.ts';

type Request = Extract<SipCommand, { request: number }>;

let agent: SipUserAgent | undefined;
let sound: ComponentAudio | undefined;

const { send } = connectToParent<typeof sipCommandSchema, SipReport>(sipCommandSchema, run);
// SIP.js leaves rejected promises unhandled after an invalid message; calls must continue.
process.on('unhandledRejection', tellFault);
send({ type: 'ready' });

function run(command: SipCommand): void {
  if (command.type === 'start') {
    // The component requires audio: the process exits, and its supervisor starts another.
    start(command.settings).catch((error: unknown) => {
      tellFault(error);
      process.exit(1);
    });
  } else if (command.type === 'connect') sound?.connect({ ip: command.ip, port: command.port });
  else if (command.type === 'addTrack') addTrack(command.ssrc);
  else if (command.type === 'removeTrack') sound?.removeTrack(command.ssrc);
  else if (command.type === 'admit') agent?.admit(command.callId, command.admitted);
  else if (command.type === 'close') void close();
  else void answer(command);
}

async function start(settings: UserAgentSettings): Promise<void> {
  const { announcedIp, rtpPorts: ports, roomPort, allowPrivate } = settings;
  sound = await ComponentAudio.open({
    mark: markTrack,
    ip: listenIp(announcedIp),
    ports,
    allowPrivate,
    ...(roomPort !== undefined && { roomPort }),
  });
  send({ type: 'listening', port: sound.port });
  agent = new SipUserAgent({ settings, audio: sound, report: send, onFault: tellFault });
  agent.start();
}

/** If loopback is announced, the socket is bound to loopback only. */
function listenIp(announcedIp: string): string {
  if (announcedIp.startsWith('127.') || announcedIp === '::1') return announcedIp;
  return isIP(announcedIp) === 6 ? '::' : '0.0.0.0';
}

function addTrack(ssrc: number): void {
  try {
    sound?.addTrack(ssrc);
    send({ type: 'trackAdded', ssrc });
  } catch (error) {
    // Only this track is not heard.
    tellFault(error);
  }
}

async function answer(command: Request): Promise<void> {
  const { request } = command;
  try {
    if (!agent) throw new SipCommandError('unavailable', 'The component is starting');
    if (command.type === 'call') await agent.call(command.callId, command.phoneNumber);
    else if (command.type === 'hangUp') agent.hangUp(command.callId);
    else await agent.sendDigits(command.callId, command.digits);
    send({ type: 'done', request });
  } catch (error) {
    if (!(error instanceof SipCommandError)) tellFault(error);
    const { code, message } = error instanceof SipCommandError ? error : new SipCommandError('unavailable', 'Could not start the call');
    send({ type: 'done', request, problem: { code, message } });
  }
}

async function close(): Promise<void> {
  await agent?.close();
  await sound?.close();
  send({ type: 'closed' });
}

/** Logged by the node. */
function tellFault(error: unknown): void {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
  process.stderr.write(`${text.replaceAll(/[^ -~]/g, ' ').slice(0, 300)}\n`);
}
