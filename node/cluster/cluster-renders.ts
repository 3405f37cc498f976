// Cluster rendering: starts a render on the node that stores the recording, or on this one if only S3 has it. Every node can report
// progress.
import { nodeRpcs } from '../../api/operations/node-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import { renderOptionsSchema } from '../../api/render.ts';
import type { LocalRenderService } from '../rooms/services/renders.ts';
import type { NodeName } from './cluster-transport.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

export type ClusterRendersOptions = {
  dispatcher: Dispatcher;
  own: LocalRenderService;
  /** The node that stores the recording on disk. */
  locate: (recordingId: string) => Promise<NodeName | undefined>;
};

export function serveRenders({ dispatcher, own, locate }: ClusterRendersOptions): void {
  /** The node with the files, or the node that renders a recording which is on no disk, or this node if there is none. */
  const workerOf = async (id: string): Promise<NodeName> => {
    const node = await locate(id);
    if (node !== undefined) return node;
    if (await own.holds(id)) return dispatcher.self;
    return (await dispatcher.search(nodeRpcs.holdsRender, { id })).node ?? dispatcher.self;
  };
  dispatcher.serve(operations, {
    renderRecording: async ({ params: { recordingId: id }, body: options }) =>
      dispatcher.at(await workerOf(id), nodeRpcs.renderRecording, { id, options }),
    getRender: async ({ params: { recordingId: id } }) => dispatcher.at(await workerOf(id), nodeRpcs.getRender, { id }),
    cancelRender: async ({ params: { recordingId: id } }) => void (await dispatcher.at(await workerOf(id), nodeRpcs.cancelRender, { id })),
  });
  dispatcher.serve(nodeRpcs, {
    holdsRender: ({ id }) => own.holds(id),
    renderRecording: ({ id, options }) => own.render(id, options ?? renderOptionsSchema.parse({})),
    getRender: ({ id }) => own.getRender(id),
    cancelRender: ({ id }) => own.cancelRender(id).then(() => null),
  });
}
