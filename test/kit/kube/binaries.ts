// Where the programs of Kubernetes are, which set-up got.
import { clusterPrograms, controlPlanePrograms, findKubernetes } from '../../../tools/kubernetes/kubernetes.mjs';

export { clusterPrograms, controlPlanePrograms };

type Wanted = Parameters<typeof findKubernetes>[0];

/** Paths of the programs. */
export function kubernetesPrograms<const Names extends Wanted>(wanted: Names): Record<Names[number], string> {
  const { found, missing } = findKubernetes(wanted);
  if (missing.length > 0) throw new Error(`There is no ${missing.join(', ')} yet: run npm run test:kubernetes, which gets them.`);
  return found as Record<Names[number], string>;
}
