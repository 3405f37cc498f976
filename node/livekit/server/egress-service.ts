// Egress of LiveKit's server API: streams of a room, and recordings of a room or a participant.
import {
  EgressStatus,
  type EncodingOptions,
  EncodingOptionsPreset,
  ListEgressRequest,
  ListEgressResponse,
  ParticipantEgressRequest,
  RoomCompositeEgressRequest,
  type S3Upload,
  type SegmentedFileOutput,
  StopEgressRequest,
} from '@livekit/protocol';
import { type ComponentOptions, componentOptionsSchema } from '../../../api/component/component.ts';
import type { Layout } from '../../../api/component/hls.ts';
import { ServiceError } from '../../../api/errors.ts';
import { operations } from '../../../api/operations/table.ts';
import type { RoomView } from '../../../api/room.ts';
import { egressInfo, isEgress, readEgressId } from './egress-messages.ts';
import { requireParticipant } from './found.ts';
import { notImplemented, type ServerContext, type ServerMethods, serverMethod } from './server-method.ts';
import { parse } from './validated.ts';

const none = { body: undefined, query: undefined };
const onlySegments = 'Of a room, only segments (HLS) are written, to S3 or to the node: send segmentOutputs';
const onlyFiles = 'Of a participant, each track is recorded into a file: send fileOutputs';

export const egressService: ServerMethods = {
  'livekit.Egress/StartRoomCompositeEgress': serverMethod(RoomCompositeEgressRequest, async (context, request) => {
    const { fileOutputs, streamOutputs, imageOutputs, segmentOutputs, output, audioOnly, videoOnly, customBaseUrl } = request;
    // Clients repeat a single output in the form of older servers.
    const segments = segmentOutputs[0] ?? (output.case === 'segments' ? output.value : undefined);
    const others = fileOutputs.length + streamOutputs.length + imageOutputs.length;
    if (!segments || segmentOutputs.length > 1 || others > 0) throw refusal(onlySegments);
    if (audioOnly || videoOnly || customBaseUrl !== '') throw refusal('A stream has audio and video, in a layout of this server');
    return start(context, request.roomName, { type: 'hls', options: streamOptions(request, segments) });
  }),
  'livekit.Egress/StartParticipantEgress': serverMethod(ParticipantEgressRequest, async (context, request) => {
    const { roomName: roomId, identity, screenShare, fileOutputs, streamOutputs, segmentOutputs, imageOutputs, options } = request;
    const [file] = fileOutputs;
    const others = streamOutputs.length + segmentOutputs.length + imageOutputs.length;
    if (!file || fileOutputs.length > 1 || others > 0) throw refusal(onlyFiles);
    if (screenShare || options.case !== undefined) throw refusal('All tracks of a participant are recorded, unchanged');
    const view = await roomOf(context, roomId);
    const { id } = requireParticipant(view, identity).participant;
    const credentials = s3Of(file, '');
    return start(context, roomId, {
      type: 'recording',
      options: { subscribeMode: 'manual', origins: [id], ...(credentials && { credentials }) },
    });
  }),
  'livekit.Egress/ListEgress': serverMethod(ListEgressRequest, async (context, { roomName, egressId: wanted }) => {
    const { access } = context;
    access.require('roomRecord');
    const named = wanted === '' ? { roomId: roomName } : readEgressId(wanted);
    if (!named) return new ListEgressResponse();
    const views = named.roomId === '' ? await everyRoom(context) : await existing(context, named.roomId);
    const items = views
      .filter(({ id }) => access.includes(id))
      .flatMap(({ id: roomId, incarnation, components }) =>
        components.filter(isEgress).map((component) => egressInfo({ roomId, incarnation }, component.id)),
      );
    return new ListEgressResponse({ items: items.filter(({ egressId }) => wanted === '' || egressId === wanted) });
  }),
  'livekit.Egress/StopEgress': serverMethod(StopEgressRequest, async (context, { egressId: id }) => {
    const found = readEgressId(id);
    if (!found) throw new ServiceError('component_not_found', `Egress ${id} does not exist`);
    const { roomId, componentId } = found;
    const view = await roomOf(context, roomId);
    if (!view.components.some((component) => component.id === componentId && isEgress(component)))
      throw new ServiceError('component_not_found', `Egress ${id} does not exist`);
    await context.operations.run(operations.deleteComponent, { ...none, params: { roomId, componentId } });
    return egressInfo({ roomId, incarnation: view.incarnation }, componentId, EgressStatus.EGRESS_ENDING);
  }),
  'livekit.Egress/StartTrackEgress': notImplemented('A recording has all tracks of a participant: use StartParticipantEgress'),
  'livekit.Egress/StartTrackCompositeEgress': notImplemented('Tracks are recorded separately: use StartParticipantEgress'),
  'livekit.Egress/StartWebEgress': notImplemented('Web pages are not recorded'),
  'livekit.Egress/StartEgress': notImplemented('Use StartRoomCompositeEgress or StartParticipantEgress'),
  'livekit.Egress/UpdateLayout': notImplemented('The layout of a stream does not change while it runs'),
  'livekit.Egress/UpdateStream': notImplemented('Streams are not sent to RTMP or SRT servers'),
};

/** @throws ServiceError of the operation */
async function start(context: ServerContext, roomId: string, component: ComponentOptions) {
  const { incarnation } = await roomOf(context, roomId);
  const body = parse(componentOptionsSchema, component);
  const { data } = await context.operations.run(operations.addComponent, { params: { roomId }, body, query: undefined });
  return egressInfo({ roomId, incarnation }, data.id);
}

/** @throws ServiceError `forbidden`, `room_not_found` and others */
async function roomOf({ access, operations: runner }: ServerContext, roomId: string): Promise<RoomView> {
  access.require('roomRecord');
  access.requireIncluded(roomId);
  return runner.run(operations.getRoom, { ...none, params: { roomId } });
}

async function everyRoom({ operations: runner }: ServerContext): Promise<RoomView[]> {
  return (await runner.run(operations.listRooms, { params: {}, body: undefined, query: {} })).data;
}

async function existing(context: ServerContext, roomId: string): Promise<RoomView[]> {
  try {
    return [await roomOf(context, roomId)];
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'room_not_found' || error.code === 'room_ended')) return [];
    throw error;
  }
}

const portraits: Partial<Record<EncodingOptionsPreset, readonly [width: number, height: number, framerate: number]>> = {
  [EncodingOptionsPreset.H264_720P_30]: [1280, 720, 30],
  [EncodingOptionsPreset.H264_720P_60]: [1280, 720, 60],
  [EncodingOptionsPreset.H264_1080P_30]: [1920, 1080, 30],
  [EncodingOptionsPreset.H264_1080P_60]: [1920, 1080, 60],
  [EncodingOptionsPreset.PORTRAIT_H264_720P_30]: [720, 1280, 30],
  [EncodingOptionsPreset.PORTRAIT_H264_720P_60]: [720, 1280, 60],
  [EncodingOptionsPreset.PORTRAIT_H264_1080P_30]: [1080, 1920, 30],
  [EncodingOptionsPreset.PORTRAIT_H264_1080P_60]: [1080, 1920, 60],
};

/** Kept after the stream ends, because the output of an egress is files. */
function streamOptions({ layout, options }: RoomCompositeEgressRequest, segments: SegmentedFileOutput): ComponentOptions['options'] {
  const { segmentDuration, filenamePrefix } = segments;
  const s3 = s3Of(segments, filenamePrefix);
  return {
    persistent: true,
    layout: layoutOf(layout),
    ...sizeOf(options),
    ...(segmentDuration > 0 && { segmentDuration }),
    ...(s3 && { s3 }),
  };
}

/** LiveKit's layouts have variants of color. */
function layoutOf(name: string): Layout {
  if (name.startsWith('single-speaker')) return 'single';
  return name.startsWith('speaker') ? 'speaker' : 'grid';
}

function sizeOf({ case: form, value }: RoomCompositeEgressRequest['options']) {
  if (form === undefined) return {};
  const [width, height, framerate] = form === 'preset' ? (portraits[value] ?? []) : sizeOfAdvanced(value);
  return { ...(width && { width }), ...(height && { height }), ...(framerate && { framerate }) };
}

function sizeOfAdvanced({ width, height, framerate }: EncodingOptions): readonly number[] {
  return [width, height, framerate];
}

type Upload = { output: { case: 's3'; value: S3Upload } | { case: string | undefined; value?: unknown } };

/** `prefix`: of the keys. @returns undefined for the storage of the node */
function s3Of({ output }: Upload, prefix: string) {
  if (output.case === undefined) return undefined;
  if (output.case !== 's3') throw refusal('Files are uploaded to S3 only');
  const { bucket, region, endpoint, accessKey: accessKeyId, secret: secretAccessKey } = output.value as S3Upload;
  return {
    ...{ bucket, accessKeyId, secretAccessKey },
    ...(region !== '' && { region }),
    ...(endpoint !== '' && { endpoint }),
    ...(prefix !== '' && { pathPrefix: prefix }),
  };
}

function refusal(message: string): ServiceError {
  return new ServiceError('not_implemented', message);
}
