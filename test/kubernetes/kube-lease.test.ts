// Leader election of two processes that are frozen, killed or stopped: their writes never mix.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, describe, it, type TestContext } from 'node:test';
import { type KubeObject, resources, type Stored } from '../../operator/kube/objects.ts';
import { Reflector } from '../../operator/kube/reflector.ts';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { silentLog } from '../kit/silent-log.ts';
import { connectTo } from './kube-widgets.ts';

type ConfigMap = KubeObject & { data?: { writer: string } };

const server = await startApiServer({ after });
/** A busy machine needs several terms until another process leads. */
const timeoutMs = 120_000;
const program = new URL('kube-elector.ts', import.meta.url).pathname;

/** Starts kube-elector.ts and records its output with times. */
async function startElector(t: TestContext, identity: string) {
  const child = spawn(process.execPath, [program, server.kubeconfig, identity], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const said: { what: string; at: number }[] = [];
  createInterface({ input: child.stdout }).on('line', (what) => said.push({ what, at: performance.now() }));
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  /** @returns the time at which it said that */
  const until = (what: string) =>
    eventually(`${identity} ${what}`, () => said.find((each) => each.what === what)?.at, { within: timeoutMs, every: 20 });
  return { identity, said, until, exited, signal: (name: NodeJS.Signals) => child.kill(name) };
}

/** The sequence of writers, in the order of the API server; each name once per turn. */
async function watchWriters(t: TestContext): Promise<{ turns: string[]; whenWrote: (writer: string) => Promise<void> }> {
  const client = await connectTo(t, server.kubeconfig);
  const turns: string[] = [];
  const note = ({ data }: Stored<ConfigMap>) => {
    if (data && turns.at(-1) !== data.writer) turns.push(data.writer);
  };
  const options = {
    client,
    resource: resources.configMaps,
    namespaces: ['default'],
    fieldSelector: 'metadata.name=written',
    log: silentLog(),
  };
  const reflector = new Reflector<ConfigMap>({ ...options, onChange: note, onDelete: () => {} });
  const end = new AbortController();
  const running = reflector.run(end.signal);
  t.after(async () => {
    end.abort();
    await running;
  });
  await reflector.whenSynced(end.signal);
  turns.length = 0;
  const whenWrote = async (writer: string) => {
    await eventually(`${writer} wrote`, () => turns.at(-1) === writer, { within: timeoutMs, every: 20 });
  };
  return { turns, whenWrote };
}

describe('Two processes in leader election', () => {
  it('lead one after the other if the leader is killed, frozen or stopped, without late writes of a former leader', async (t) => {
    const { turns, whenWrote } = await watchWriters(t);
    const a = await startElector(t, 'a');
    await a.until('leads');
    const b = await startElector(t, 'b');
    await b.until('waits');
    await whenWrote('a');

    a.signal('SIGKILL');
    const killed = performance.now();
    const took = (await b.until('leads')) - killed;
    t.diagnostic(`taken over after ${Math.round(took)} ms`);
    // The term of 15 s, and an attempt every 2 s.
    assertPrompt('to take over', took, { promised: 17_000 });
    await whenWrote('b');

    const c = await startElector(t, 'c');
    // It freezes during its work: after it wakes up, its write is about to be checked.
    b.signal('SIGUSR2');
    await c.until('leads');
    await whenWrote('c');
    b.signal('SIGCONT');
    await b.until('lost');
    await b.exited;
    assert.ok(b.said.some(({ what }) => what === 'refused NotLeader'));

    const d = await startElector(t, 'd');
    await d.until('waits');
    c.signal('SIGTERM');
    const releasedAt = performance.now();
    const given = (await d.until('leads')) - releasedAt;
    t.diagnostic(`passed on after ${Math.round(given)} ms`);
    // At the next attempt, without waiting for the end of the term of 15 s.
    assertPrompt('to pass on', given, { promised: 2_500 });
    await c.until('ended');
    await whenWrote('d');
    assert.deepEqual(turns, ['a', 'b', 'c', 'd']);
    const { stdout } = await server.kubectl(['get', 'lease', 'elector', '-o', 'jsonpath={.spec.holderIdentity} {.spec.leaseTransitions}']);
    assert.equal(stdout, 'd 3');
  });
});
