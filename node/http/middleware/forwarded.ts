// Requests that another node of the cluster sends on for a client of its own.

/** The header in which the node says who it is and for whom it asks, signed. */
export const proxiedHeader = 'x-mediarooms-forwarded';

/** `client`: IP address. */
export type Forwarded = { node: string; client: string };
/** `path`: with its query. */
export type ForwardedBy = (header: string | string[] | undefined, path: string) => Forwarded | undefined;
