// Credentials: what a client authenticates with on each socket.

export type Credential = { token: string } | { accessToken: string };
export type CredentialOptions = {
  token?: string | undefined;
  accessToken?: string | (() => string | Promise<string>) | undefined;
};

/** Tokens of the server replace the first credential, but not a function: it always returns a current one. */
export class Credentials {
  readonly #renewable: boolean;
  #current: () => Credential | Promise<Credential>;

  /** @throws TypeError unless exactly one is given */
  constructor({ token, accessToken }: CredentialOptions) {
    if ((token === undefined) === (accessToken === undefined)) throw new TypeError('Expected either token or accessToken');
    this.#renewable = typeof accessToken !== 'function';
    if (typeof accessToken === 'function') this.#current = async () => ({ accessToken: await accessToken() });
    else this.#current = () => (accessToken === undefined ? { token: token ?? '' } : { accessToken });
  }

  current(): Credential | Promise<Credential> {
    return this.#current();
  }

  renewed(token: string): void {
    if (this.#renewable) this.#current = () => ({ token });
  }
}
