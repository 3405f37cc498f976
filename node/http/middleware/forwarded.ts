// Proxied requests: requests that another node sends on behalf of its client.

/** `client`: IP address. */
export type Forwarded = { node: string; client: string };
/** `path`: with its query. */
export type ForwardedBy = (header: string | string[] | undefined, path: string) => Forwarded | undefined;
