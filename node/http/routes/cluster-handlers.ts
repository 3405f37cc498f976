// Handlers of operations on nodes, drains, their configuration and webhooks.
import type { clusterOperations } from '../../../api/operations/cluster.ts';
import type { webhookOperations } from '../../../api/operations/webhooks.ts';
import type { ClusterControl } from '../../rooms/services/cluster-control.ts';
import type { Handlers } from '../../rooms/services/operations.ts';
import type { WebhookAdmin } from '../../rooms/services/webhook-admin.ts';

export function clusterHandlers(cluster: ClusterControl): Handlers<typeof clusterOperations> {
  return {
    listNodes: () => cluster.nodes(),
    getDrain: ({ params }) => cluster.drainView(params.nodeName),
    drainNode: ({ params, body }) => cluster.drain(params.nodeName, body),
    cancelDrain: ({ params }) => cluster.cancelDrain(params.nodeName),
    getConfig: async ({ query }) => {
      const { values, ...rest } = await cluster.config(query.node);
      return { data: values, ...rest };
    },
  };
}

export function webhookHandlers(webhooks: WebhookAdmin): Handlers<typeof webhookOperations> {
  return {
    getWebhooks: async () => {
      const { nodes, incomplete } = await webhooks.status();
      return { data: nodes, incomplete };
    },
    listDeadLetters: async ({ query }) => {
      const { letters, incomplete } = await webhooks.deadLetters({ roomId: query.roomId }, query.limit ?? 100);
      return { data: letters, incomplete };
    },
    replayDeadLetters: async ({ body }) => {
      const { replayed, incomplete } = await webhooks.replay(body);
      return { data: { replayed }, incomplete };
    },
  };
}
