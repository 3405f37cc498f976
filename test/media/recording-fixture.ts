// A room whose tracks are recorded by the real recorder, without a node.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Report, reportSchema } from '../../api/recording-report.ts';
import type { ComponentHost, ComponentRunner, RoomMedia, SubscribableTrack } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { makeComponentRegistry } from '../kit/fakes/component-registry.ts';
import { hostFacts } from '../kit/fakes/fake-components.ts';
import { encodeContent, type PublishedCodec, startPublisher } from '../kit/media/rtp-publisher.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { engineFor, openRoom } from './kit.ts';

/** `peerId` of the publisher; `p` by default. */
type Wanted = readonly [codec: PublishedCodec, content: string | number, peerId?: string];

export type RecordingFixture = {
  room: RoomMedia;
  runner: Required<ComponentRunner>;
  crashes: string[];
  /** Reasons of dropped tracks. */
  dropped: string[];
  /** Encodes all tracks before it sends the first. */
  publishAll: (wanted: readonly Wanted[], lose?: (number: number) => boolean) => Promise<SubscribableTrack[]>;
  publish: (codec: PublishedCodec, content: string | number) => Promise<SubscribableTrack>;
  /** Resolves when they are being recorded, which takes a while on a busy machine. */
  begun: (...tracks: readonly SubscribableTrack[]) => Promise<void>;
  report: () => Promise<Report>;
  /** Folder of the recording. */
  folder: string;
  pathOf: (file: string) => string;
  pid: () => number;
};

export async function startRecordingFixture(t: TestContext): Promise<RecordingFixture> {
  const room = openRoom(await engineFor(t));
  const resources = await makeResources(t);
  const componentRegistry = makeComponentRegistry(resources, ['recording']);
  const crashes: string[] = [];
  const dropped: string[] = [];
  const { log, of } = recordedLog();
  const host: ComponentHost = {
    ...hostFacts,
    log,
    openOutput: () => room.openOutput(),
    crashed: (reason) => crashes.push(reason),
    trackDropped: (_, reason) => dropped.push(reason),
  };
  const prepared = await componentRegistry.createSpec({ type: 'recording' }, { roomId: 'r', videoCodec: null });
  const runner = prepared.open(host) as Required<ComponentRunner>;
  t.after(() => runner.close());
  await runner.start();
  const { recording: id } = of('info').find(({ msg }) => msg === 'recorder started') as unknown as { recording: string };
  const folder = join(resources, 'recordings', id);
  let count = 0;
  const publishAll: RecordingFixture['publishAll'] = async (wanted, lose) => {
    const files = await Promise.all(wanted.map(([codec, content]) => encodeContent(t, codec, content)));
    return Promise.all(
      wanted.map(async ([codec, content, peerId = 'p'], index): Promise<SubscribableTrack> => {
        count += 1;
        const trackId = `${codec}-${count}`;
        await startPublisher(t, { codec, content, input: room.openInput(), trackId, file: files[index], ...(lose && { lose }) });
        return { id: trackId, kind: codec === 'opus' ? 'audio' : 'video', encoding: codec, origin: { peerId }, metadata: null };
      }),
    );
  };
  return {
    room,
    runner,
    crashes,
    dropped,
    publishAll,
    publish: async (codec, content) => {
      const [track] = await publishAll([[codec, content]]);
      assert.ok(track);
      return track;
    },
    begun: async (...tracks) => {
      for (const { id, encoding } of tracks)
        await eventually(`${id} is recorded`, () => existsSync(join(folder, `${id}${encoding === 'h264' ? '.mkv' : '.webm'}`)));
    },
    report: async () => reportSchema.parse(JSON.parse(await readFile(join(folder, 'report.json'), 'utf8'))),
    folder,
    pathOf: (file) => join(folder, file),
    pid: () =>
      (
        of('info')
          .filter(({ msg }) => msg === 'recorder started')
          .at(-1) as unknown as { pid: number }
      ).pid,
  };
}
