// Room options: fields of the form of a new room. An invalid number is sent unchanged, because the server returns the error message.
import type { ConfigValue, RoomOptions } from '../../../server-sdk/src/generated/schemas.ts';
import { formatDuration, formatNumber } from '../format.ts';

/** The first choice omits the option, the second sends null, the third sends the entered value. */
export type LimitField = {
  name: keyof RoomOptions;
  label: string;
  about: string;
  choices: readonly [string, string, string];
  unit: string;
  /** Configuration variable that applies if the option is omitted. */
  variable: string;
};

export const limitFields: readonly LimitField[] = [
  {
    name: 'maxPeers',
    label: 'Max participants',
    about: 'Further participants are rejected.',
    choices: ['Server default', 'No limit', 'At most'],
    unit: 'participants',
    variable: 'SVC_MAX_PEERS_PER_ROOM',
  },
  {
    name: 'peerlessPurgeTimeout',
    label: 'Close when empty',
    about: 'How long an empty room is kept. Its recordings and streams end with it.',
    choices: ['Server default', 'Never', 'After'],
    unit: 'seconds',
    variable: 'SVC_PEERLESS_PURGE_TIMEOUT',
  },
  {
    name: 'peerDisconnectedTimeout',
    label: 'Remove disconnected participants',
    about: 'Within this time a participant who lost the connection can rejoin as the same peer.',
    choices: ['Server default', 'Never', 'After'],
    unit: 'seconds',
    variable: 'SVC_PEER_DISCONNECTED_TIMEOUT',
  },
];

/** Label of the first choice, with the effective configuration if known: `Default: after 2 minutes`. Short, to fit the field. */
export function formatRemaining({ choices: [left, none, value], unit, variable }: LimitField, config: readonly ConfigValue[] = []): string {
  const known = config.find(({ name }) => name === variable)?.value;
  if (known === null) return `Default: ${none.toLowerCase()}`;
  if (typeof known !== 'number') return left;
  return `Default: ${value.toLowerCase()} ${unit === 'seconds' ? formatDuration(known) : formatNumber(known)}`;
}

/** Name of the form field with the selected choice. */
export const choiceOf = (name: string): string => `${name}-choice`;

export function readRoomOptions(form: FormData): RoomOptions {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const options: Record<string, unknown> = {};
  for (const name of ['roomId', 'externalId', 'videoCodec', 'admission', 'webhookUrl']) if (text(name)) options[name] = text(name);
  for (const { name } of limitFields) {
    if (text(choiceOf(name)) === 'null') options[name] = null;
    if (text(choiceOf(name)) === 'value') options[name] = numberOr(text(name));
  }
  return options as RoomOptions;
}

function numberOr(text: string): number | string {
  return text === '' || Number.isNaN(Number(text)) ? text : Number(text);
}
