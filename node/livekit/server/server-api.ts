// LiveKit's server API: authenticates requests of backends at any node, and finds their method.
import type { BinaryBody } from '../../../api/core/operation.ts';
import type { HttpResponse } from '../../../api/core/response.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { RateLimit } from '../../common/rate-limit.ts';
import type { AccessAdmission } from '../../rooms/access-admission.ts';
import { agentDispatchService } from './agent-dispatch-service.ts';
import { egressService } from './egress-service.ts';
import { roomService } from './room-service.ts';
import type { ServerContext, ServerMethods } from './server-method.ts';
import { sipService } from './sip-service.ts';

export type ServerApiOptions = Pick<ServerContext, 'operations' | 'agents' | 'updateSubscriptions'> & {
  access: Pick<AccessAdmission, 'verifyServer' | 'createRoom'>;
  /** Of the requests of an access key. */
  limit: Pick<RateLimit, 'refusal'>;
};
export type ServerRequest = { service: string; method: string; token: string; body: BinaryBody };

const methods: ServerMethods = { ...roomService, ...agentDispatchService, ...egressService, ...sipService };

export class ServerApi {
  readonly #options: ServerApiOptions;

  constructor(options: ServerApiOptions) {
    this.#options = options;
  }

  /** @throws ServiceError `not_found`, `invalid_token`, `forbidden`, `too_many_requests`, and those of the method */
  async run({ service, method, token, body }: ServerRequest): Promise<HttpResponse> {
    const name = `${service}/${method}`;
    const handle = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (!handle) throw new ServiceError('not_found', `LiveKit's server API has no method ${name} here`);
    const { operations, agents, updateSubscriptions, access: admission, limit } = this.#options;
    const access = await admission.verifyServer(token);
    const refusal = limit.refusal(access.key.id);
    if (refusal) throw refusal;
    const createRoom: ServerContext['createRoom'] = (options) => admission.createRoom(options);
    return handle({ operations, agents, updateSubscriptions, access, createRoom }, body);
  }
}
