// Path parameters by name: a path may only use these.
import { z } from 'zod';
import { idSchema } from './id.ts';
import { fileNameSchema, recordingIdSchema } from './recording.ts';

const twirpName = z.string().regex(/^[\w.]{1,64}$/, 'may contain only letters, digits, dots and underscores');

export const pathParameters = {
  roomId: idSchema.meta({ description: 'Id of the room.' }),
  peerId: idSchema.meta({ description: 'Id of the peer.' }),
  componentId: idSchema.meta({ description: 'Id of the component.' }),
  callId: idSchema.meta({ description: 'Id of the phone call.' }),
  trackId: idSchema.meta({ description: 'Id of the track.' }),
  sessionId: idSchema.meta({ description: 'Id of the session, from the header `location` of the response that created it.' }),
  recordingId: recordingIdSchema.meta({ description: 'Id of the recording.' }),
  file: fileNameSchema.meta({ description: 'Name of the file.' }),
  nodeName: z
    .string()
    .regex(/^[\w.@:-]{1,512}$/, 'may contain only characters of node names')
    .meta({ description: 'Name of the node: `<nodename>@<host>`.' }),
  twirpService: twirpName.meta({ description: "Service of LiveKit's server API, for example `livekit.RoomService`." }),
  twirpMethod: twirpName.meta({ description: 'Method of the service, for example `CreateRoom`.' }),
} as const;
export type PathParameter = keyof typeof pathParameters;

/** The parameters of a path in OpenAPI syntax: `/room/{roomId}`. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

export function parameterNames(path: string): PathParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as PathParameter);
}
