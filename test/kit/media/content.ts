// Content routes of a node without components: serves `hls/<room>/` of a resources directory as the stream of that room.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import type { LiveStreams } from '../../../node/rooms/services/content.ts';
import type { LocalRenderService } from '../../../node/rooms/services/renders.ts';
import { openContentFile, openFileResponse } from '../../../node/storage/content-file.ts';
import { LocalContent } from '../../../node/storage/local-content.ts';
import { NodeContent } from '../../../node/storage/node-content.ts';
import { resolveFileInside } from '../../../node/storage/safe-paths.ts';

export function makeContent(resources: string): NodeContent {
  const local = new LocalContent(resources, () => false, folderStreams(join(resources, 'hls')));
  return new NodeContent({ resources, local, uploads: { discard: () => {} }, renders: { discard: async () => {} } });
}

/** Recordings of a node that has none. */
export const noRenders: LocalRenderService = {
  holds: async () => false,
  render: async () => nothingToRender(),
  getRender: async () => nothingToRender(),
  cancelRender: async () => nothingToRender(),
};

function nothingToRender(): never {
  throw new ServiceError('not_found', 'There are no recordings here');
}

function folderStreams(folder: string): LiveStreams {
  return {
    has: (roomId) => existsSync(join(folder, roomId)),
    open: async (request) => {
      const path = await resolveFileInside(join(folder, request.folder), request.file);
      const handle = path === undefined ? undefined : await openContentFile(path);
      if (!handle) throw new ServiceError('not_found', `There is no file ${request.file} of room ${request.folder}`);
      return openFileResponse(handle, request);
    },
  };
}
