// The operator's start: the definitions of our two kinds are there, not older than ours, and served.
import { mediaClusterDefinition, roomDefinition } from '../../crds/crd-manifests.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isConflict, isForbidden, isUnavailable, KubeError } from '../kube/http/kube-error.ts';
import { type Resource, resources } from '../kube/objects.ts';
import type { Log } from '../log.ts';
import { type Definition, decideUpgrade, notEstablishedReason, versionOf } from './crd-upgrade.ts';

export type EnsureOptions = {
  client: Pick<KubeClient, 'get' | 'create' | 'apply' | 'serves'>;
  log: Log;
  /** Whether definitions may be made and replaced; else they only must be there. */
  apply: boolean;
  /** Writes of the client are rehearsed: nothing comes of them, so nothing is waited for. */
  dryRun?: boolean;
  /** Ends the wait: `sleep` rejects with its reason. */
  signal: AbortSignal;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds, e.g. `performance.now`. */
  now: () => number;
  /** Milliseconds until it gives up. */
  timeoutMs?: number;
};

const kinds = [
  { resource: resources.rooms, ours: roomDefinition as unknown as Definition },
  { resource: resources.mediaClusters, ours: mediaClusterDefinition as unknown as Definition },
] as const;
const pollMs = 250;

/** The operator cannot start, for a reason that people have to remove. */
export class CrdError extends Error {
  override readonly name = 'CrdError';
}

/** @throws CrdError with what stands in the way; the reason of the signal */
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
      problem = `The definition ${name} does not work: ${why}`;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      problem = `The definition ${name} does not work: ${error.message}`;
      if (isForbidden(error)) {
        // An API server that starts refuses everybody until it has read its rules. What it refuses once it has told what it serves is meant.
        const served = await servesNow(kind, options);
        if (served && letIn) return withoutPermission(kind, options);
        letIn = served !== undefined;
        if (served === false)
          problem = `The kind ${kind.resource.kind} is not installed, and this operator may not install it (${error.message}): kubectl apply -f crds/`;
      }
      // A conflict: another operator was faster, so look again.
      else if (!isConflict(error) && !isAlreadyExists(error) && !isUnavailable(error))
        throw new CrdError(`The API server refuses the definition ${name}: ${error.message}`, { cause: error });
    }
    if (options.now() >= until) throw new CrdError(problem);
    await options.sleep(pollMs, options.signal);
  }
}

/** One look, and what follows from it. @returns why it has to be looked at again; undefined when all is well */
async function step({ resource, ours }: Kind, options: EnsureOptions): Promise<string | undefined> {
  const { client, log } = options;
  const { name } = ours.metadata;
  const definitions = resources.customResourceDefinitions;
  const installed = await client.get<Definition>(definitions, { name });
  const upgradeDecision = decideUpgrade(installed, ours);
  if (upgradeDecision === 'wait') return 'it is being deleted';
  const versions = { definition: name, version: versionOf(ours), ...(installed && { installed: versionOf(installed) }) };
  if (upgradeDecision === 'create' && !options.apply)
    return 'it is not installed, and this operator may not install it: kubectl apply -f crds/';
  if (upgradeDecision === 'create') {
    // Not applied, since that would take the place of one that a younger operator makes at this moment.
    await client.create(definitions, ours);
    if (options.dryRun) return undefined;
    log.info(versions, 'Definition made');
    return 'the API server has not established it yet';
  }
  if (upgradeDecision === 'replace' && options.apply) {
    const { resourceVersion } = installed?.metadata ?? {};
    await client.apply<Definition>(definitions, { ...ours, metadata: { ...ours.metadata, ...(resourceVersion && { resourceVersion }) } });
    if (options.dryRun) return undefined;
    log.info(versions, 'Definition replaced, which was older');
    return 'the API server has not established it yet';
  }
  const why = notEstablishedReason(installed ?? ours);
  if (why !== undefined) return why;
  if (!(await client.serves(resource))) return 'the API server does not serve it yet';
  if (upgradeDecision === 'replace') log.warn(versions, 'The installed definition is older, and this operator may not replace it');
  if (upgradeDecision === 'newer') log.info(versions, 'The installed definition is newer and stays');
  return undefined;
}

/** Whether the API server knows the kind; undefined where it does not say now. */
async function servesNow({ resource }: Kind, { client }: EnsureOptions): Promise<boolean | undefined> {
  try {
    return await client.serves(resource);
  } catch (error) {
    if (isForbidden(error) || isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Without the right to read definitions the kinds may still be there. */
function withoutPermission({ ours }: Kind, { log }: EnsureOptions): void {
  log.warn(
    { definition: ours.metadata.name },
    'This operator may not look after the definition of its kind; whether the installed one is old is not known',
  );
}
