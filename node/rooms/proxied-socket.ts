// A client's socket that another node serves: what signaling hands to whoever carries the frames there.

/** How a node closes sockets of which another one keeps, or may keep, the session (RFC 6455, section 7.4.1). */
export const nodeGoingAway = { code: 1001, reason: 'Node going away: resume at another node' } as const;

export type ProxiedSocketListener = {
  message: (text: string) => void;
  /** The client is gone; `code` as in RFC 6455, section 7.4: 1006 where there was no closing handshake. Not called after close(). */
  lost: (code: number, reason: string) => void;
  /** Pings go through to the client: how long it may be silent is known where its peer is. */
  pong: () => void;
};

export type ProxiedSocket = {
  /** The client's first frame as it came: the request that authenticates. */
  first: string;
  /** IP address of the client. */
  address: string;
  /** Bytes that wait for the client to take them. */
  readonly bufferedBytes: number;
  /** Frames that came before wait; where there are too many, the socket is closed. */
  listen: (listener: ProxiedSocketListener) => void;
  send: (text: string) => void;
  ping: () => void;
  /** Resolves when the client has taken most of what was sent, or is gone. */
  drained: () => Promise<void>;
  pause: () => void;
  resume: () => void;
  /** `code`: one that may be sent. */
  close: (code: number, reason: string) => void;
  /** Resolves when the socket is gone, by whatever cause. */
  gone: Promise<void>;
};

/** @returns whether the socket is somebody else's now; false: no other node has the room. */
export type ProxySocket = (roomId: string, socket: ProxiedSocket) => boolean | Promise<boolean>;
