// Render API: renders a recording to one MP4.
import type { Render, RenderOptions } from '../../../server-sdk/src/generated/schemas.ts';
import { operationRequest } from './operation-request.ts';
import { type Api, ApiError } from './rest.ts';

/** Name of the rendered file within the recording. */
export const renderedFile = 'rendered.mp4';

export const renderEndpoints = {
  start: (recordingId: string, options: RenderOptions) => operationRequest('renderRecording', { path: { recordingId }, body: options }),
  cancel: (recordingId: string) => operationRequest('cancelRender', { path: { recordingId } }),
};

/** @returns null if the recording does not exist or its node cannot render */
export async function fetchRender(api: Api, recordingId: string, signal: AbortSignal): Promise<Render | null> {
  try {
    return (await api.send(operationRequest('getRender', { path: { recordingId } }), signal)).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export async function startRender(api: Api, id: string, options: RenderOptions): Promise<void> {
  await api.send(renderEndpoints.start(id, options));
}

export async function cancelRender(api: Api, id: string): Promise<void> {
  await api.send(renderEndpoints.cancel(id));
}
