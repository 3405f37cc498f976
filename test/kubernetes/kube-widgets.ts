// Widget kind for tests of the kube layer, independent of Rooms.
import type { TestContext } from 'node:test';
import { type ConnectOptions, KubeClient } from '../../operator/kube/client.ts';
import type { KubeObject, Resource } from '../../operator/kube/objects.ts';
import { eventually } from '../kit/eventually.ts';
import { silentLog } from '../kit/silent-log.ts';

export type Widget = KubeObject & { spec: { size: number }; status?: { seen?: number; phase?: string } };

export const widgets: Resource = { apiVersion: 'tests.mediarooms.dev/v1', kind: 'Widget', plural: 'widgets', namespaced: true };

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.tests.mediarooms.dev' },
  spec: {
    group: 'tests.mediarooms.dev',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: object({
            spec: object(
              { size: { type: 'integer', minimum: 0 } },
              { 'x-kubernetes-validations': [{ rule: 'self.size < 100', message: 'a widget is smaller than 100' }] },
            ),
            status: object({ seen: { type: 'integer' }, phase: { type: 'string' } }),
          }),
        },
      },
    ],
  },
};

export function widget(name: string, size = 1): Widget {
  return { apiVersion: widgets.apiVersion, kind: 'Widget', metadata: { name, namespace: 'default' }, spec: { size } };
}

/** A client that is closed with the test. */
export async function connectTo(t: TestContext, kubeconfig: string, options: Partial<ConnectOptions> = {}): Promise<KubeClient> {
  const defaults = { log: silentLog(), userAgent: 'mediarooms-operator/test', timeoutMs: 10_000, fieldManager: 'mediarooms-operator' };
  const client = await KubeClient.connect({ ...defaults, kubeconfig, ...options });
  t.after(() => client.close());
  return client;
}

/** Waits until the API server serves widgets. */
export async function untilServed(client: KubeClient): Promise<void> {
  await eventually('widgets are served', async () => (await client.serves(widgets)) && client.list(widgets).catch(() => undefined));
}
