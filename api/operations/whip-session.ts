// WHIP (RFC 9725) and WHEP: paths, media types and results of sessions of encoders and players.
import { z } from 'zod';

/** Media types of descriptions, and of the ICE parts of descriptions (RFC 8840). */
export const sdpType = 'application/sdp';
export const iceFragmentType = 'application/trickle-ice-sdpfrag';

/** Path that encoders publish to, appended to the address of a node. */
export function whipPath(roomId: string): string {
  return `/whip/${roomId}`;
}

/** Path that players play from, appended to the address of a node. */
export function whepPath(roomId: string): string {
  return `/whep/${roomId}`;
}

const iceServerSchema = z.object({ url: z.string(), username: z.string().optional(), credential: z.string().optional() });
export type IceServerLink = z.output<typeof iceServerSchema>;

/** A session that began, between nodes. `location`: path of the session; `etag`: its ICE session. */
export const startedSessionSchema = z.object({
  answer: z.string(),
  location: z.string(),
  etag: z.string(),
  iceServers: z.array(iceServerSchema),
});
export type StartedSession = z.output<typeof startedSessionSchema>;

/** The result of new candidates (null) or of an ICE restart. */
export const iceRestartSchema = z.object({ fragment: z.string(), etag: z.string() }).nullable();
export type IceRestart = z.output<typeof iceRestartSchema>;
