// Media stats: converts mediasoup statistics to bit/s, loss fractions and milliseconds.
import type { Consumer, ConsumerStat, MediaKind, Producer, ProducerStat, WebRtcTransport, WebRtcTransportStat } from 'mediasoup/types';
import { type PublishedTrackStats, packetLoss, type ReceivedTrackStats, type TransportStats, worstQuality } from '../../api/stats.ts';
import type { Direction } from '../rooms/interfaces.ts';
import { trackIdOf } from './legs/track-id.ts';

type Stream = Pick<ProducerStat, 'bitrate' | 'fractionLost' | 'jitter' | 'roundTripTime' | 'rid'>;

/** A track as sent by its publisher, in all its codecs. */
export function publishedTrackStats(producer: Producer, stats: readonly ProducerStat[]): PublishedTrackStats {
  const streams = stats.filter(({ type }) => type === 'inbound-rtp');
  const encodings = streams.map((stream) => ({ rid: stream.rid ?? null, bitrate: Math.round(stream.bitrate), loss: lossOfStream(stream) }));
  return { ...streamStats(trackIdOf(producer), producer.kind, streams, clockRateOf(producer)), encodings };
}

/** A track as received by one peer: only the outbound part of the statistics. */
export function receivedTrackStats(
  trackId: string,
  consumer: Consumer,
  stats: readonly (ConsumerStat | ProducerStat)[],
): ReceivedTrackStats {
  const streams = stats.filter(({ type }) => type === 'outbound-rtp');
  const { currentLayers } = consumer;
  const layers = currentLayers ? { spatialLayer: currentLayers.spatialLayer, temporalLayer: currentLayers.temporalLayer ?? null } : null;
  return { ...streamStats(trackId, consumer.kind, streams, clockRateOf(consumer)), layers };
}

/** `relayIp`: source address of the TURN server of this node; undefined if there is none. */
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

function streamStats(trackId: string, kind: MediaKind, streams: readonly Stream[], clockRate: number) {
  const flowing = streams
    .filter(({ bitrate }) => bitrate > 0)
    .map((stream) => ({
      bitrate: stream.bitrate,
      loss: lossOfStream(stream),
      roundTrip: stream.roundTripTime !== undefined && stream.roundTripTime > 0 ? rounded(stream.roundTripTime) : null,
      // RTCP reports jitter in units of the RTP clock.
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

/** RFC 3550, section 6.4.1: a fixed-point number with the binary point at the left edge. */
function lossOfStream({ fractionLost }: Pick<Stream, 'fractionLost'>): number {
  return Math.min(255, Math.max(0, fractionLost)) / 256;
}

function clockRateOf({ rtpParameters }: Producer | Consumer): number {
  return rtpParameters.codecs[0]?.clockRate ?? 90_000;
}

function rounded(milliseconds: number): number {
  return Math.round(Math.max(0, milliseconds) * 10) / 10;
}
