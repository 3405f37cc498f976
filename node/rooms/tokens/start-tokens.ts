// Tokens of a node: of peers, viewers and the API, and those of backends, by the settings.
import type { AccessKey } from '../../../api/settings/access-keys.ts';
import { AccessTokens } from './access-tokens.ts';
import { type ApiToken, ApiTokens } from './api-tokens.ts';
import { PeerTokens } from './peer-tokens.ts';
import { SignedCalls } from './signed-calls.ts';
import { ViewerTokens } from './viewer-tokens.ts';

type Settings = {
  secretKeys: readonly string[];
  apiTokens: readonly ApiToken[];
  accessKeys: readonly AccessKey[];
  timeouts: { readonly accessTokenMaxTtl: number };
};
export type TokensContext = {
  hot: { readonly current: Settings; onChange(listener: (settings: Settings) => void): void };
  /** `internal`: SVC_INTERNAL_ADDRESS. */
  address: { readonly internal: string };
};
export type Tokens = { peers: PeerTokens; viewers: ViewerTokens; access: AccessTokens; api: ApiTokens; signedCalls: SignedCalls };

export function createTokens({ hot, address }: TokensContext): Tokens {
  const peers = new PeerTokens(hot.current.secretKeys);
  const viewers = new ViewerTokens(hot.current.secretKeys);
  hot.onChange(({ secretKeys }) => {
    peers.replace(secretKeys);
    viewers.replace(secretKeys);
  });
  const api = new ApiTokens(() => hot.current.apiTokens);
  const access = new AccessTokens({ keys: () => hot.current.accessKeys, maxTtl: () => hot.current.timeouts.accessTokenMaxTtl });
  return { peers, viewers, access, api, signedCalls: new SignedCalls({ tokens: api, address: () => address.internal }) };
}
