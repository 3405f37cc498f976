// Current API data of a pod: ConfigMaps, Secrets and tokens of its ServiceAccount.
import type { JsonClient } from '../https-json.ts';
import { type PodData, usedData } from './pod-env.ts';
import type { Pod } from './pod-spec.ts';
import type { Tokens } from './pod-volumes.ts';

type Keyed = { data?: Record<string, string>; binaryData?: Record<string, string> };

/** Omits missing objects. @throws if the API server does not respond */
export async function readPodData(client: JsonClient, pod: Pod): Promise<PodData> {
  const used = usedData(pod);
  const base = `/api/v1/namespaces/${pod.metadata.namespace}`;
  const read = async (plural: string, names: ReadonlySet<string>, form: 'utf8' | 'base64') => {
    const found = await Promise.all(
      [...names].map(async (name) => [name, await readKeys(client, `${base}/${plural}/${name}`, form)] as const),
    );
    return new Map(found.flatMap(([name, keys]) => (keys === undefined ? [] : [[name, keys] as const])));
  };
  const [configMaps, secrets] = await Promise.all([read('configmaps', used.configMaps, 'utf8'), read('secrets', used.secrets, 'base64')]);
  return { configMaps, secrets };
}

async function readKeys(client: JsonClient, path: string, form: 'utf8' | 'base64'): Promise<Record<string, Buffer> | undefined> {
  const { status, body } = await client.call(path);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`${path}: ${status}`);
  const { data = {}, binaryData = {} } = body as Keyed;
  const keys = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, form)] as const);
  const binary = Object.entries(binaryData).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const);
  return Object.fromEntries([...keys, ...binary]);
}

/** Tokens requested by projected volumes of the pod, by path. */
export async function readTokens(client: JsonClient, { metadata, spec }: Pod): Promise<Tokens> {
  const wanted = (spec.volumes ?? []).flatMap(
    ({ projected }) => projected?.sources?.flatMap((source) => source.serviceAccountToken ?? []) ?? [],
  );
  const tokens = new Map<string, string>();
  for (const { path, expirationSeconds = 3_600, audience } of wanted) {
    const account = `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${spec.serviceAccountName ?? 'default'}`;
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid };
    const request = { spec: { expirationSeconds, boundObjectRef, ...(audience === undefined ? {} : { audiences: [audience] }) } };
    const { status, body } = await client.call(`${account}/token`, { method: 'POST', body: request });
    if (status !== 201) throw new Error(`no token of the ServiceAccount ${spec.serviceAccountName}: ${status}`);
    tokens.set(path, (body as { status: { token: string } }).status.token);
  }
  return tokens;
}
