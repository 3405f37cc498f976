// Sources of file components for tests of room output: green video and a tone; adds components to the room `r`.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ApiAnswer, ApiClient } from '../answers/api-client.ts';
import { eventually } from '../eventually.ts';
import { makeResources } from '../processes/resources-folder.ts';
import { makeTone, makeVideo } from './media-files.ts';

/** The color of `green.h264`. */
export const green = [30, 200, 30];

/** A resources directory with the sources in it. */
export async function withSources(t: TestContext, seconds: number): Promise<string> {
  const resources = await makeResources(t);
  await addSources(resources, seconds);
  return resources;
}

/** `green.h264`, and `tone.ogg` of 660 Hz. */
export async function addSources(resources: string, seconds: number): Promise<void> {
  const sources = join(resources, 'file_component_sources');
  await Promise.all([makeVideo(join(sources, 'green.h264'), '0x1EC81E', seconds), makeTone(join(sources, 'tone.ogg'), 660, seconds)]);
}

/** Errors of a node on a busy machine, for example because of parallel tests. */
const busyErrors = /^This node is too busy|did not start in time$/;

/** Adds a component, and retries while the node reports that it is too busy. */
export async function postWhenIdle(api: ApiClient, path: string, json: object): Promise<ApiAnswer> {
  const post = async () => {
    const answer = await api.post(path, json);
    const busy = answer.status === 503 && busyErrors.test(String(answer.body.errors));
    return !busy && answer;
  };
  return eventually(`the node accepts ${path} ${JSON.stringify(json)}`, post, { every: 500 });
}

/** @returns the id of the component */
export async function addComponent(api: ApiClient, type: string, options: object = {}): Promise<string> {
  const { status, body } = await postWhenIdle(api, '/room/r/component', { type, options });
  assert.equal(status, 201, JSON.stringify(body));
  return body.data.id;
}
