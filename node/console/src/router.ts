// Which page the fragment of the address names. Tokens of guests live there since fragments are never sent to a server.
import { useEffect, useState } from 'react';

export type GuestLink = { roomId: string; token: string; url: string | null };
export type Route = { page: 'rooms' } | { page: 'room'; roomId: string } | { page: 'join'; link: GuestLink | null };

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const [path = '', query = ''] = text.split('?', 2);
  if (path === 'join') return { page: 'join', link: readGuestLink(new URLSearchParams(query)) };
  const room = /^room\/([A-Za-z0-9_-]{1,128})$/.exec(path);
  return room?.[1] ? { page: 'room', roomId: room[1] } : { page: 'rooms' };
}

export const roomsHash = '#/';
export const roomHash = (roomId: string): string => `#/room/${roomId}`;

/** The address that lets one guest in. */
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

/** The route of now; renders again when the fragment changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(() => window.location.hash);
  useEffect(() => {
    const update = () => setHash(window.location.hash);
    window.addEventListener('hashchange', update);
    return () => window.removeEventListener('hashchange', update);
  }, []);
  return parseRoute(hash);
}
