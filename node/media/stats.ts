// mediasoup's statistics in the words of rooms: bit/s, shares, milliseconds.
import type { Consumer, ConsumerStat, MediaKind, Producer, ProducerStat, WebRtcTransport, WebRtcTransportStat } from 'mediasoup/types';
import type { Direction } from '../rooms/interfaces.ts';
import { type PublishedTrackStats, packetLoss, type ReceivedTrackStats, type TransportStats, worstQuality } from '../rooms/shapes/stats.ts';

type Stream = Pick<ProducerStat, 'bitrate' | 'fractionLost' | 'jitter' | 'roundTripTime' | 'rid'>;

/** A track as its publisher sends it. */
export function publishedTrackStats(producer: Producer, stats: readonly ProducerStat[]): PublishedTrackStats {
  const streams = stats.filter(({ type }) => type === 'inbound-rtp');
  const encodings = streams.map((stream) => ({ rid: stream.rid ?? null, bitrate: Math.round(stream.bitrate), loss: lossOfStream(stream) }));
  return { ...figures(producer.id, producer.kind, streams, clockRateOf(producer)), encodings };
}

/** A track as one peer receives it: of the statistics the part that goes out, not that of its publisher. */
export function receivedTrackStats(consumer: Consumer, stats: readonly (ConsumerStat | ProducerStat)[]): ReceivedTrackStats {
  const streams = stats.filter(({ type }) => type === 'outbound-rtp');
  const { currentLayers } = consumer;
  const layers = currentLayers ? { spatialLayer: currentLayers.spatialLayer, temporalLayer: currentLayers.temporalLayer ?? null } : null;
  return { ...figures(consumer.producerId, consumer.kind, streams, clockRateOf(consumer)), layers };
}

/** `relayIp`: where the TURN server of this node sends from; undefined where it has none. */
export function linkStats(
  direction: Direction,
  transport: WebRtcTransport,
  stats: WebRtcTransportStat,
  tracks: readonly (PublishedTrackStats | ReceivedTrackStats)[],
  relayIp: string | undefined,
): TransportStats {
  const tuple = stats.iceSelectedTuple;
  const available = direction === 'send' ? stats.availableIncomingBitrate : stats.availableOutgoingBitrate;
  const flowing = tracks.filter(({ bitrate }) => bitrate > 0);
  return {
    state: stateOf(transport),
    protocol: tuple ? (tuple.remoteIp !== undefined && tuple.remoteIp === relayIp ? 'relay' : tuple.protocol) : null,
    bitrate: Math.round(direction === 'send' ? stats.recvBitrate : stats.sendBitrate),
    available: available === undefined ? null : Math.round(available),
    loss: packetLoss(flowing),
    roundTrip: worstQuality(flowing, 'roundTrip'),
    jitter: worstQuality(flowing, 'jitter'),
  };
}

function stateOf({ iceState, dtlsState }: WebRtcTransport): TransportStats['state'] {
  if (dtlsState === 'failed') return 'failed';
  if (iceState === 'disconnected' || iceState === 'closed') return 'disconnected';
  if (iceState === 'new') return 'new';
  if (dtlsState === 'closed') return 'disconnected';
  return dtlsState === 'connected' ? 'connected' : 'connecting';
}

function figures(trackId: string, kind: MediaKind, streams: readonly Stream[], clockRate: number) {
  const flowing = streams
    .filter(({ bitrate }) => bitrate > 0)
    .map((stream) => ({
      bitrate: stream.bitrate,
      loss: lossOfStream(stream),
      roundTrip: stream.roundTripTime !== undefined && stream.roundTripTime > 0 ? rounded(stream.roundTripTime) : null,
      // In units of the RTP clock, as RTCP has it.
      jitter: rounded((stream.jitter / clockRate) * 1000),
    }));
  return {
    trackId,
    kind,
    bitrate: Math.round(flowing.reduce((sum, { bitrate }) => sum + bitrate, 0)),
    loss: packetLoss(flowing),
    roundTrip: worstQuality(flowing, 'roundTrip'),
    jitter: worstQuality(flowing, 'jitter'),
  };
}

/** RFC 3550, section 6.4.1: a fixed point number with the point at the left edge. */
function lossOfStream({ fractionLost }: Pick<Stream, 'fractionLost'>): number {
  return Math.min(255, Math.max(0, fractionLost)) / 256;
}

function clockRateOf({ rtpParameters }: Producer | Consumer): number {
  return rtpParameters.codecs[0]?.clockRate ?? 90_000;
}

function rounded(milliseconds: number): number {
  return Math.round(Math.max(0, milliseconds) * 10) / 10;
}
