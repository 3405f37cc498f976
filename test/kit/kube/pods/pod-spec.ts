// Types of Kubernetes objects that the pod runner reads.

export type Meta = {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
};
export type ApiObject = { metadata: Meta };

export type KeyReference = { name: string; key: string; optional?: boolean };
export type WholeReference = { name: string; optional?: boolean };
export type FieldReference = { fieldPath: string };
export type ResourceReference = { resource: string; divisor?: string };
export type EnvVar = {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: FieldReference;
    resourceFieldRef?: ResourceReference;
    configMapKeyRef?: KeyReference;
    secretKeyRef?: KeyReference;
  };
};
export type EnvFrom = { prefix?: string; configMapRef?: WholeReference; secretRef?: WholeReference };

export type Probe = {
  httpGet?: { path?: string; port: number | string; scheme?: string; httpHeaders?: { name: string; value: string }[] };
  tcpSocket?: { port: number | string };
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
};
export type ContainerPort = { name?: string; containerPort: number; hostPort?: number; protocol?: string };
export type VolumeMount = { name: string; mountPath: string; subPath?: string };
export type Container = {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  envFrom?: EnvFrom[];
  ports?: ContainerPort[];
  volumeMounts?: VolumeMount[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
};

export type KeyToPath = { key: string; path: string; mode?: number };
export type DownwardItem = { path: string; fieldRef?: FieldReference; resourceFieldRef?: ResourceReference };
export type Projection = {
  configMap?: WholeReference & { items?: KeyToPath[] };
  secret?: WholeReference & { items?: KeyToPath[] };
  downwardAPI?: { items?: DownwardItem[] };
  serviceAccountToken?: { path: string; expirationSeconds?: number; audience?: string };
};
export type Volume = {
  name: string;
  configMap?: WholeReference & { items?: KeyToPath[] };
  secret?: { secretName: string; optional?: boolean; items?: KeyToPath[] };
  downwardAPI?: { items?: DownwardItem[] };
  projected?: { sources?: Projection[] };
  emptyDir?: object;
  persistentVolumeClaim?: { claimName: string };
};

export type Toleration = { key?: string; operator?: string; value?: string; effect?: string };
export type Taint = { key: string; value?: string; effect: string };
export type NodeSelectorTerm = { matchExpressions?: { key: string; operator: string; values?: string[] }[] };
export type PodCondition = { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string };

export type Pod = ApiObject & {
  spec: {
    nodeName?: string;
    nodeSelector?: Record<string, string>;
    affinity?: {
      nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] } };
    };
    tolerations?: Toleration[];
    containers: Container[];
    volumes?: Volume[];
    restartPolicy?: string;
    terminationGracePeriodSeconds?: number;
    serviceAccountName?: string;
    hostname?: string;
    subdomain?: string;
    hostNetwork?: boolean;
    enableServiceLinks?: boolean;
  };
  status?: { phase?: string; podIP?: string; conditions?: PodCondition[]; containerStatuses?: ContainerStatus[] };
};

export type Terminated = { exitCode: number; reason: string };
export type ContainerStatus = {
  name: string;
  ready: boolean;
  restartCount: number;
  state: { running?: object; terminated?: Terminated; waiting?: { reason: string; message?: string } };
  lastState: { terminated?: Terminated };
};

export type ServicePort = { name?: string; port: number; targetPort?: number | string; nodePort?: number; protocol?: string };
export type Service = ApiObject & {
  spec: {
    type?: string;
    clusterIP?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    publishNotReadyAddresses?: boolean;
    externalTrafficPolicy?: string;
  };
  status?: { loadBalancer?: { ingress?: { ip?: string }[] } };
};

export type HostObject = ApiObject & {
  spec?: { unschedulable?: boolean; taints?: Taint[] };
};

/** Whether a pod runs or will run. */
export function isLive(pod: Pod): boolean {
  return pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed';
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Whether labels match a selector. A missing selector selects nothing. */
export function selects(selector: Record<string, string> | undefined, labels: Record<string, string> = {}): boolean {
  return selector !== undefined && Object.entries(selector).every(([key, value]) => labels[key] === value);
}
