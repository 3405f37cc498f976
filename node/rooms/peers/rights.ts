// Rights of a peer: its permissions, set over REST or by access tokens, whichever is newer.
import type { AgentRequest } from '../../../api/operations/agent-rpcs.ts';
import type { Permissions, PermissionsPatch } from '../../../api/peer.ts';

export type PeerRightsInit = {
  permissions: Permissions;
  /** True if other peers must not see this one. */
  hidden: boolean;
  /** True if it is an agent, which does not keep the room open. */
  agent: boolean;
  /** Agents that the room gets with this peer. */
  agents: readonly AgentRequest[];
  /** When the permissions were granted, in milliseconds since 1970. */
  grantedAt: number;
};

export class PeerRights {
  readonly hidden: boolean;
  readonly agent: boolean;
  readonly agents: readonly AgentRequest[];
  readonly #changed: (permissions: Permissions) => void;
  #permissions: Permissions;
  #grantedAt: number;

  /** `changed`: called after each change. */
  constructor({ permissions, hidden, agent, agents, grantedAt }: PeerRightsInit, changed: (permissions: Permissions) => void) {
    this.hidden = hidden;
    this.agent = agent;
    this.agents = agents;
    this.#permissions = this.#possible(permissions);
    this.#grantedAt = grantedAt;
    this.#changed = changed;
  }

  get permissions(): Permissions {
    return this.#permissions;
  }

  /** Changes permissions, effective at once: tracks that are no longer permitted end. Older access tokens do not undo it. */
  change(change: PermissionsPatch): void {
    this.#grantedAt = Date.now();
    const { publishSources, ...permissions } = { ...this.#permissions, ...change };
    this.#set({ ...permissions, ...(publishSources && { publishSources }) });
  }

  /** Applies an access token. @returns false if it was issued before the last change */
  grant({ permissions, issuedAt }: { permissions: Permissions; issuedAt: number }): boolean {
    if (issuedAt <= this.#grantedAt) return false;
    this.#grantedAt = issuedAt;
    this.#set(permissions);
    return true;
  }

  #set(permissions: Permissions): void {
    this.#permissions = this.#possible(permissions);
    this.#changed(this.#permissions);
  }

  /** A track would show a hidden peer. */
  #possible(permissions: Permissions): Permissions {
    return this.hidden ? { ...permissions, publish: [] } : permissions;
  }
}
