// CRD upgrade: decides how to handle an installed CustomResourceDefinition. Pure.
import { versionAnnotation } from '../../crds/crd-manifests.ts';
import type { KubeObject, Stored } from '../kube/objects.ts';

type DefinitionCondition = { type: string; status: string; reason?: string; message?: string };
export type Definition = KubeObject & {
  spec?: { versions?: readonly { name: string; served: boolean }[] };
  status?: { conditions?: DefinitionCondition[] };
};

export type UpgradeDecision =
  /** It does not exist. */
  | 'create'
  /** It is older, has no version because no operator created it, or does not serve a version that this operator needs. */
  | 'replace'
  /** Same version. */
  | 'keep'
  /** It belongs to a newer operator. */
  | 'newer'
  /** It is being deleted, with every resource of its kind. */
  | 'wait';

/** Release version of a CRD; undefined if it has none. */
export function versionOf(definition: KubeObject): string | undefined {
  return definition.metadata.annotations?.[versionAnnotation];
}

/** Negative if `one` is older, by section 11 of Semantic Versioning 2.0.0; an invalid version is older than all. */
export function compareVersions(one: string | undefined, other: string | undefined): number {
  const [first, second] = [orderOf(one), orderOf(other)];
  const differences = first.numbers.map((number, place) => number - (second.numbers[place] ?? 0));
  return differences.find((difference) => difference !== 0) ?? naturally.compare(first.before, second.before);
}

const naturally = new Intl.Collator('en', { numeric: true });

/** `before`: the pre-release identifiers, after the hyphen. */
function orderOf(version = ''): { numbers: number[]; before: string } {
  const [, major, minor, patch, before = ''] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+.*)?$/.exec(version) ?? [];
  if (major === undefined) return { numbers: [-1, 0, 0, 0], before: '' };
  return { numbers: [Number(major), Number(minor), Number(patch), before === '' ? 1 : 0], before };
}

export function decideUpgrade(installed: Stored<Definition> | undefined, ours: Definition): UpgradeDecision {
  if (!installed) return 'create';
  if (installed.metadata.deletionTimestamp !== undefined) return 'wait';
  const difference = compareVersions(versionOf(ours), versionOf(installed));
  if (difference > 0) return 'replace';
  if (difference < 0) return 'newer';
  return servedBy(ours).every((name) => servedBy(installed).includes(name)) ? 'keep' : 'replace';
}

function servedBy({ spec }: Definition): string[] {
  return (spec?.versions ?? []).filter(({ served }) => served).map(({ name }) => name);
}

/** Why a CRD is not established, as a message; undefined if it is. */
export function notEstablishedReason(definition: Definition): string | undefined {
  const conditions = definition.status?.conditions ?? [];
  const refused = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
  if (refused) return `its names were rejected: ${refused.message ?? refused.reason ?? 'another kind has them'}`;
  if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined;
  return 'the API server has not established it yet';
}
