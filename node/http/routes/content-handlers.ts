// Handlers of operations on recordings and HLS streams.
import type { HttpResponse } from '../../../api/core/response.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { hlsOperations } from '../../../api/operations/hls.ts';
import type { recordingOperations } from '../../../api/operations/recordings.ts';
import { maxReport, readReport } from '../../../api/recording-report.ts';
import type { ContentName, ContentService, RecordingList } from '../../rooms/services/content.ts';
import type { Caller, Handlers, RequestContext } from '../../rooms/services/operations.ts';
import type { ViewerTokens } from '../../rooms/tokens/viewer-tokens.ts';
import { recordingCacheControl, rewritePlaylist, toResponse } from '../playlist-responses.ts';
import { wholeOf } from '../whole-content.ts';

export function recordingHandlers(content: ContentService & RecordingList): Handlers<typeof recordingOperations> {
  return {
    listRecordings: async ({ query: { details } }) => {
      const [{ ids, incomplete }, described] = await Promise.all([
        content.listRecordings(),
        details === 'true' ? content.describeRecordings() : undefined,
      ]);
      if (!described) return { data: ids, incomplete };
      const missing = [...new Set([...incomplete, ...described.incomplete])].sort();
      return { data: ids, recordings: described.recordings, incomplete: missing };
    },
    getRecording: async ({ params: { recordingId: folder } }, caller) => {
      const whole = { method: 'GET', range: undefined, ifRange: undefined } as const;
      const found = await content.open({ kind: 'recording', folder, file: 'report.json', ...requestOf(caller).transfer(), ...whole });
      const report = readReport((await wholeOf(found, maxReport, 'The report')).toString());
      if (!report) throw new ServiceError('not_found', `Recording ${folder} has no readable report`);
      return report;
    },
    deleteRecording: ({ params }) => content.deleteRecording(params.recordingId),
    getRecordingFile: ({ params }, caller) =>
      sendFile({ kind: 'recording', folder: params.recordingId, file: params.file }, requestOf(caller), content),
  };
}

export function hlsHandlers(
  content: ContentService,
  viewerTokens: Pick<ViewerTokens, 'sign'>,
  host: () => string,
): Handlers<typeof hlsOperations> {
  return {
    createViewerToken: async ({ params: { roomId }, body: { expiresIn } }) => {
      const expiresAt = new Date((Math.floor(Date.now() / 1000) + expiresIn) * 1000).toISOString();
      const token = await viewerTokens.sign(roomId, expiresIn);
      return { token, url: `${host()}/hls/${roomId}/index.m3u8?token=${token}`, expiresAt };
    },
    getHlsFile: async ({ params, query }, caller) => {
      const request = requestOf(caller);
      const { _HLS_msn: msn, _HLS_part: part, _HLS_skip: skip, token } = query;
      const playlist = {
        msn,
        part,
        skip: skip !== undefined,
        token: request.viewer || request.forwarded ? token : undefined,
        gzip: request.acceptsGzip,
      };
      const answer = await content.open({ kind: 'hls', folder: params.roomId, file: params.file, playlist, ...request.transfer() });
      return toResponse(answer, request);
    },
  };
}

/** Files are proxied over HTTP, so every request for one has a client here. */
export function requestOf({ request }: Caller): RequestContext {
  if (!request) throw new ServiceError('bad_request', 'This operation is available over HTTP only');
  return request;
}

async function sendFile(name: ContentName, request: RequestContext, content: ContentService): Promise<HttpResponse> {
  const caching = recordingCacheControl(name.file);
  const isPlaylist = name.file.endsWith('.m3u8');
  const found = await content.open({ ...name, ...request.transfer(), ...(isPlaylist && { range: undefined }) });
  const answer = isPlaylist ? await rewritePlaylist(found, request) : found;
  const keep = answer.status === 200 || answer.status === 206 ? caching : undefined;
  return toResponse({ ...answer, headers: { ...answer.headers, ...(keep !== undefined && { 'cache-control': keep }) } }, request);
}
