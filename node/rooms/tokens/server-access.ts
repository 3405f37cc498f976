// Server access: the grants of an access token for requests of a backend, as in LiveKit's server API.
import { z } from 'zod';
import { validationMessage } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { AccessKey } from '../../../api/settings/access-keys.ts';

type Key = Omit<AccessKey, 'secret' | 'publicKey'>;
const flag = z.boolean().nullish();
const claimsSchema = z.object({
  video: z
    .object({
      room: z.string().max(128).nullish(),
      ...{ roomJoin: flag, roomCreate: flag, roomList: flag, roomAdmin: flag, roomRecord: flag },
    })
    .nullish(),
  sip: z.object({ admin: flag, call: flag }).nullish(),
});
type Video = NonNullable<z.infer<typeof claimsSchema>['video']>;
type Sip = NonNullable<z.infer<typeof claimsSchema>['sip']>;
export type RoomGrant = 'roomCreate' | 'roomAdmin';
export type ClusterGrant = 'roomList' | 'roomRecord';

export class ServerAccess {
  readonly key: Key;
  readonly #video: Video;
  readonly #sip: Sip;

  /** `payload`: verified claims. @throws ServiceError `invalid_token`, `forbidden` */
  constructor(payload: unknown, key: Key) {
    const result = claimsSchema.safeParse(payload);
    if (!result.success) throw new ServiceError('invalid_token', `Access token: ${validationMessage(result.error, payload, 'the claims')}`);
    this.key = key;
    this.#video = result.data.video ?? {};
    this.#sip = result.data.sip ?? {};
    // Participants have such tokens, and those of rooms that are created on demand have roomCreate, which also deletes rooms.
    if (this.#video.roomJoin === true)
      throw new ServiceError('forbidden', 'An access token of a participant (roomJoin) does not permit requests of a backend');
  }

  /** True if the key is valid for the room. */
  includes(roomId: string): boolean {
    return roomId.startsWith(this.key.roomPrefix ?? '');
  }

  /** @throws ServiceError `forbidden` */
  requireRoom(grant: RoomGrant, roomId: string): void {
    this.#require(this.#video[grant], grant);
    // Administrators are those of one room; other grants may name a room.
    const { room } = this.#video;
    if (grant === 'roomAdmin' || room ? room !== roomId : false)
      throw new ServiceError('forbidden', `The grant ${grant} of the access token is not for room ${roomId}`);
    this.requireIncluded(roomId);
    if (grant === 'roomCreate' && this.key.roomCreate === false)
      throw new ServiceError('forbidden', `The access key ${this.key.id} creates and deletes no rooms`);
  }

  /** @throws ServiceError `forbidden` */
  requireIncluded(roomId: string): void {
    if (!this.includes(roomId))
      throw new ServiceError('forbidden', `The access key ${this.key.id} is valid for rooms with the prefix ${this.key.roomPrefix} only`);
  }

  /** @throws ServiceError `forbidden` */
  require(grant: ClusterGrant): void {
    this.#require(this.#video[grant], grant);
  }

  /** @throws ServiceError `forbidden` */
  requireSip(grant: keyof Sip): void {
    this.#require(this.#sip[grant], `sip.${grant}`);
  }

  #require(granted: boolean | null | undefined, grant: string): void {
    if (granted !== true) throw new ServiceError('forbidden', `The access token has no grant ${grant}`);
  }
}
