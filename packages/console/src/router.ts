// Router: maps the fragment of the URL to a page. Guest tokens are in the fragment, because it is never sent to a server.
import { useEffect, useState } from 'react';
import { idPattern } from './generated/id-pattern.ts';

export type GuestLink = { roomId: string; token: string; url: string | null };
/** Pages without parameters. */
const plain = ['recordings', 'cluster', 'webhooks', 'health'] as const;
type PlainPage = (typeof plain)[number];
export type Route =
  | { page: 'rooms' }
  | { [Name in PlainPage]: { page: Name } }[PlainPage]
  | { page: 'room'; roomId: string }
  | { page: 'watch'; roomId: string }
  | { page: 'recording'; recordingId: string }
  | { page: 'join'; link: GuestLink | null };
export type PageName = Route['page'];
export type RouteOf<Name extends PageName> = Extract<Route, { page: Name }>;

const oneRoom = /^(room|watch)\/([^/]+)$/;
/** Recording ids are folder names: no slash, and never `.` or `..`. */
const oneRecording = /^recordings\/([^/?#]{1,512})$/;

function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const [path = '', query = ''] = text.split('?', 2);
  if (path === 'join') return { page: 'join', link: readGuestLink(new URLSearchParams(query)) };
  const page = plain.find((name) => name === path);
  if (page) return { page };
  const [, name, roomId = ''] = oneRoom.exec(path) ?? [];
  if (idPattern.test(roomId)) return { page: name === 'watch' ? 'watch' : 'room', roomId };
  const recordingId = decode(oneRecording.exec(path)?.[1]);
  return recordingId ? { page: 'recording', recordingId } : { page: 'rooms' };
}

export const roomsHash = '#/';
export const hashOf = (page: PlainPage): string => `#/${page}`;
export const roomHash = (roomId: string): string => `#/room/${roomId}`;
export const watchHash = (roomId: string): string => `#/watch/${roomId}`;
export const recordingHash = (recordingId: string): string => `#/recordings/${encodeURIComponent(recordingId)}`;

/** Link for one guest. */
export function guestAddress(link: GuestLink, base: string): string {
  const query = new URLSearchParams({ room: link.roomId, token: link.token });
  if (link.url) query.set('url', link.url);
  return new URL(`#/join?${query}`, base).href;
}

function readGuestLink(query: URLSearchParams): GuestLink | null {
  const roomId = query.get('room');
  const token = query.get('token');
  return roomId && token ? { roomId, token, url: query.get('url') } : null;
}

function decode(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The current route; renders again when the fragment changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(() => window.location.hash);
  useEffect(() => {
    const update = () => setHash(window.location.hash);
    window.addEventListener('hashchange', update);
    return () => window.removeEventListener('hashchange', update);
  }, []);
  return parseRoute(hash);
}
