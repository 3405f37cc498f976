// Playlist tokens: adds the viewer's token to every URI, for players that cannot send headers.

/** The playlist with the token in every URI (RFC 8216bis, section 4.1): lines without `#`, and attributes URI. */
export function withToken(playlist: string, token: string): string {
  const query = `token=${encodeURIComponent(token)}`;
  return playlist.replace(/^[^#\r\n]+|(?<=[:,]URI=")[^"\r\n]*/gm, (uri) => `${uri}${uri.includes('?') ? '&' : '?'}${query}`);
}
