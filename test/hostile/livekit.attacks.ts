// Attacks through LiveKit's protocol: workers of agents, tokens of participants for requests of a backend, and transcripts.
import type { Attack } from './attack.ts';

export const attacks = {
  agentSockets: {
    attack: 'Clients connect to `/agent` without a token, with a forged one, or with that of a participant',
    bound: 'an access token with the grant `agent`, signed with the secret of an access key; 1,000 workers per node',
    outcome: 'Each is rejected before the websocket opens (401 or 403). No job is offered to it, and it cannot dispatch agents.',
  },
  hostileWorker: {
    attack: 'A worker of agents sends invalid, large and too many messages, and ends and claims jobs of other workers',
    bound: '64 KiB per message, 50 messages per second, 200 at once; a job has a random id, and belongs to the worker that got it',
    outcome: 'Its websocket is closed (4400, 4413, 4429). The other workers keep their jobs, and new rooms get agents.',
  },
  foreignRooms: {
    attack: 'A worker whose access key is valid for the rooms of one tenant requests jobs of all rooms',
    bound: '`roomPrefix` of the access key',
    outcome: 'It gets the jobs of these rooms only, and simulated jobs elsewhere are rejected.',
  },
  participantTokens: {
    attack: "A participant, whose access token also has all grants of a backend, sends requests of LiveKit's server API and of REST",
    bound: 'a token with `roomJoin` permits no request of a backend, whatever else it grants',
    outcome: 'Each is rejected (403, over REST 401), and the rooms are unchanged.',
  },
  transcripts: {
    attack: 'An agent sends transcripts that contain cues and tags of WebVTT, and thousands at once',
    bound: '16 KiB of text each; 64 waiting cues of a stream and 1,000 of a recording, of 84 characters; 32 MiB of `captions.vtt`',
    outcome: 'A text stays in its cue. What exceeds the bounds is omitted, with one log line.',
  },
} as const satisfies Record<string, Attack>;
