// SIPp as remote party of calls: runs scenarios of steps and echoes RTP. Ends with the test.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '../eventually.ts';
import { Child } from '../kube/child.ts';
import { freePort } from '../network/free-ports.ts';
import { loopbackNetwork, type SipNetwork } from './sip-network.ts';

export type SippOptions = {
  /** SIP port. */
  port: number;
  /** Destination of its calls, `host:port`; only for scenarios that start a call. */
  target?: string;
  transport?: 'udp' | 'tcp';
  /** Total number of calls. */
  calls?: number;
  /** Number of simultaneous calls; all of them by default. */
  atOnce?: number;
  /** Calls started per second. */
  rate?: number;
  /** Timeout of the scenario in seconds. */
  timeout?: number;
  place?: SipNetwork;
};

export class Sipp {
  readonly #child: Child;
  readonly #folder: string;
  readonly #port: number;
  readonly #place: SipNetwork;
  readonly mediaPort: number;

  private constructor(child: Child, folder: string, { port, mediaPort, place }: { port: number; mediaPort: number; place: SipNetwork }) {
    this.#place = place;
    this.#child = child;
    this.#port = port;
    this.#folder = folder;
    this.mediaPort = mediaPort;
  }

  /** A remote party that waits for calls with these steps. */
  static async answer(t: Pick<TestContext, 'after'>, steps: readonly string[], options: SippOptions): Promise<Sipp> {
    const sipp = await Sipp.run(t, steps, options);
    await sipp.listening();
    return sipp;
  }

  /** `steps`: elements of a SIPp scenario. */
  static async run(
    t: Pick<TestContext, 'after'>,
    steps: readonly string[],
    { port, target, transport = 'udp', calls = 1, atOnce = calls, rate = 10, timeout = 80, place = loopbackNetwork }: SippOptions,
  ): Promise<Sipp> {
    const folder = mkdtempSync(join(tmpdir(), 'mediarooms-sipp-'));
    const mediaPort = await freePort();
    const scenario = join(folder, 'scenario.xml');
    writeFileSync(scenario, `<?xml version="1.0" encoding="UTF-8"?>\n<scenario name="test">\n${steps.join('\n')}\n</scenario>\n`);
    const mode = transport === 'tcp' ? 't1' : 'u1';
    const flags = `-i ${place.address} -p ${port} -t ${mode} -m ${calls} -l ${atOnce} -r ${rate} -mi ${place.address} -mp ${mediaPort} -rtp_echo`;
    const traces = [
      '-nostdin',
      '-trace_err',
      '-error_file',
      join(folder, 'errors'),
      '-trace_msg',
      '-message_file',
      join(folder, 'messages'),
    ];
    const end = ['-timeout', String(timeout), '-timeout_error'];
    const command = ['/usr/bin/sipp', ...(target === undefined ? [] : [target]), '-sf', scenario, ...flags.split(' '), ...traces, ...end];
    const child = new Child(command, { log: join(folder, 'log'), cwd: folder, env: { TERM: 'dumb' }, wrap: place.wrap });
    t.after(async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    return new Sipp(child, folder, { port, mediaPort, place });
  }

  /** Resolves when its port is bound. */
  async listening(): Promise<void> {
    const check = async () => {
      if (await holds(this.#place, this.#port)) return true;
      if (this.#child.end) throw new Error(`SIPp did not start: ${this.#child.tail()}`);
      return false;
    };
    await eventually('SIPp has bound its port', check, { every: 20 });
  }

  /** Simulates a crash of its machine: it sends nothing more. */
  async kill(): Promise<void> {
    await this.#child.stop('SIGKILL');
  }

  /** Resolves when all its calls followed the scenario. @throws Error with its output */
  async done(): Promise<void> {
    const { code } = await this.#child.ended;
    if (code !== 0) throw new Error(`SIPp ended with ${code}: ${this.#read('errors')}\n${this.messages.slice(-6000)}`);
  }

  /** All sent and received messages as text. */
  get messages(): string {
    return this.#read('messages');
  }

  #read(name: string): string {
    const file = readdirSync(this.#folder).find((each) => each.startsWith(name));
    return file === undefined ? '' : readFileSync(join(this.#folder, file), 'utf8');
  }
}

/** SDP with PCMA and keys, whose media address is not SIPp. */
export function audioSdp(port: number, address = '127.0.0.1'): string {
  return audio.replace('[media_ip]', address).replace('[media_port]', String(port));
}

/** True if a process has bound this UDP port in the network (proc(5), /proc/net/udp). */
async function holds({ address, pid }: SipNetwork, port: number): Promise<boolean> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const bytes = address.split('.').map((each) => Number(each).toString(16).toUpperCase().padStart(2, '0'));
  return (await readFile(`/proc/${pid}/net/udp`, 'utf8')).includes(`${bytes.reverse().join('')}:${hex} `);
}

const answerHeaders = `[last_Via:]
[last_From:]
[last_To:];tag=[pid]far[call_number]
[last_Call-ID:]
[last_CSeq:]`;

const audio = `v=0
o=far 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 8 101
a=rtpmap:8 PCMA/8000
a=rtpmap:101 telephone-event/8000
a=fmtp:101 0-15
a=sendrecv`;

export const expectInvite = '<recv request="INVITE" rrs="true"/>';

/** Response to the INVITE. `more`: additional headers. */
export function answer(status: string, { sdp, more = '' }: { sdp?: string | true; more?: string } = {}): string {
  const body = sdp === true ? audio : sdp;
  const success = status.startsWith('2') || status.startsWith('18');
  const contact = success ? '\n[last_Record-Route:]\nContact: <sip:far@[local_ip]:[local_port]>' : '';
  const type = body === undefined ? '' : '\nContent-Type: application/sdp';
  return send(
    `SIP/2.0 ${status}\n${answerHeaders}${contact}${more === '' ? '' : `\n${more}`}${type}\nContent-Length: [len]\n\n${body ?? ''}`,
  );
}

export const expectAck = '<recv request="ACK"/>';
export const expectBye = `<recv request="BYE"/>\n${send(`SIP/2.0 200 OK\n${answerHeaders.replace(';tag=[pid]far[call_number]', '')}\nContent-Length: 0\n\n`)}`;

/** Answers a call and echoes it until the caller hangs up. */
export const answerCall = [expectInvite, answer('200 OK', { sdp: true }), expectAck, expectBye];

/** Request in the dialog that SIPp answered. `cseq` is its own counter. */
export function ask(
  method: string,
  { cseq = 1, headers = '', body = '' }: { cseq?: number; headers?: string; body?: string } = {},
): string {
  return send(`${method} [next_url] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
[routes]
From: <sip:far@[local_ip]:[local_port]>;tag=[pid]far[call_number]
To: [$1]
Call-ID: [call_id]
CSeq: ${cseq} ${method}
Max-Forwards: 70
Contact: <sip:far@[local_ip]:[local_port]>${headers === '' ? '' : `\n${headers}`}
Content-Length: [len]

${body}`);
}

/** Like expectInvite, and stores the caller for ask(). */
export const takeInviteToAsk = `<recv request="INVITE" rrs="true"><action>
<ereg regexp=".*" search_in="hdr" header="From:" assign_to="1"/>
</action></recv>`;

/** Like expectInvite, and stores the request for expectCancel, because its response follows that of another request. */
export const takeInviteToCancel = `<recv request="INVITE" rrs="true"><action>
<ereg regexp=".*" search_in="hdr" header="Via:" occurrence="1" assign_to="7"/>
<ereg regexp=".*" search_in="hdr" header="Via:" occurrence="2" assign_to="8"/>
<ereg regexp="[0-9]+" search_in="hdr" header="CSeq:" assign_to="9"/>
</action></recv>`;
const cancelled = answerHeaders.replace('[last_CSeq:]', 'CSeq: [$9] INVITE').replace('[last_Via:]', 'Via: [$7]\nVia: [$8]');
export const expectCancel = `<recv request="CANCEL"/>
${send(`SIP/2.0 200 OK\n${answerHeaders}\nContent-Length: 0\n\n`)}
${send(`SIP/2.0 487 Request Terminated\n${cancelled}\nContent-Length: 0\n\n`)}`;

/** ACK of a rejected INVITE, with its Via (RFC 3261, section 17.1.1.3). */
export const acknowledge = send(`ACK sip:room@[remote_ip]:[remote_port] SIP/2.0
[last_Via:]
[last_From:]
[last_To:]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

`);

export const expectOk = '<recv response="200" rrs="true"/>';
export const pause = (milliseconds: number): string => `<pause milliseconds="${milliseconds}"/>`;
export const take = (status: number): string => `<recv response="${status}"/>`;
export const maybe = (status: number): string => `<recv response="${status}" optional="true"/>`;
export { audio as audioOffer };

export function send(message: string, attributes = ''): string {
  return `<send${attributes}><![CDATA[\n${message}\n]]></send>`;
}

/** Starts a call to this user at the target. */
export function invite(user: string, { sdp = audio, headers = '' }: { sdp?: string; headers?: string } = {}): string {
  const type = sdp === '' ? '' : '\nContent-Type: application/sdp';
  return send(`INVITE sip:${user}@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: "A Caller" <sip:+491234@[local_ip]>;tag=[pid]near[call_number]
To: <sip:${user}@[remote_ip]:[remote_port]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:near@[local_ip]:[local_port];transport=[transport]>
Max-Forwards: 70${headers === '' ? '' : `\n${headers}`}${type}
Content-Length: [len]

${sdp}`);
}

/** Further request of a caller. */
export function further(method: string, cseq: number, { headers = '', body = '' }: { headers?: string; body?: string } = {}): string {
  return send(`${method} [next_url] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
[routes]
From: "A Caller" <sip:+491234@[local_ip]>;tag=[pid]near[call_number]
[last_To:]
Call-ID: [call_id]
CSeq: ${cseq} ${method}
Max-Forwards: 70
Contact: <sip:near@[local_ip]:[local_port];transport=[transport]>${headers === '' ? '' : `\n${headers}`}
Content-Length: [len]

${body}`);
}
