// Cluster content: serves HLS streams and recordings of all nodes. HLS is with the owning node, a recording is searched; clients may ask
// any node.
import { ServiceError } from '../../../api/errors.ts';
import { nodeRpcs } from '../../../api/operations/node-rpcs.ts';
import { latestRecordingIds, latestRecordings, maxRecordingDetails, type RecordingSummary } from '../../../api/recording.ts';
import type { Log } from '../../common/log.ts';
import type {
  ContentKind,
  ContentRequest,
  ContentResponse,
  ContentService,
  PlaylistRequest,
  RecordingArchive,
  RecordingList,
} from '../../rooms/services/content.ts';
import type { ClusterTransport, NodeName } from '../cluster-transport.ts';
import type { Dispatcher, Settled } from '../rpc/dispatcher.ts';
import type { RoomLocator } from '../rpc/room-locator.ts';
import type { NodeHttpClient } from './node-http-client.ts';
import type { ProxyTarget } from './peer-socket-proxy.ts';

/** Timeout in milliseconds for playlists that do not exist yet: three times the longest segment. */
const streamTimeoutMs = 100_000;
/** Maximum number of concurrent searches. Beyond it clients must retry. */
const maxSearches = 200;

/** Content service of this node with the methods that the cluster needs. */
export interface LocalContentService extends ContentService, RecordingList {
  has(kind: ContentKind, folder: string): Promise<boolean>;
}

export type ClusterContentOptions = {
  links: ClusterTransport;
  dispatcher: Dispatcher;
  local: LocalContentService;
  /** Archive of recordings that are on no node. Without it there are none. */
  archive?: RecordingArchive | undefined;
  http: Pick<NodeHttpClient, 'fetch'>;
  log: Log;
  locator: Pick<RoomLocator, 'ownerOf'>;
  /** Addresses of the other nodes; none before the snapshot of a node arrived. */
  members: { get(node: NodeName): ProxyTarget | undefined };
};

export class ClusterContent implements ContentService, RecordingList {
  readonly #options: ClusterContentOptions;
  readonly #searches = new Map<string, Promise<NodeName | undefined>>();

  constructor(options: ClusterContentOptions) {
    this.#options = options;
    const { dispatcher, local } = options;
    dispatcher.serve(nodeRpcs, {
      hasContent: ({ kind, folder }) => local.has(kind, folder),
      listRecordings: async () => (await local.listRecordings()).ids,
      describeRecordings: async () => (await local.describeRecordings()).recordings,
      deleteRecording: (id) => local.deleteRecording(id).then(() => null),
    });
  }

  async open(request: ContentRequest): Promise<ContentResponse> {
    const { local, archive } = this.#options;
    if (request.forwarded) return local.open(request);
    try {
      return await this.#openOnNodes(request);
    } catch (error) {
      // The node may be lost, or only temporarily unreachable.
      const away = error instanceof ServiceError && (error.code === 'not_found' || error.code === 'node_unreachable');
      const answer = away && request.kind === 'recording' ? await archive?.open(request) : undefined;
      if (answer) return answer;
      throw error;
    }
  }

  async #openOnNodes(request: ContentRequest): Promise<ContentResponse> {
    const { links, local, members, http } = this.#options;
    const node = (await this.locate(request.kind, request.folder)) ?? links.self;
    if (node === links.self) return local.open(request);
    const other = members.get(node);
    if (!other) throw new ServiceError('node_unreachable', `Node ${node} cannot be reached`, { retryAfter: 1 });
    const { kind, folder, file, playlist, method, range, ifRange, client, signal } = request;
    const headers = {
      ...(range !== undefined && { range }),
      ...(ifRange !== undefined && { 'if-range': ifRange }),
      ...(playlist?.gzip && file.endsWith('.m3u8') && { 'accept-encoding': 'gzip' }),
    };
    const path = `/${kind}/${folder}/${file}${queryOf(playlist)}`;
    return http.fetch(other, {
      method,
      path,
      headers,
      client,
      signal,
      ...(file.endsWith('.m3u8') && kind === 'hls' && { deadline: streamTimeoutMs }),
    });
  }

  async listRecordings(): Promise<{ ids: string[]; incomplete: string[] }> {
    const { dispatcher, local } = this.#options;
    const [own, archived, others] = await Promise.all([
      local.listRecordings(),
      this.#listArchive(),
      dispatcher.others(nodeRpcs.listRecordings, null),
    ]);
    const { results, incomplete } = this.#sorted(others, 'could not list recordings of remote node');
    const ids = [...new Set([...own.ids, ...archived.ids, ...results.flat()])].sort();
    return { ids, incomplete: [...own.incomplete, ...archived.incomplete, ...incomplete].sort() };
  }

  async describeRecordings(): Promise<{ recordings: RecordingSummary[]; incomplete: string[] }> {
    const { dispatcher, local, archive } = this.#options;
    const [own, stored, others] = await Promise.all([
      local.describeRecordings(),
      this.#listArchive(),
      dispatcher.others(nodeRpcs.describeRecordings, null),
    ]);
    const { results, incomplete } = this.#sorted(others, 'could not describe recordings of remote node');
    const here = [...own.recordings, ...results.flat()];
    const known = new Set(here.map(({ id }) => id));
    const deleted = stored.ids.filter((id) => !known.has(id));
    const archived = deleted.length === 0 || !archive ? [] : await archive.describe(latestRecordingIds(deleted, maxRecordingDetails));
    return { recordings: latestRecordings([...archived, ...here]), incomplete: [...stored.incomplete, ...incomplete].sort() };
  }

  #sorted<Result>(settled: readonly Settled<Result>[], message: string): { results: Result[]; incomplete: NodeName[] } {
    const failed = settled.flatMap((each) => ('error' in each ? [each] : []));
    for (const { node, error } of failed) this.#options.log.info({ node, err: error }, message);
    return { results: settled.flatMap((each) => ('result' in each ? [each.result] : [])), incomplete: failed.map(({ node }) => node) };
  }

  async #listArchive(): Promise<{ ids: string[]; incomplete: string[] }> {
    try {
      return { ids: (await this.#options.archive?.list()) ?? [], incomplete: [] };
    } catch (error) {
      this.#options.log.info({ err: error }, 'could not list recordings in S3');
      return { ids: [], incomplete: ['s3'] };
    }
  }

  /** Deletes it on every node that stores it, then in S3. A recording in progress is rejected and stays complete. */
  async deleteRecording(id: string): Promise<void> {
    const results = await this.#options.dispatcher.everywhere(nodeRpcs.deleteRecording, id);
    const failures = results.flatMap((each) => ('error' in each ? [each.error] : []));
    const serious = failures.find((error) => !(error instanceof ServiceError && error.code === 'not_found'));
    // A node that could not be asked may still store it.
    if (serious !== undefined) throw serious;
    const archived = await this.#options.archive?.remove(id);
    if (failures.length === results.length && !archived) throw new ServiceError('not_found', `Recording ${id} does not exist`);
  }

  /** The node that stores or writes it. @throws ServiceError `node_unreachable`, `unavailable` */
  async locate(kind: ContentKind, folder: string): Promise<NodeName | undefined> {
    const { links, local, locator } = this.#options;
    const owner = kind === 'hls' ? locator.ownerOf(folder) : undefined;
    if (owner !== undefined) return owner;
    if (await local.has(kind, folder)) return links.self;
    return this.#search(kind, folder);
  }

  /** Concurrent searches for the same folder share one result. */
  #search(kind: ContentKind, folder: string): Promise<NodeName | undefined> {
    const key = `${kind}/${folder}`;
    const running = this.#searches.get(key);
    if (running) return running;
    if (this.#searches.size >= maxSearches) throw new ServiceError('unavailable', 'Too many searches for content', { retryAfter: 1 });
    const search = this.#askAll(kind, folder).finally(() => this.#searches.delete(key));
    this.#searches.set(key, search);
    return search;
  }

  /** @throws ServiceError `node_unreachable` if no node that responded has it, and a node did not respond. */
  async #askAll(kind: ContentKind, folder: string): Promise<NodeName | undefined> {
    const { node, failure } = await this.#options.dispatcher.search(nodeRpcs.hasContent, { kind, folder });
    if (node !== undefined || failure === undefined) return node;
    throw new ServiceError('node_unreachable', 'A node that may store the content does not respond', { cause: failure, retryAfter: 1 });
  }
}

/** The query as the owning node would have received it from the client. */
function queryOf(playlist: PlaylistRequest | undefined): string {
  if (!playlist) return '';
  const { msn, part, skip, token } = playlist;
  const query = new URLSearchParams();
  if (msn !== undefined) query.set('_HLS_msn', String(msn));
  if (part !== undefined) query.set('_HLS_part', String(part));
  if (skip) query.set('_HLS_skip', 'YES');
  if (token !== undefined) query.set('token', token);
  return query.size === 0 ? '' : `?${query}`;
}
