// Process that takes part in leader election and writes its name while it leads; tests freeze and kill it.
import { KubeClient } from '../../operator/kube/client.ts';
import { sleep } from '../../operator/kube/http/deadline.ts';
import { LeaderElector } from '../../operator/kube/lease.ts';
import { resources } from '../../operator/kube/objects.ts';
import { silentLog } from '../kit/silent-log.ts';

const [kubeconfig = '', identity = ''] = process.argv.slice(2);
const log = silentLog();
const client = await KubeClient.connect({ kubeconfig, log, userAgent: identity, timeoutMs: 5000, fieldManager: 'elector' });
const say = (what: string) => process.stdout.write(`${what}\n`);

const elector = new LeaderElector({
  client,
  namespace: 'default',
  name: 'elector',
  identity,
  leaseMs: 12_000,
  renewMs: 8000,
  retryMs: 300,
  log,
});
/**
 * Stops this process right before its next write is checked, until SIGCONT. A stop from outside could happen between check and sending,
 * and then the write would legitimately arrive late.
 */
let freezes = false;
process.on('SIGUSR2', () => {
  freezes = true;
});
function freeze(): void {
  freezes = false;
  process.kill(process.pid, 'SIGSTOP');
  // Nothing runs before the signal arrives, on whichever thread.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
}
const mayWrite = () => {
  if (freezes) freeze();
  return elector.leading;
};
const end = new AbortController();
process.once('SIGTERM', () => end.abort(new Error('SIGTERM')));

say('waits');
const result = await elector.run(end.signal, async (lost) => {
  say('leads');
  const leader = client.scoped({ signal: lost, mayWrite });
  for (let count = 1; !lost.aborted; count++) {
    const data = { writer: identity, count: String(count) };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'written', namespace: 'default' }, data };
    await leader.apply(resources.configMaps, object).catch((error: unknown) => say(`refused ${(error as { reason?: string }).reason}`));
    await sleep(20, lost);
  }
});
say(result);
await client.close();
