// Reference of conditions and reasons of both resources, printed in docs/reference/resources.md. A test compares it with the operator.

export type ConditionReference = {
  /** Meaning of each condition. */
  conditions: Readonly<Record<string, string>>;
  /** Meaning of each reason, and what to do. */
  reasons: Readonly<Record<string, string>>;
  /** Reasons with which an object makes no progress until a user acts: condition Stalled. */
  stalled: readonly string[];
};

const reconciling = 'The operator is working on the object, or waits for something. Exists only while it is True.';
const stalled = 'The object makes no progress until a user acts; the operator still retries. Exists only while it is True.';

export const roomConditions = {
  conditions: {
    Accepted: 'The MediaCluster is resolved, and the room id is free for this Room.',
    Placed: 'The room exists on a node.',
    Ready: 'The room and everything declared in the spec is ready. `kubectl wait --for=condition=Ready` waits for it.',
    Degraded: 'The room exists, but something declared in the spec is missing or does not work.',
    Reconciling: reconciling,
    Stalled: stalled,
    Finished: 'The room ended as intended. A Finished Room has no condition Ready, because it never becomes ready again.',
  },
  reasons: {
    Accepted: 'The spec is valid, its MediaCluster exists and the room id is free.',
    Placed: 'The room exists on a node of the MediaCluster.',
    Ready: 'The room and everything declared in the spec is ready.',
    AsDeclared: 'Everything declared in the spec is working.',
    ClusterNotFound: 'The namespace has no MediaCluster of that name, or no MediaCluster at all.',
    ClusterNotNamed: 'The namespace has several MediaClusters: set spec.clusterRef.name.',
    RoomIdTaken: 'The room id is in use by another Room or by a room created over REST.',
    InvalidSpec: 'The Room was stored under an older CRD and does not match the current one.',
    NoReadyNode: 'No node of the MediaCluster is ready; the room is placed as soon as a node is ready.',
    NoNodeAcceptsRooms: 'All nodes are full or draining; the operator retries.',
    NodeUnreachable: 'The operator could not reach the node of the room; it retries.',
    NoToken: 'The API token Secret of the MediaCluster has no token for the operator.',
    TokenRefused: 'The nodes rejected the API token of the operator; it retries.',
    RefusedByNode: 'A node rejected the room; the message is from the node.',
    ConfigRefused: 'The node rejected a change of the room; the message is from the node.',
    ComponentRefused:
      'The node rejected a component, for example because its type is not in config.componentsUsed or its file does not exist.',
    ComponentNotNow: 'The node has no capacity for another component; the operator retries.',
    ComponentCrashed: 'A component crashed three times within ten minutes; it is restarted after a pause.',
    UploadsFail:
      'Uploads of a recording or stream to S3 fail; the message is from the node. The room stays Ready, and its files stay on the node until the upload succeeds.',
    PeerRefused: 'The node rejected a peer, for example because its metadata exceeds 16 KiB.',
    PeerIdTaken: 'A peer with that id was created over REST.',
    RoomFull: 'The room has reached its maximum number of peers.',
    SecretMissing: 'A Secret that a component needs does not exist; the operator continues as soon as it exists.',
    SecretKeyMissing: 'A key is missing in a Secret that a component needs.',
    SecretNotLabeled:
      'A Secret that a component needs is not released for Rooms: its label mediarooms.dev/room-secret is not "true". A component that already runs with it is kept.',
    SecretNotOurs: 'The name of the Secret for peer tokens is in use by a Secret that the operator did not create.',
    RoomLost: 'The room was lost with its node; spec.recreate decides whether it is recreated.',
    RoomCrashed: 'The room crashed and is being recreated.',
    CrashedTooOften: 'The room crashed three times within ten minutes; it is recreated 30 s after the last crash.',
    Deleted: 'The room was deleted over REST; the Room is Finished.',
    Purged: 'No peer was connected for peerlessPurgeTimeout; the Room is Finished.',
    Deleting: 'The Room is being deleted, but its node is not reachable yet.',
  },
  stalled: [
    'ClusterNotNamed',
    'RoomIdTaken',
    'InvalidSpec',
    'RefusedByNode',
    'ConfigRefused',
    'ComponentRefused',
    'PeerRefused',
    'PeerIdTaken',
    'SecretNotOurs',
  ],
} as const satisfies ConditionReference;

export const mediaClusterConditions = {
  conditions: {
    Ready:
      'The cluster matches its spec: all nodes are ready and current, except those that a held rollout keeps. During a rollout or a drain it is False although the cluster serves; see Available.',
    Reconciling: reconciling,
    Stalled: stalled,
    Available: 'At least one node is ready.',
    Progressing: 'The operator is changing the nodes.',
    ConfigSynced: 'Every node reports that it runs with the current configuration.',
    Degraded: 'Something is wrong; the cluster runs with reduced function.',
  },
  reasons: {
    NodesReady: 'The desired number of nodes is ready.',
    NoNodeReady: 'No node is ready; the message names what the first node waits for.',
    ScaledToZero: 'spec.replicas is 0.',
    Complete: 'All nodes match the spec.',
    Stopped: 'Nodes are missing and cannot be created; see condition Degraded.',
    Creating: 'A pod is being created.',
    Starting: 'A pod is not ready yet.',
    Replacing: 'A pod failed and is being replaced.',
    RollingOut: 'Pods of an older template are being replaced; the new pod starts before the old one ends.',
    NoRoomForSurge: 'The extra pod of a rollout is not scheduled; after rollout.surgeTimeoutSeconds the rollout continues without it.',
    RolloutHeld: 'Pods keep an older template: rollout.paused or partition, or another MediaCluster is rolled first.',
    Draining: 'A node that will be removed waits for its live rooms to end.',
    CallingBack: 'The drain of a node is being cancelled.',
    HostLeaving: 'A Kubernetes node was cordoned or will be removed; its pods are being replaced.',
    Ending: 'A pod is terminating.',
    ConfigPending: 'A new configuration is being distributed to the nodes.',
    KeysRotating: 'The token keys are being rotated.',
    InForce: 'All nodes run with the configuration of the spec.',
    Waiting: 'Some nodes have not loaded the configuration yet.',
    Refused: 'A node rejected the configuration; the message is from the node.',
    NoNodes: 'No node is running.',
    AsExpected: 'The operator has found no problem.',
    SecretMissing:
      'A Secret that the spec names does not exist. The previous configuration stays effective; without one, no pod is created until the Secret exists.',
    SecretKeyMissing: 'A key is missing in a Secret.',
    SecretInvalid: 'A value in a Secret is invalid, for example an API token that is too short.',
    CookieChanged:
      'The cookie in its Secret was changed while the cluster has pods. It becomes effective when the cluster has none: scale it to 0, then back.',
    SecretNotNamed: 'config.s3 needs secrets.s3.',
    SecretShared: 'A Secret of which all keys are used is named twice.',
    CredentialNotNamed: 'A TURN server needs username and credential.',
    KeysNotOurs: 'keyRotation can rotate only keys that the operator created.',
    NotOurs: 'An object of that name exists and is not controlled by this MediaCluster; it was not changed.',
    ObjectRefused: 'The API server rejected an object that the cluster needs; the message is from the API server.',
    PodRefused: 'The API server rejected the pod; the message is from the API server.',
    PodPending: 'A pod is not scheduled yet.',
    HostUnknown: 'The addresses of a Kubernetes node are not known yet.',
    HostLost: 'A Kubernetes node is unreachable; its pods are being replaced.',
    LoadBalancerPending: 'A load balancer has no address yet.',
    NoFreeIndex: 'All pod indexes that maxReplicas allows are in use, for example by terminating pods.',
    NoPorts: 'media.ports has no free block for another pod.',
    TooFewPorts: 'media.ports has fewer ports than the cluster may need.',
    NodesNotReadable: 'The operator has no permission to read Nodes: external addresses and drain on cordon are disabled.',
    NoHttpRoutes: 'The API server does not support HTTPRoutes of the Gateway API.',
    NoTlsRoutes: 'The API server does not support TLSRoutes of the Gateway API (v1).',
    NoIngressRouteTcps: 'The API server does not support IngressRouteTCPs of Traefik.',
    NoServiceMonitors: 'The API server does not support ServiceMonitors.',
    RecordingsNotKept: 'Recordings are lost with their pod: set storage or config.s3.',
  },
  stalled: [
    'Stopped',
    'Refused',
    'SecretInvalid',
    'SecretNotNamed',
    'SecretShared',
    'CredentialNotNamed',
    'KeysNotOurs',
    'NotOurs',
    'ObjectRefused',
    'PodRefused',
    'NoFreeIndex',
    'NoPorts',
    'NoHttpRoutes',
    'NoTlsRoutes',
    'NoIngressRouteTcps',
    'NoServiceMonitors',
  ],
} as const satisfies ConditionReference;
