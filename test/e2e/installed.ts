// The chart installed on a cluster of real kubelets, as its users meet it: through kubectl, helm, REST and browsers from outside.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { ensureImages } from '../../tools/images/images.mjs';
import { imageArchivesVariable } from '../../tools/paths.mjs';
import { PagePeer, type Options as PeerOptions } from '../browser/client-kit.ts';
import { problemOfReceived, type ReceivedAnswer } from '../kit/answers/received-answer.ts';
import { type StartedBrowser, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { type Certificates, makeCertificates } from '../kit/kube/cluster/certificates.ts';
import { type Cluster, type ClusterOptions, startCluster } from '../kit/kube/cluster/cluster.ts';
import { diagnosis } from '../kit/kube/cluster/diagnosis.ts';
import { mustKubectl } from '../kit/kube/kubectl.ts';
import { type KubeJson, readSecret, room } from '../kit/kube/read-objects.ts';
import type { Scope } from '../kit/kube/scope.ts';
import { tell, timing } from './timings.ts';

export const chart = join(import.meta.dirname, '../../helm');
/** Of Ingress, and of the page that people in rooms look at. */
export const host = 'rooms.test';
const pageHost = 'app.test';

export type AskOptions = { method?: string; headers?: readonly string[]; body?: string };
export type RestAnswer = { status: number; body: KubeJson };

/** Values of a chart that says no more than where the world reaches it. */
export const minValues = ['--set', `mediaCluster.spec.ingress.host=${host},mediaCluster.spec.ingress.tls.secretName=rooms-tls`];

export class Installed {
  readonly cluster: Cluster;
  readonly certificates: Certificates;
  readonly namespace: string;
  readonly #pageUrl: string;
  /** kubectl in the namespace. @throws with its message */
  readonly kubectl: (...args: string[]) => Promise<string>;
  /** Answers of nodes that are not as openapi.json says, one message each. */
  readonly #problems = new Set<string>();

  private constructor(cluster: Cluster, certificates: Certificates, namespace: string, pageUrl: string) {
    this.cluster = cluster;
    this.certificates = certificates;
    this.namespace = namespace;
    this.#pageUrl = pageUrl;
    this.kubectl = mustKubectl(cluster.server, ['-n', namespace], 300_000);
  }

  /**
   * A cluster with the images on it, a namespace, a certificate and a page; nothing is installed yet. Ends with the scope. After a test that
   * failed it prints what there is to see. `page`: the module that the page runs, if not that of the client library.
   */
  static async prepare(scope: Scope, { page, ...options }: ClusterOptions & { page?: string } = {}): Promise<Installed> {
    const images = options.images ?? (await imageArchives());
    const cluster = await timing('cluster up', () => startCluster(scope, { ...options, images }));
    // Its hosts have lost their power then.
    scope.after(async () => {
      const computed = cluster.nodes.reduce((sum, node) => sum + node.computed, 0);
      tell('computed by pods', computed);
    });
    const namespace = 'media';
    const certificates = await makeCertificates(cluster.server.dir, [host, `*.turn.${host}`, pageHost]);
    const { certificate, key } = certificates;
    const tls = { host: pageHost, cert: readFileSync(certificate), key: readFileSync(key) };
    const pageUrl = await servePlainPage(scope, cluster.here, tls, page);
    const installed = new Installed(cluster, certificates, namespace, pageUrl);
    await cluster.kubectl('create', 'namespace', namespace);
    await installed.kubectl('create', 'secret', 'tls', 'rooms-tls', `--cert=${certificate}`, `--key=${key}`);
    afterEach(async (t) => {
      // Node.js has had `passed` since 21.7; its types do not yet.
      if (!(t as { passed?: boolean }).passed) await show(cluster, t.name);
    });
    afterEach(() => installed.#assertDocumented());
    return installed;
  }

  /** `helm install`; returns when Helm does. */
  async install(release: string, values: readonly string[] = minValues): Promise<void> {
    await this.helm('install', release, chart, ...values);
  }

  helm(...args: string[]): Promise<string> {
    return this.cluster.helm('-n', this.namespace, ...args);
  }

  get<T = KubeJson>(...what: string[]): Promise<T> {
    return this.cluster.get('-n', this.namespace, ...what);
  }

  /** `kubectl apply -f`. */
  async apply(...objects: object[]): Promise<void> {
    await this.cluster.server.apply(
      objects.map((object) => ({ ...object, metadata: { namespace: this.namespace, ...(object as KubeJson).metadata } })),
    );
  }

  async available(name: string, timeoutMs = 120_000): Promise<void> {
    await this.kubectl('wait', '--for=condition=Available', `mediacluster/${name}`, `--timeout=${Math.ceil(timeoutMs / 1_000)}s`);
  }

  /** The pods of a MediaCluster, without those that are ending. */
  async pods(name: string): Promise<KubeJson[]> {
    const { items } = await this.get('pods', '-l', `mediarooms.dev/cluster=${name}`);
    return items.filter(({ metadata }: KubeJson) => metadata.deletionTimestamp === undefined);
  }

  /**
   * Resolves when a MediaCluster has this number of nodes and each reports all of them through its Ingress path. Available needs only one
   * ready node, and a node that has not yet discovered another rejects the rooms of that node.
   * @returns their indexes
   */
  async agreeOn(name: string, replicas: number): Promise<number[]> {
    return this.cluster.until(`${replicas} nodes know of each other`, async () => {
      const indexes = (await this.pods(name)).map(({ metadata }) => Number(metadata.labels['mediarooms.dev/index']));
      const knows = async (index: number) => {
        const [health, nodes] = await Promise.all(['health', 'cluster/nodes'].map((what) => this.rest(name, 'GET', `/n/${index}/${what}`)));
        return health?.body.data.distribution.nodesInCluster === replicas && nodes?.body.data.length === replicas;
      };
      return indexes.length === replicas && (await Promise.all(indexes.map(knows))).every(Boolean) ? indexes : undefined;
    });
  }

  /** Until a MediaCluster is as its newest spec says, and all its nodes know of each other. */
  async settled(name: string): Promise<void> {
    const { metadata, spec } = await this.get('mediacluster', name);
    const conditions = ['Available=True', 'Progressing=False', 'ConfigSynced=True'].map((condition) => `condition=${condition}`);
    for (const wanted of [`jsonpath={.status.observedGeneration}=${metadata.generation}`, ...conditions])
      await this.kubectl('wait', `--for=${wanted}`, `mediacluster/${name}`, '--timeout=120s');
    await this.agreeOn(name, spec.replicas);
  }

  /** When it is Ready. */
  async room(name: string, spec: object = {}): Promise<KubeJson> {
    await this.apply(room(name, spec, this.namespace));
    await this.kubectl('wait', '--for=condition=Ready', `room/${name}`, '--timeout=60s');
    return this.get('room', name);
  }

  /** REST from outside: through Ingress, over TLS that the test's authority vouches for, as the administrator. */
  async rest(release: string, method: string, path: string, json?: unknown): Promise<RestAnswer> {
    const admin = (await readSecret(this.cluster.server, `${release}-api-tokens`, this.namespace))?.admin;
    const headers = [`authorization: Bearer ${admin}`, ...(json === undefined ? [] : ['content-type: application/json'])];
    const { status, body } = await this.ask(`https://${host}${path}`, {
      method,
      headers,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    return { status, body: body === '' ? undefined : JSON.parse(body) };
  }

  /** A request from outside. The answer's head is in `head`. */
  async ask(url: string, { method = 'GET', headers = [], body }: AskOptions = {}): Promise<{ status: number; head: string; body: string }> {
    const places = ['--resolve', `${host}:443:${this.cluster.ingressAddress}`, '--cacert', this.certificates.authority];
    const command = ['curl', '--silent', '--show-error', '--http1.1', '--include', '--max-time', '20', ...places, '--request', method];
    // Standard input appears neither in a list of processes nor in an error.
    const quoted = (option: string, value: string) => `${option} = ${JSON.stringify(value)}`;
    const input = [...headers.map((each) => quoted('header', each)), ...(body === undefined ? [] : [quoted('data', body)])].join('\n');
    const { stdout } = await this.cluster.run([...this.cluster.hub.wrapNetwork, ...command, '--config', '-', url], { input });
    const [, head = '', code = '', text = ''] = /^(HTTP\S+ (\d+)[\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(stdout) ?? [];
    const fields = [...head.matchAll(/^([^\s:]+): *([^\r]*)/gm)].map(([, name = '', value = '']): [string, string] => [name, value]);
    this.see({ method, url, status: Number(code), headers: new Headers(fields), body: text });
    return { status: Number(code), head, body: text };
  }

  /** Fails the test where it is a node's and not as openapi.json says: at its end, since who waits for an answer asks on after one that fails. */
  see(answer: ReceivedAnswer): void {
    const problem = problemOfReceived(answer);
    if (problem !== undefined) this.#problems.add(problem);
  }

  /** A browser outside of the cluster, which trusts the test's authority. */
  browser(t: TestContext): Promise<StartedBrowser> {
    const { ingressAddress, here, browserWrap } = this.cluster;
    const names = `--host-resolver-rules=MAP ${host} ${ingressAddress}, MAP *.${host} ${ingressAddress}, MAP ${pageHost} ${here}`;
    return startBrowser(t, { args: [names, this.certificates.chromiumFlag], wrap: browserWrap, whole: true });
  }

  openPage(browser: StartedBrowser): Promise<Page> {
    return browser.newPage(this.#pageUrl);
  }

  /** Joins as a declared peer of a Room, with what its Secret says. */
  async enter(page: Promise<Page> | Page, room: string, peer: string, options: PeerOptions = {}): Promise<PagePeer> {
    const secret = await readSecret(this.cluster.server, `${room}-peers`, this.namespace);
    const [token = '', url = ''] = ['token', 'url'].map((key) => secret?.[`${peer}.${key}`]);
    return PagePeer.join(await page, peer, { ...options, token, url });
  }

  #assertDocumented(): void {
    const problems = [...this.#problems];
    this.#problems.clear();
    assert.deepEqual(problems, [], 'responses of nodes violate openapi.json');
  }
}

/** What a file needs before its tests. @throws as that does; then it has printed what there is to see */
export async function settle({ cluster }: Installed, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await show(cluster, 'before the tests');
    throw error;
  }
}

async function show(cluster: Cluster, what: string): Promise<void> {
  console.error(`\n=== ${what}: the cluster as it was left\n${await diagnosis(cluster)}\n===\n`);
}

/** Built beforehand, or now. */
async function imageArchives(): Promise<string[]> {
  const given = process.env[imageArchivesVariable];
  return given === undefined ? (await ensureImages()).map(({ archive }) => archive) : JSON.parse(given);
}
