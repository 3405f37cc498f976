// Thin uplink: a connection that cannot carry what is sent over it twice, by the estimate of the browser.

/** Time between two reports in milliseconds: a shorter one may miss the frames of a slow video. */
const sampleMs = 500;

/** Measures a send transport for half a second. @returns false if it carries everything twice, or the browser estimates nothing */
export async function isThinUplink(report: () => Promise<RTCStatsReport | undefined>): Promise<boolean> {
  const earlier = selectedPair(await report());
  if (earlier?.availableOutgoingBitrate === undefined) return false;
  await new Promise((resolve) => setTimeout(resolve, sampleMs));
  const later = selectedPair(await report());
  if (later?.availableOutgoingBitrate === undefined || later.id !== earlier.id) return false;
  const sentBits = ((later.bytesSent ?? 0) - (earlier.bytesSent ?? 0)) * 8;
  const sentBitrate = (sentBits * 1_000) / Math.max(1, later.timestamp - earlier.timestamp);
  return later.availableOutgoingBitrate < 2 * sentBitrate;
}

/** The candidate pair in use (W3C webrtc-stats, RTCTransportStats). */
function selectedPair(report: RTCStatsReport | undefined): RTCIceCandidatePairStats | undefined {
  const transport = [...(report?.values() ?? [])].find(({ type }) => type === 'transport');
  return transport && report?.get(transport.selectedCandidatePairId);
}
