// What is to be done about a CustomResourceDefinition: pure decisions.
import { versionAnnotation } from '../../crds/definitions.ts';
import type { KubeObject, Stored } from '../kube/objects.ts';

type DefinitionCondition = { type: string; status: string; reason?: string; message?: string };
export type Definition = KubeObject & { spec?: unknown; status?: { conditions?: DefinitionCondition[] } };

export type Verdict =
  /** There is none. */
  | 'create'
  /** It is older than ours, or says no version: not of an operator. */
  | 'replace'
  /** It is ours. */
  | 'keep'
  /** It is of a younger operator, which knows what it does. */
  | 'newer'
  /** It is being deleted, with every resource of its kind. */
  | 'wait';

/** The version of a definition; 0 where it says none. */
export function versionOf(definition: KubeObject): number {
  const text = definition.metadata.annotations?.[versionAnnotation];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

export function judge(installed: Stored<Definition> | undefined, ours: Definition): Verdict {
  if (!installed) return 'create';
  if (installed.metadata.deletionTimestamp !== undefined) return 'wait';
  const difference = versionOf(ours) - versionOf(installed);
  if (difference > 0) return 'replace';
  return difference === 0 ? 'keep' : 'newer';
}

/** Why a definition does not work yet, in a sentence; undefined where it does. */
export function whyNotEstablished(definition: Definition): string | undefined {
  const conditions = definition.status?.conditions ?? [];
  const refused = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
  if (refused) return `its names are refused: ${refused.message ?? refused.reason ?? 'another kind has them'}`;
  if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined;
  return 'the API server has not established it yet';
}
