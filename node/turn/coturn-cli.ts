// Command line of coturn (telnet on loopback): cancels the relays of users that left.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Timer } from '../common/timer.ts';

/** `password`: without it the command line accepts no command. */
export type CoturnCli = { port: number; password: string };

const timeoutMs = 10_000;
/** A relay takes less than 1 KB of a list, and a node has at most 8,192. */
const maxText = 16 * 1024 * 1024;
/** A user name cannot contain it, because ids have neither spaces nor `>`. */
const prompt = '> ';

/**
 * Cancels each relay of a user that is not present. A client cannot open a relay again after its credentials have expired.
 * @returns the number of cancelled relays @throws Error if coturn does not respond
 */
export async function cancelRelays({ port, password }: CoturnCli, isPresent: (user: string) => boolean): Promise<number> {
  const socket = connect({ host: '127.0.0.1', port }).setEncoding('latin1');
  const timer = new Timer(timeoutMs, () => socket.destroy(new Error(`coturn did not respond within ${timeoutMs} ms`)));
  const chunks: AsyncIterator<string> = socket[Symbol.asyncIterator]();
  const readUntil = async (end: RegExp) => {
    let text = '';
    // The end may be split between chunks.
    for (let checked = 0; !end.test(text.slice(checked)); ) {
      const chunk = await chunks.next();
      if (chunk.done || text.length > maxText) throw new Error('coturn closed its command line');
      checked = Math.max(0, text.length - 32);
      text += chunk.value;
    }
    return text;
  };
  // coturn treats each packet as one command, so the next one is sent after the prompt.
  const request = async (command: string) => {
    socket.write(`${command}\r\n`);
    return readUntil(endsWithPrompt);
  };
  try {
    await once(socket, 'connect');
    await readUntil(/password:\s*$/);
    await request(password);
    const left = relaysIn(await request('ps')).filter(({ user }) => !isPresent(user));
    for (const { id } of left) await request(`cs ${id}`);
    return left.length;
  } finally {
    timer.stop();
    socket.destroy();
  }
}

const endsWithPrompt = new RegExp(`(^|\\n)${prompt}$`);

/** Sessions in the output of the command `ps`. Their user name is the time of expiry, a colon, and the user (credentials.ts). */
export function relaysIn(text: string): { id: string; user: string }[] {
  return [...text.matchAll(/ id=(\d+), user <\d+:([^>]*)>:/g)].map(([, id = '', user = '']) => ({ id, user }));
}
