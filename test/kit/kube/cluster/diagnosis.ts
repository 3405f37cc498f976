// Diagnosis of a cluster for a failed test: objects, conditions, events, and the last output of pods and programs.
import { existsSync, readFileSync } from 'node:fs';
import type { Cluster } from './cluster.ts';

type Condition = { type: string; status: string; reason?: string; message?: string };
type ReportedObject = {
  kind: string;
  metadata: { namespace?: string; name: string };
  status?: { phase?: string; conditions?: Condition[] };
};

const lastEvents = 50;
const lastLines = 60;
const deadline = 15_000;

/** Takes seconds. Never throws: it reports an unavailable API server. */
export async function diagnosis(cluster: Cluster): Promise<string> {
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await cluster.server.kubectl(args, { timeoutMs: deadline });
    return code === 0 ? stdout.trimEnd() : stderr.trimEnd();
  };
  const [objects, statuses, events, logs] = await Promise.all([
    ask('get', 'nodes,pods', '-A', '-o', 'wide'),
    ask('get', 'rooms,mediaclusters', '-A', '-o', 'json').then(conditions),
    ask('get', 'events', '-A', '--sort-by=.metadata.creationTimestamp', '--no-headers').then((text) => tail(text, lastEvents)),
    podLogs(ask),
  ]);
  const parts: [title: string, text: string][] = [
    ['objects', objects],
    ['status of Rooms and MediaClusters', statuses],
    [`the last ${lastEvents} events`, events],
    ...logs,
    ...kubeletLogs(cluster),
    ['programs that ended unexpectedly', cluster.nodes.flatMap(({ failures }) => failures).join('\n')],
  ];
  return parts
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `--- ${title}\n${text}`)
    .join('\n');
}

/** Logs of all our pods, including previous containers. */
async function podLogs(ask: (...args: string[]) => Promise<string>): Promise<[string, string][]> {
  const names = await ask(
    'get',
    'pods',
    '-A',
    '-l',
    'app.kubernetes.io/name=mediarooms',
    '-o',
    'custom-columns=:.metadata.namespace,:.metadata.name',
  );
  const pods = names.split('\n').flatMap((line) => {
    const [namespace, name] = line.trim().split(/\s+/);
    return namespace && name ? [{ namespace, name }] : [];
  });
  const logs = pods.flatMap(({ namespace, name }) =>
    [[], ['--previous']].map(async (flags): Promise<[string, string]> => {
      const text = await ask('-n', namespace, 'logs', name, '--all-containers', `--tail=${lastLines}`, ...flags);
      return [
        `log of ${namespace}/${name}${flags.length > 0 ? ', previous container' : ''}`,
        /previous terminated container/.test(text) ? '' : text,
      ];
    }),
  );
  return Promise.all(logs);
}

function kubeletLogs({ logs }: Cluster): [string, string][] {
  return Object.entries(logs)
    .filter(([name, file]) => name.startsWith('kubelet') && existsSync(file))
    .map(([name, file]) => [`log of ${name}`, tail(readFileSync(file, 'utf8'), lastLines)]);
}

function conditions(text: string): string {
  let items: ReportedObject[];
  try {
    items = (JSON.parse(text) as { items: ReportedObject[] }).items;
  } catch {
    return text;
  }
  return items
    .flatMap(({ kind, metadata, status }) => [
      `${kind} ${metadata.namespace}/${metadata.name} ${status?.phase ?? ''}`.trimEnd(),
      ...(status?.conditions ?? []).map(({ type, status: is, reason = '', message = '' }) =>
        `  ${type}=${is} ${reason} ${message}`.trimEnd(),
      ),
    ])
    .join('\n');
}

const tail = (text: string, lines: number) => text.split('\n').slice(-lines).join('\n');
