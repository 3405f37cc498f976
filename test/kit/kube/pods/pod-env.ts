// Environment of a container, built like a kubelet does.
import type { V1ResourceFieldSelector } from '@kubernetes/client-node';
import type { Container, EnvVariable, Json } from '../../../../operator/kube/kinds.ts';
import type { Pod, Service } from './pod-spec.ts';

/** Why a container cannot be created yet: reported in the status of the pod, and retried. */
export class ContainerConfigError extends Error {}

/** ConfigMaps and Secrets of the namespace of the pod, by name. */
export type PodData = {
  configMaps: ReadonlyMap<string, Readonly<Record<string, Buffer>>>;
  secrets: ReadonlyMap<string, Readonly<Record<string, Buffer>>>;
};

/** Addresses for the downward API. */
export type PodPlace = { podIP: string; hostIP: string };

/** Names of the ConfigMaps and Secrets that a pod uses, as environment or files. */
export function usedData({ spec }: Pod): { configMaps: Set<string>; secrets: Set<string> } {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  const add = (names: Set<string>, name: string | undefined) => name !== undefined && names.add(name);
  for (const { env = [], envFrom = [] } of spec.containers) {
    for (const { valueFrom } of env) {
      add(configMaps, valueFrom?.configMapKeyRef?.name);
      add(secrets, valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      add(configMaps, configMapRef?.name);
      add(secrets, secretRef?.name);
    }
  }
  for (const { configMap, secret, projected } of spec.volumes ?? []) {
    add(configMaps, configMap?.name);
    add(secrets, secret?.secretName);
    for (const source of projected?.sources ?? []) {
      add(configMaps, source.configMap?.name);
      add(secrets, source.secret?.name);
    }
  }
  return { configMaps, secrets };
}

/** `links`: variables of Services, which come first. @throws ContainerConfigError */
export function containerEnvironment(
  container: Container,
  pod: Pod,
  place: PodPlace,
  data: PodData,
  links: Readonly<Record<string, string>>,
): Record<string, string> {
  const env: Record<string, string> = { ...links };
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const { name = '', optional }: { name?: string; optional?: boolean } = configMapRef ?? secretRef ?? { optional: true };
    const found = (configMapRef ? data.configMaps : data.secrets).get(name);
    if (found === undefined && !optional) throw notFound(configMapRef ? 'configmap' : 'secret', name);
    for (const [key, value] of Object.entries(found ?? {})) env[`${prefix}${key}`] = value.toString();
  }
  for (const variable of container.env ?? []) {
    const value = variableValue(variable, container, pod, place, data);
    if (value !== undefined) env[variable.name] = variable.value === undefined ? value : expand(value, env);
  }
  return env;
}

/** `$(NAME)` becomes the variable if it exists; `$$` is a dollar (rules of Kubernetes). */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$|\(([^)]*)\))/g, (whole, _, name?: string) => {
    if (name === undefined) return '$';
    return env[name] ?? whole;
  });
}

function variableValue(variable: EnvVariable, container: Container, pod: Pod, place: PodPlace, data: PodData): string | undefined {
  const from = variable.valueFrom;
  if (from === undefined) return variable.value ?? '';
  if (from.fieldRef) return fieldOf(pod, from.fieldRef.fieldPath, place);
  if (from.resourceFieldRef) return resourceOf(container, from.resourceFieldRef);
  const reference = from.configMapKeyRef ?? from.secretKeyRef;
  if (reference === undefined) return '';
  const { name = '', key, optional } = reference;
  const kind = from.configMapKeyRef ? 'configmap' : 'secret';
  const found = (from.configMapKeyRef ? data.configMaps : data.secrets).get(name);
  const value = found?.[key];
  if (value !== undefined) return value.toString();
  if (optional) return undefined;
  throw found === undefined
    ? notFound(kind, name)
    : new ContainerConfigError(`couldn't find key ${key} in ${kind} ${pod.metadata.namespace}/${name}`);
}

function notFound(kind: string, name: string): ContainerConfigError {
  return new ContainerConfigError(`${kind} "${name}" not found`);
}

/** Fields of the downward API. @throws ContainerConfigError for an unknown field */
export function fieldOf({ metadata, spec }: Pod, path: string, { podIP, hostIP }: PodPlace): string {
  const entry = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (entry) return metadata[entry[1] as 'labels' | 'annotations']?.[entry[2] ?? ''] ?? '';
  const fields: Record<string, () => string> = {
    'metadata.name': () => metadata.name,
    'metadata.namespace': () => metadata.namespace,
    'metadata.uid': () => metadata.uid,
    'metadata.labels': () => formatMap(metadata.labels),
    'metadata.annotations': () => formatMap(metadata.annotations),
    'spec.nodeName': () => spec.nodeName ?? '',
    'spec.serviceAccountName': () => spec.serviceAccountName ?? '',
    'status.hostIP': () => hostIP,
    'status.hostIPs': () => hostIP,
    'status.podIP': () => podIP,
    'status.podIPs': () => podIP,
  };
  const field = fields[path];
  if (field === undefined) throw new ContainerConfigError(`unsupported fieldPath: ${path}`);
  return field();
}

/** Labels or annotations in the file format of the kubelet: `key="value"`, sorted. */
function formatMap(map: Record<string, string> = {}): string {
  return Object.entries(map)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort()
    .join('\n');
}

/** Limits and requests as multiples of the divisor, rounded up. */
export function resourceOf({ resources = {} }: Container, { resource, divisor = '1' }: Json<V1ResourceFieldSelector>): string {
  const [kind, name = ''] = resource.split('.');
  const quantity = (kind === 'limits' ? resources.limits : resources.requests)?.[name];
  return String(quantity === undefined ? 0 : Math.ceil(amountOf(quantity) / (amountOf(divisor) || 1)));
}

const suffixes: Record<string, number> = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

function amountOf(quantity: string): number {
  const [, number = '0', suffix = ''] = /^([0-9.]+)([a-zA-Z]*)$/.exec(quantity) ?? [];
  return Number(number) * (suffixes[suffix] ?? 1);
}

/** Variables for each Service of the namespace, which `enableServiceLinks: false` disables. */
export function serviceLinks(services: readonly Service[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { metadata, spec } of services) {
    const [first] = spec.ports ?? [];
    if (!spec.clusterIP || spec.clusterIP === 'None' || first === undefined) continue;
    const name = metadata.name.toUpperCase().replaceAll('-', '_');
    env[`${name}_SERVICE_HOST`] = spec.clusterIP;
    env[`${name}_SERVICE_PORT`] = String(first.port);
    env[`${name}_PORT`] = `${(first.protocol ?? 'TCP').toLowerCase()}://${spec.clusterIP}:${first.port}`;
  }
  return env;
}
