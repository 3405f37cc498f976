// The two files that nodes follow while they run: settings in a ConfigMap, secrets in a Secret; the bytes, and their hashes as /health tells them.
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { MediaClusterSpec } from '../../crds/types.ts';
import type { ClusterContext, ConditionProblem } from './cluster-context.ts';
import type { ConfigMap, Secret } from './manifests.ts';
import { configKey, namesOf, paths, secretsKey } from './names.ts';
import { ownedMeta, type StoredCluster } from './owned.ts';
import { referenceProblems, SecretValues, secretsOf } from './secrets/secret-values.ts';

export type ConfigFile = {
  /** In the pod, as /health names it. */
  path: string;
  text: string;
  /** Hex, of the bytes that a kubelet writes. */
  sha256: string;
};
export type ConfigFiles = {
  config: ConfigFile;
  secrets: ConfigFile;
  /** Of both, for the annotation of pods. */
  hash: string;
};

/**
 * The files of a cluster. With problems there are none: then what is stored stays in force, and a cluster without any yet waits, as a pod
 * does whose Secret is missing.
 */
export function configFiles(
  cluster: StoredCluster,
  facts: Pick<ClusterContext, 'secrets'>,
): ConfigFiles | { problems: ConditionProblem[] } {
  const { config = {} } = cluster.spec;
  const names = secretsOf(cluster);
  const values = new SecretValues(facts.secrets);
  for (const { reason, message } of referenceProblems(cluster)) values.add(reason, message);
  values.checkCookie(names.cookie);
  const { iceServers, ...settings } = config;
  const secrets = {
    apiTokens: values.apiTokens(names.apiTokens),
    secretKeys: values.secretKeys(names.secretKeys),
    ...(names.webhooks === undefined ? {} : { webhooks: { secret: values.webhookKeys(names.webhooks) } }),
    ...(names.s3 === undefined || config.s3 === undefined ? {} : { s3: values.s3Keys(names.s3) }),
    // As a whole, since a later file replaces a list.
    ...(iceServers === undefined ? {} : { iceServers: iceServers.map((server) => withCredential(server, values)) }),
  };
  if (values.problems.length > 0) return { problems: values.problems };
  // Clusters are not a place for the default of a laptop: webhooks to private addresses are a choice.
  const open = { ...settings, webhooks: { allowPrivate: settings.allowPrivateAddresses ?? false, ...settings.webhooks } };
  const files = { config: file(cluster, paths.config, open), secrets: file(cluster, paths.secrets, secrets) };
  return { ...files, hash: sha256(`${files.config.sha256} ${files.secrets.sha256}`).slice(0, 16) };
}

/** The objects that are mounted into the pods. */
export function configObjects(cluster: StoredCluster, files: ConfigFiles): [ConfigMap, Secret] {
  const metadata = ownedMeta(cluster, namesOf(cluster.metadata.name).config);
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [configKey]: files.config.text } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type: 'Opaque',
      data: { [secretsKey]: Buffer.from(files.secrets.text).toString('base64') },
    },
  ];
}

type IceServer = NonNullable<NonNullable<MediaClusterSpec['config']>['iceServers']>[number];

function withCredential({ credential, ...server }: IceServer, values: SecretValues) {
  const text = credential === undefined ? undefined : values.credential(credential.secretRef);
  return text === undefined ? server : { ...server, credential: text };
}

function file(cluster: StoredCluster, path: string, content: object): ConfigFile {
  const { namespace, name } = cluster.metadata;
  const head = `# Made by the operator from the MediaCluster ${namespace}/${name}: what is changed here is overwritten.\n`;
  const text = head + stringify(content, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });
  return { path, text, sha256: sha256(text) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
