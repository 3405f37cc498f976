// Process of a sip component: runs its user agent and call audio, controlled by the node.
import { isIP } from 'node:net';
import { z } from 'zod';
import { connectToParent } from '../process/child-ipc.ts';
import { markTrack } from '../process/track-marks.ts';
import { entry, trackCommands, trackReports } from '../process/track-messages.ts';
import type { SipUserAgent } from './agent/agent.ts';
import {
  callId,
  messageText,
  phoneNumber,
  type UserAgentSettings,
  userAgentReports,
  userAgentSettingsSchema,
} from './agent/agent-messages.ts';
import type { ComponentAudio } from './audio/component-audio.ts';

/** Number of a command that requires a response. */
const request = z.int().min(0);

/** `entry`: SSRC of a track that all calls receive. */
const commandSchema = z.discriminatedUnion('type', [
  ...trackCommands,
  /** First command, sent once; answered with `listening`. */
  z.strictObject({ type: z.literal('start'), settings: userAgentSettingsSchema }),
  z.strictObject({ type: z.literal('add'), entry }),
  z.strictObject({ type: z.literal('call'), request, callId, phoneNumber }),
  z.strictObject({ type: z.literal('hangUp'), request, callId }),
  /** True if an incoming call may be answered. */
  z.strictObject({ type: z.literal('admit'), callId, admitted: z.boolean() }),
  z.strictObject({ type: z.literal('digits'), request, callId, digits: z.string().max(64) }),
]);
export type SipCommand = z.infer<typeof commandSchema>;

export const sipReportSchema = z.discriminatedUnion('type', [
  ...trackReports,
  ...userAgentReports,
  /** Result of a command; `problem` if it failed. */
  z.strictObject({
    type: z.literal('done'),
    request,
    problem: z.strictObject({ code: z.enum(['bad_request', 'not_found', 'conflict', 'unavailable']), message: messageText }).optional(),
  }),
]);
export type SipReport = z.infer<typeof sipReportSchema>;

type Request = Extract<SipCommand, { request: number }>;

/** Runs the process. */
export async function runUserAgent(): Promise<void> {
  // The node reads the schemas above without SIP.js and the codec library.
  const [{ SipCommandError, SipUserAgent }, { ComponentAudio }] = await Promise.all([
    import('./agent/agent.ts'),
    import('./audio/component-audio.ts'),
  ]);
  let agent: SipUserAgent | undefined;
  let audio: ComponentAudio | undefined;
  const start = async (settings: UserAgentSettings) => {
    const { announcedIp, rtpPorts: ports, roomPort, allowPrivate } = settings;
    const room = roomPort === undefined ? {} : { roomPort };
    audio = await ComponentAudio.open({ mark: markTrack, ip: listenIp(announcedIp), ports, allowPrivate, ...room });
    send({ type: 'listening', port: audio.port });
    agent = new SipUserAgent({ settings, audio, report: send, onFault: tellFault });
    agent.start();
  };
  const addTrack = (ssrc: number) => {
    try {
      audio?.addTrack(ssrc);
      send({ type: 'added', entry: ssrc });
    } catch (error) {
      // Only this track is not heard.
      tellFault(error);
    }
  };
  const answer = async (command: Request) => {
    try {
      if (!agent) throw new SipCommandError('unavailable', 'The component is starting');
      if (command.type === 'call') await agent.call(command.callId, command.phoneNumber);
      else if (command.type === 'hangUp') agent.hangUp(command.callId);
      else await agent.sendDigits(command.callId, command.digits);
      send({ type: 'done', request: command.request });
    } catch (error) {
      if (!(error instanceof SipCommandError)) tellFault(error);
      const { code, message } = error instanceof SipCommandError ? error : new SipCommandError('unavailable', 'Could not start the call');
      send({ type: 'done', request: command.request, problem: { code, message } });
    }
  };
  const close = async () => {
    await agent?.close();
    await audio?.close();
    send({ type: 'closed' });
  };
  const { send } = connectToParent<typeof commandSchema, SipReport>(commandSchema, (command) => {
    if (command.type === 'start') start(command.settings).catch(exitWith);
    else if (command.type === 'connect') audio?.connect({ ip: command.ip, port: command.port });
    else if (command.type === 'add') addTrack(command.entry);
    else if (command.type === 'remove') audio?.removeTrack(command.entry);
    else if (command.type === 'admit') agent?.admit(command.callId, command.admitted);
    else if (command.type === 'close') void close();
    else void answer(command);
  });
  // SIP.js leaves rejected promises unhandled after an invalid message; calls must continue.
  process.on('unhandledRejection', tellFault);
}

/** The component requires audio: the process exits, and its supervisor starts another. */
function exitWith(error: unknown): void {
  tellFault(error);
  process.exit(1);
}

/** If loopback is announced, the socket is bound to loopback only. */
function listenIp(announcedIp: string): string {
  if (announcedIp.startsWith('127.') || announcedIp === '::1') return announcedIp;
  return isIP(announcedIp) === 6 ? '::' : '0.0.0.0';
}

/** Logged by the node. */
function tellFault(error: unknown): void {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
  process.stderr.write(`${text.replaceAll(/[^ -~]/g, ' ').slice(0, 300)}\n`);
}
