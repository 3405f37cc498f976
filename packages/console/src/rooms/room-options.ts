// The options of a new room: what each is for, and how a form says them. What is no number goes to the server as it is: its sentence says what is wrong.
import type { ConfigValue, RoomOptions } from '../../../server-sdk/src/generated/schemas.ts';
import { formatDuration, formatNumber } from '../format.ts';

/** The first choice leaves the option out, the second says null, the third says the value beside it. */
export type LimitField = {
  name: keyof RoomOptions;
  label: string;
  about: string;
  choices: readonly [string, string, string];
  unit: string;
  /** Of the configuration: what is in force where the option is left out. */
  variable: string;
};

export const limitFields: readonly LimitField[] = [
  {
    name: 'maxPeers',
    label: 'Most people',
    about: 'Who comes when the room is full is refused.',
    choices: ['Default of the server', 'No limit', 'At most'],
    unit: 'people',
    variable: 'SVC_MAX_PEERS_PER_ROOM',
  },
  {
    name: 'peerlessPurgeTimeout',
    label: 'Ends when empty',
    about: 'How long the room stays when nobody is connected. Recordings and streams of it end then, too.',
    choices: ['Default of the server', 'Never', 'After'],
    unit: 'seconds',
    variable: 'SVC_PEERLESS_PURGE_TIMEOUT',
  },
  {
    name: 'peerDisconnectedTimeout',
    label: 'Forgets who left',
    about: 'How long the place of somebody who lost the connection is kept. Within it they come back as the same peer.',
    choices: ['Default of the server', 'Never', 'After'],
    unit: 'seconds',
    variable: 'SVC_PEER_DISCONNECTED_TIMEOUT',
  },
];

/** The first choice, or what it comes to by the configuration in force where that is known: `Default: after 2 minutes`. Short: it has to fit. */
export function formatRemaining({ choices: [left, none, value], unit, variable }: LimitField, config: readonly ConfigValue[] = []): string {
  const known = config.find(({ name }) => name === variable)?.value;
  if (known === null) return `Default: ${none.toLowerCase()}`;
  if (typeof known !== 'number') return left;
  return `Default: ${value.toLowerCase()} ${unit === 'seconds' ? formatDuration(known) : `${formatNumber(known)} ${unit}`}`;
}

/** Name of the field that says which choice was made. */
export const choiceOf = (name: string): string => `${name}-choice`;

export function readRoomOptions(form: FormData): RoomOptions {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const options: Record<string, unknown> = {};
  for (const name of ['roomId', 'externalId', 'videoCodec', 'webhookUrl']) if (text(name)) options[name] = text(name);
  for (const { name } of limitFields) {
    if (text(choiceOf(name)) === 'null') options[name] = null;
    if (text(choiceOf(name)) === 'value') options[name] = numberOr(text(name));
  }
  return options as RoomOptions;
}

function numberOr(text: string): number | string {
  return text === '' || Number.isNaN(Number(text)) ? text : Number(text);
}
