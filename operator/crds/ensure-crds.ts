// Startup step of the operator: ensures that both CRDs exist, are not outdated and are served.
import { mediaClusterDefinition, roomDefinition } from '../../crds/crd-manifests.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isConflict, isForbidden, isUnavailable, KubeError } from '../kube/http/kube-error.ts';
import { type Resource, resources } from '../kube/objects.ts';
import type { Log } from '../log.ts';
import { type Definition, decideUpgrade, notEstablishedReason, versionOf } from './crd-upgrade.ts';

export type EnsureOptions = {
  client: Pick<KubeClient, 'get' | 'create' | 'apply' | 'serves'>;
  log: Log;
  /** Whether CRDs may be created and upgraded; otherwise they only must exist. */
  apply: boolean;
  /** The client only performs dry runs, so there is no result to wait for. */
  dryRun?: boolean;
  /** Ends the wait: `sleep` rejects with its reason. */
  signal: AbortSignal;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds, e.g. `performance.now`. */
  now: () => number;
  /** Timeout in milliseconds. */
  timeoutMs?: number;
};

const kinds = [
  { resource: resources.rooms, ours: roomDefinition as unknown as Definition },
  { resource: resources.mediaClusters, ours: mediaClusterDefinition as unknown as Definition },
] as const;
const pollMs = 250;

/** The operator cannot start until a user fixes the cause. */
export class CrdError extends Error {
  override readonly name = 'CrdError';
}

/** @throws CrdError with the cause; the reason of the signal */
export async function ensureCrds(options: EnsureOptions): Promise<void> {
  const until = options.now() + (options.timeoutMs ?? 60_000);
  for (const kind of kinds) await ensure(kind, options, until);
}

type Kind = { resource: Resource; ours: Definition };

async function ensure(kind: Kind, options: EnsureOptions, until: number): Promise<void> {
  const { name } = kind.ours.metadata;
  for (let letIn = false; ; ) {
    options.signal.throwIfAborted();
    let problem: string;
    try {
      const why = await step(kind, options);
      if (why === undefined) return;
      problem = `CRD ${name} is not usable: ${why}`;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      problem = `CRD ${name} is not usable: ${error.message}`;
      if (isForbidden(error)) {
        // A starting API server rejects all requests until it has loaded its RBAC rules. A rejection counts only after discovery succeeded.
        const served = await servesNow(kind, options);
        if (served && letIn) return withoutPermission(kind, options);
        letIn = served !== undefined;
        if (served === false)
          problem = `The CRD of kind ${kind.resource.kind} is not installed, and this operator has no permission to install it (${error.message}): kubectl apply -f crds/`;
      }
      // After a conflict with another operator the CRD is read again.
      else if (!isConflict(error) && !isAlreadyExists(error) && !isUnavailable(error))
        throw new CrdError(`The API server rejected CRD ${name}: ${error.message}`, { cause: error });
    }
    if (options.now() >= until) throw new CrdError(problem);
    await options.sleep(pollMs, options.signal);
  }
}

/** One attempt. @returns why another attempt is needed; undefined if the CRD is usable */
async function step({ resource, ours }: Kind, options: EnsureOptions): Promise<string | undefined> {
  const { client, log } = options;
  const { name } = ours.metadata;
  const definitions = resources.customResourceDefinitions;
  const installed = await client.get<Definition>(definitions, { name });
  const upgradeDecision = decideUpgrade(installed, ours);
  if (upgradeDecision === 'wait') return 'it is being deleted';
  const versions = { definition: name, version: versionOf(ours), ...(installed && { installed: versionOf(installed) }) };
  if (upgradeDecision === 'create' && !options.apply)
    return 'it is not installed, and this operator has no permission to install it: kubectl apply -f crds/';
  if (upgradeDecision === 'create') {
    // Created, not applied: an apply would overwrite the CRD that a newer operator may create concurrently.
    await client.create(definitions, ours);
    if (options.dryRun) return undefined;
    log.info(versions, 'CRD created');
    return 'the API server has not established it yet';
  }
  if (upgradeDecision === 'replace' && options.apply) {
    const { resourceVersion } = installed?.metadata ?? {};
    await client.apply<Definition>(definitions, { ...ours, metadata: { ...ours.metadata, ...(resourceVersion && { resourceVersion }) } });
    if (options.dryRun) return dryRunUpgrade(resource, client);
    log.info(versions, 'CRD upgraded');
    return 'the API server has not established it yet';
  }
  const why = notEstablishedReason(installed ?? ours);
  if (why !== undefined) return why;
  if (!(await client.serves(resource))) {
    if (upgradeDecision !== 'replace') return 'the API server does not serve it yet';
    return `it does not serve ${resource.apiVersion}, and this operator has no permission to upgrade it: kubectl apply -f crds/`;
  }
  if (upgradeDecision === 'replace') log.warn(versions, 'CRD outdated, operator lacks permission to upgrade it');
  if (upgradeDecision === 'newer') log.info(versions, 'installed CRD is newer, keeping it');
  return undefined;
}

/** @throws CrdError if the objects cannot be read without the upgrade */
async function dryRunUpgrade(resource: Resource, client: EnsureOptions['client']): Promise<undefined> {
  if (await client.serves(resource)) return undefined;
  throw new CrdError(`A dry run cannot read ${resource.apiVersion}, which the API server does not serve yet: kubectl apply -f crds/`);
}

/** Whether the API server supports the kind; undefined if discovery is unavailable. */
async function servesNow({ resource }: Kind, { client }: EnsureOptions): Promise<boolean | undefined> {
  try {
    return await client.serves(resource);
  } catch (error) {
    if (isForbidden(error) || isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Without permission to read CRDs the kinds may still exist. */
function withoutPermission({ ours }: Kind, { log }: EnsureOptions): void {
  log.warn({ definition: ours.metadata.name }, 'no permission to read CRDs, cannot check their version');
}
