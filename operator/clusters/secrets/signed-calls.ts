// Which nodes are called with a signature in place of the API token: pods that were made for that, as the API server says, never as a node or
// whoever sits before it says.

import { annotation } from '../names.ts';
import type { ObservedPod } from '../observed-objects.ts';
import type { StoredCluster } from '../owned.ts';

const [signed, bearer] = ['signed', 'bearer'];

/** What is written on a pod that is made now. */
export function callsAnnotation({ spec: { image } }: StoredCluster): Record<string, string> {
  return image !== undefined && isOld(image) ? {} : { [annotation.calls]: signed };
}

/** A MediaCluster may say that its nodes do not know signatures, whatever is written on its pods. */
export function isSigned(cluster: StoredCluster, pod: ObservedPod): boolean {
  return pod.metadata.annotations?.[annotation.calls] === signed && cluster.metadata.annotations?.[annotation.calls] !== bearer;
}

/** By its tag a release before 0.8. */
function isOld(image: string): boolean {
  return /:v?0\.[0-7](?!\d)[^/]*$/.test(image);
}
