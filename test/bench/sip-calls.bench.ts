// SIP call benchmark: calls of a whole node through a registrar to echoing phones: CPU in one room and in ten, and calls set up per second.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { account, Kamailio } from '../kit/sip/kamailio.ts';
import * as far from '../kit/sip/sipp.ts';
import { benchContext } from './bench-context.ts';
import { benchToken, startPinnedNode, watchProcesses } from './processes.ts';
import type { Report, Row } from './report.ts';
import { measureAudio } from './sip-audio.bench.ts';

/** Milliseconds. */
const warmUp = 3_000;
const window = 8_000;
const timeoutMs = 60_000;
/** Number of calls for the setup measurement, and how many of them are concurrent. */
const setUps = 50;
const atOnce = 10;
const number = '+49123456';

type CallFixture = { kamailio: Kamailio; farEndPort: number };

export async function benchSipCalls(report: Report): Promise<void> {
  const { t, end } = benchContext();
  const rows: Row[] = [];
  try {
    const farEndPort = await freePort();
    const fixture = { kamailio: await Kamailio.start(t, { farEndPort }), farEndPort };
    for (const { calls, rooms } of [
      { calls: 10, rooms: 1 },
      { calls: 50, rooms: 1 },
      { calls: 10, rooms: 10 },
      { calls: 50, rooms: 10 },
    ]) {
      const bare = await measureAudio({ calls, codec: 'PCMA', bare: true });
      const { cores, memory } = await measureCalls(fixture, calls, rooms);
      const what = `${calls} calls in ${rooms} ${rooms === 1 ? 'room' : 'rooms'}`;
      const baseline = { what: 'the same number of packets echoed', value: bare.cpu };
      rows.push({ what: `${what}, CPU of all node processes`, value: cores, unit: 'cores', baseline });
      rows.push({ what: `${what}, memory of all node processes`, value: memory / 1024 / 1024, unit: 'MiB' });
    }
    // The next measurement can fail on a busy machine.
    report.print('Active calls of a node', rows.splice(0));
    const bare = await setUpBare(t, fixture);
    rows.push({
      what: `calls set up and answered, ${atOnce} concurrent`,
      value: await setUpCalls(fixture),
      unit: '/s',
      baseline: { what: 'SIPp to SIPp through the same registrar, without credentials', value: bare },
    });
  } finally {
    await end();
  }
  report.print('Call setup', rows);
}

type Running = {
  pid: number;
  api: ApiClient;
  paths: string[];
  call: (path: string) => Promise<number>;
  calls: () => Promise<{ id: string; state: string }[]>;
  end: () => Promise<void>;
};

/** A node with registered user agents, and a remote end that answers and echoes this number of calls. */
async function run({ kamailio, farEndPort }: CallFixture, calls: number, rooms: number): Promise<Running> {
  const { t, end } = benchContext();
  try {
    const node = await startPinnedNode({
      SVC_COMPONENTS_USED: 'sip',
      SVC_AV_MAX_CPU: '64',
      SVC_SIP_PORT: '15060-15160',
      SVC_SIP_RTP_PORTS: '15200-15500',
    });
    t.after(node.stop);
    execFileSync('taskset', ['-a', '-cp', '0-255', String(node.pid)], { stdio: 'ignore' });
    const api = apiClient(node.url, benchToken);
    const registrarCredentials = { address: `127.0.0.1:${kamailio.port};transport=tcp`, ...account };
    const places: { room: string; id: string }[] = [];
    for (let room = 0; room < rooms; room += 1) {
      await api.post('/room', { roomId: `r${room}` });
      const { status, body } = await api.post(`/room/r${room}/component`, { type: 'sip', options: { registrarCredentials } });
      if (status !== 201) throw new Error(JSON.stringify(body));
      places.push({ room: `r${room}`, id: body.data.id });
    }
    const properties = () =>
      Promise.all(places.map(async ({ room, id }) => (await api.get(`/room/${room}/component/${id}`)).body.data.properties));
    await eventually('all user agents are registered', async () => (await properties()).every(({ registered }) => registered === true));
    await far.Sipp.answer(t, far.answerCall, { port: farEndPort, calls, timeout: 300 });
    return {
      pid: node.pid,
      api,
      paths: places.map(({ room, id }) => `/sip/${room}/${id}/call`),
      call: async (path) => (await api.post(path, { phoneNumber: number })).status,
      calls: async () => (await properties()).flatMap((each) => each.calls),
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function measureCalls(fixture: CallFixture, calls: number, rooms: number): Promise<{ cores: number; memory: number }> {
  const running = await run(fixture, calls, rooms);
  try {
    for (let call = 0; call < calls; call += 1) {
      const status = await running.call(running.paths[call % rooms] ?? '');
      if (status !== 201) throw new Error(`a call was rejected with ${status}`);
    }
    await eventually(`${calls} calls are active`, async () => (await active(running)) === calls, { within: timeoutMs });
    await sleep(warmUp);
    const { cores, memory } = await watchProcesses([running.pid, ...descendants(running.pid)], window);
    if ((await active(running)) !== calls) throw new Error('calls ended during the measurement');
    // The value of the node already includes its child processes.
    return { cores: cores.reduce((sum, each) => sum + each, 0), memory: memory[0] ?? 0 };
  } finally {
    await running.end();
  }
}

/** Each answered call is hung up, and the next one starts. */
async function setUpCalls(fixture: CallFixture): Promise<number> {
  const running = await run(fixture, setUps, 1);
  const [path = ''] = running.paths;
  try {
    const start = performance.now();
    let made = 0;
    const caller = async () => {
      while (made < setUps) {
        made += 1;
        const { status, body } = await running.api.post(path, { phoneNumber: number });
        if (status !== 201) throw new Error(`a call was rejected with ${status}`);
        const isActive = async () => (await running.calls()).some(({ id, state }) => id === body.data.id && state === 'active');
        await eventually('the call is active', isActive, { within: timeoutMs, every: 5 });
        await running.api.delete(`${path}/${body.data.id}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
    return (setUps / (performance.now() - start)) * 1000;
  } finally {
    await running.end();
  }
}

async function setUpBare(t: TestContext, { kamailio, farEndPort }: CallFixture): Promise<number> {
  const port = await freePort();
  const callee = await far.Sipp.answer(t, far.answerCall, { port: farEndPort, calls: setUps });
  const calling = [far.invite('49123456'), far.maybe(100), far.expectOk, far.further('ACK', 1), far.further('BYE', 2), far.take(200)];
  const start = performance.now();
  const caller = await far.Sipp.run(t, calling, { port, target: `127.0.0.1:${kamailio.port}`, calls: setUps, atOnce, rate: 1000 });
  await caller.done();
  const time = performance.now() - start;
  await callee.done();
  return (setUps / time) * 1000;
}

async function active({ calls }: Running): Promise<number> {
  return (await calls()).filter(({ state }) => state === 'active').length;
}

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}
