// MediaCluster fixtures: resources as the API server returns them, and the operator's context.
import { generateKeyPairSync } from 'node:crypto';
import { mediaClusterSpecSchema } from '../../../crds/media-cluster.ts';
import { apiVersions } from '../../../crds/types.ts';
import type { ClusterContext, SecretData } from '../../../operator/clusters/cluster-context.ts';
import type { StoredCluster } from '../../../operator/clusters/owned.ts';

/** `spec` as written by a user; defaults are added. */
export function testCluster(spec: object = {}, metadata: Partial<StoredCluster['metadata']> = {}): StoredCluster {
  return {
    apiVersion: apiVersions.MediaCluster,
    kind: 'MediaCluster',
    metadata: { name: 'media', namespace: 'calls', uid: '11111111-2222-4333-8444-555555555555', resourceVersion: '1', ...metadata },
    spec: mediaClusterSpecSchema.parse(spec),
  };
}

export const webhookKey = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** A public key of P-256. */
export const partnerKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }).toString();

/** Secrets of a cluster named `media` that the operator creates, and the ones that `richSpec` references. */
export const testSecrets: Readonly<Record<string, SecretData>> = {
  'media-api-tokens': { operator: 'token-of-the-operator', admin: 'token-of-the-admin\n', 'dashboard.read': 'token-that-reads' },
  'media-secret-keys': { current: 'c'.repeat(48), previous: 'p'.repeat(48) },
  'media-cookie': { cookie: 'cookie-of-the-cluster' },
  'access-keys': { backend: 'secret-of-the-access-key-backend\n', 'partner.join': partnerKey },
  'bucket-keys': { accessKeyId: 'key-id-of-s3', secretAccessKey: 'secret-key-of-s3' },
  'hook-keys': { first: webhookKey },
  'turn-credentials': { password: 'password of turn' },
};

export function testFacts(facts: Partial<ClusterContext> = {}): ClusterContext {
  return {
    image: 'registry.example/mediarooms:0.7.0',
    clusterDomain: 'cluster.local',
    serviceMonitors: true,
    secrets: new Map(Object.entries(testSecrets)),
    ...facts,
  };
}

/** A spec that sets every field that affects an object. */
export const richSpec = {
  replicas: 2,
  maxReplicas: 3,
  image: 'registry.example/media@sha256:0000000000000000000000000000000000000000000000000000000000000000',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [{ name: 'registry' }],
  resources: { requests: { cpu: '0.5', memory: '1024Mi' }, limits: { cpu: '2000m', memory: '2Gi' } },
  workersPerNode: 2,
  podTemplate: {
    labels: { team: 'calls' },
    annotations: { 'example.com/note': 'kept' },
    nodeSelector: { pool: 'media' },
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    tolerations: [{ key: 'media', operator: 'Exists' }],
    priorityClassName: 'system-cluster-critical',
    extraEnv: [
      { name: 'SVC_DIST_TICK', value: '15' },
      { name: 'SVC_TRUST_PROXY', value: '10.1.0.0/16' },
      { name: 'SVC_SIP_IP', value: '192.0.2.7' },
      { name: 'EMPTY', value: '' },
      { name: 'FROM_FIELD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    volumes: [{ name: 'films', emptyDir: {} }],
    volumeMounts: [{ name: 'films', mountPath: '/films' }],
  },
  ingress: {
    host: 'media.example',
    className: 'traefik',
    tls: { secretName: 'certificate' },
    annotations: { 'example.com/timeout': '3600' },
    port: 8443,
  },
  config: {
    componentsUsed: ['hls', 'recording', 'sip'],
    logLevel: 'debug',
    corsOrigins: ['https://app.example'],
    iceServers: [
      { urls: ['stun:stun.example:3478'] },
      {
        urls: ['turns:turn.example:5349?transport=tcp'],
        username: 'someone',
        credential: { secretRef: { name: 'turn-credentials', key: 'password' } },
      },
    ],
    webhooks: { urls: ['https://hooks.example/rooms'], maxAge: 600, allowPrivate: true },
    limits: {
      maxRooms: 20,
      maxPeersPerRoom: 50,
      maxTracksPerPeer: 8,
      rateLimitApi: null,
      rateLimitSocket: 100,
      pendingMaxBytes: 1_000_000,
      dataMessageMaxBytes: 8_192,
    },
    timeouts: { peerResumeWindow: 5, accessTokenMaxTtl: 3_600, rawRecordingTtl: null },
    roomDefaults: { peerDisconnectedTimeout: null, peerlessPurgeTimeout: 600 },
    s3: { bucket: 'recordings', region: 'eu-1', endpoint: 'https://s3.example', pathPrefix: 'rooms/' },
    webrtc: { maxIncomingBitrate: 2_500_000, maxWorkerTracks: 300 },
    avMaxCpu: 1.5,
  },
  secrets: { accessKeys: { name: 'access-keys' }, s3: { name: 'bucket-keys' }, webhooks: { name: 'hook-keys' } },
  storage: { persistentVolumeClaim: { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], size: '0.5Gi' } },
  turn: { enabled: true },
  sip: { calls: 6, components: 2 },
  drain: { timeoutSeconds: 120 },
  monitoring: { serviceMonitor: { labels: { release: 'prometheus' }, interval: '30s' } },
  networkPolicy: { monitoringFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
};
