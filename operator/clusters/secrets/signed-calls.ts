// Features that nodes before 0.8 do not support: signed requests, and the cookie as a file. Pods are annotated for signed requests in the API
// server; the response of a node or a proxy is never trusted for this decision.
import type { ClusterContext } from '../cluster-context.ts';
import { annotation } from '../names.ts';
import type { ObservedPod } from '../observed-objects.ts';
import type { StoredCluster } from '../owned.ts';

const [signed, bearer] = ['signed', 'bearer'];

/** Annotation of new pods. */
export function callsAnnotation({ spec }: StoredCluster, facts: Pick<ClusterContext, 'image'>): Record<string, string> {
  return isOld(spec.image, facts.image) ? {} : { [annotation.calls]: signed };
}

/** The annotation of a MediaCluster can declare that its nodes do not support signatures; it overrides the pods. */
export function isSigned(cluster: StoredCluster, pod: ObservedPod): boolean {
  return pod.metadata.annotations?.[annotation.calls] === signed && cluster.metadata.annotations?.[annotation.calls] !== bearer;
}

/** Whether the nodes read the cookie from a file, as nodes since 0.8 do. */
export function readsCookieFile({ spec, metadata }: StoredCluster, facts: Pick<ClusterContext, 'image'>): boolean {
  return !isOld(spec.image, facts.image) && metadata.annotations?.[annotation.calls] !== bearer;
}

/** Whether the image tag is a release before 0.8. The default image has the version of the operator. */
function isOld(image: string | undefined, byDefault: string): boolean {
  return image !== undefined && image !== byDefault && /:v?0\.[0-7](?!\d)[^/]*$/.test(image);
}
