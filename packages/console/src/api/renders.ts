// Render API: renders a recording to one MP4.
import type { Render, RenderOptions } from '../../../server-sdk/src/generated/schemas.ts';
import { recordingEndpoints } from './recordings.ts';
import { type Api, ApiError } from './rest.ts';

/** Name of the rendered file within the recording. */
export const renderedFile = 'rendered.mp4';

const pathOf = (id: string): string => `${recordingEndpoints.report(id).path}/render`;

export const renderEndpoints = {
  look: (id: string) => ({ method: 'GET', path: pathOf(id) }),
  start: (id: string, options: RenderOptions) => ({ method: 'POST', path: pathOf(id), body: options }),
  cancel: (id: string) => ({ method: 'DELETE', path: pathOf(id) }),
};

/** @returns null if the recording does not exist or its node cannot render */
export async function fetchRender(api: Api, id: string, signal: AbortSignal): Promise<Render | null> {
  try {
    return (await api.call('GET', pathOf(id), undefined, signal)).data as Render;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export async function startRender(api: Api, id: string, options: RenderOptions): Promise<void> {
  await api.call('POST', pathOf(id), options);
}

export async function cancelRender(api: Api, id: string): Promise<void> {
  await api.call('DELETE', pathOf(id));
}
