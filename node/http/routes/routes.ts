// Routes: every operation with its handler. Paths that are not listed in the table of operations are neither served nor documented.
import type { InputOf, Operation, ResultOf } from '../../../api/core/operation.ts';
import { operations } from '../../../api/operations/table.ts';
import type { ClusterControl } from '../../rooms/services/cluster-control.ts';
import type { ContentService, RecordingList } from '../../rooms/services/content.ts';
import type { Handler, Handlers, OperationRunner } from '../../rooms/services/operations.ts';
import type { RenderControl } from '../../rooms/services/renders.ts';
import type { RoomService } from '../../rooms/services/room-service.ts';
import type { WebhookAdmin } from '../../rooms/services/webhook-admin.ts';
import type { ViewerTokens } from '../../rooms/tokens/viewer-tokens.ts';
import { clusterHandlers, webhookHandlers } from './cluster-handlers.ts';
import { hlsHandlers, recordingHandlers } from './content-handlers.ts';
import { type NodeServices, nodeHandlers } from './node-handlers.ts';
import { roomHandlers } from './room-handlers.ts';

export const routes: readonly Operation[] = Object.values(operations);

/** Services that the handlers use. */
export type RouteServices = NodeServices & {
  rooms: RoomService;
  cluster: ClusterControl;
  webhooks: WebhookAdmin;
  /** HLS and recordings. */
  content: ContentService & RecordingList;
  renders: RenderControl;
  viewerTokens: Pick<ViewerTokens, 'sign' | 'verify'>;
  /** The public address for clients: `host[:port][/path]`. */
  host: () => string;
};

export function runnerOf(services: RouteServices): OperationRunner {
  const handlers: Handlers<typeof operations> = {
    ...roomHandlers(services.rooms),
    ...hlsHandlers(services.content, services.viewerTokens, services.host),
    ...recordingHandlers(services.content, services.renders),
    ...clusterHandlers(services.cluster),
    ...webhookHandlers(services.webhooks),
    ...nodeHandlers(services),
  };
  const byId = new Map<string, Handler<Operation>>(Object.entries(handlers as Record<string, Handler<Operation>>));
  return {
    async run<O extends Operation>({ id }: O, input: InputOf<O>, request: Parameters<OperationRunner['run']>[2]): Promise<ResultOf<O>> {
      const handle = byId.get(id);
      if (!handle) throw new Error(`no handler of ${id}`);
      return (await handle(input, { from: '', request })) as ResultOf<O>;
    },
  };
}
