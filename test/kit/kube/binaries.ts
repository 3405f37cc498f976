// Paths of the Kubernetes programs that setup downloaded or built.
import { clusterPrograms, controlPlanePrograms, findKubernetes } from '../../../tools/kubernetes/kubernetes.mjs';

export { clusterPrograms, controlPlanePrograms };

type Wanted = Parameters<typeof findKubernetes>[0];

/** Paths of the programs. */
export function kubernetesPrograms<const Names extends Wanted>(wanted: Names): Record<Names[number], string> {
  const { found, missing } = findKubernetes(wanted);
  if (missing.length > 0) throw new Error(`${missing.join(', ')} missing: run npm run test:kubernetes, which builds them.`);
  return found as Record<Names[number], string>;
}
