// Proxied socket: the WebSocket of a client, as signaling passes it to the module that proxies frames to another node.

export type ProxiedSocketListener = {
  message: (frame: string | Buffer) => void;
  /** The client disconnected; `code` as in RFC 6455, section 7.4: 1006 without a closing handshake. Not called after close(). */
  lost: (code: number, reason: string) => void;
  /** Pings are passed through to the client, because the owning node decides the idle timeout. */
  pong: () => void;
};

export type ProxiedSocket = {
  /** Path of the websocket at the owning node, with a query that may contain a token. */
  path: string;
  /** True: frames are bytes; false: text. */
  binary: boolean;
  /** The first frame of the client, verbatim, if it is its authentication request. */
  first: string | Buffer | undefined;
  /** IP address of the client. */
  address: string;
  /** Traceparent of its handshake. */
  trace?: string | undefined;
  /** Bytes that are not yet sent to the client. */
  readonly bufferedBytes: number;
  /** Starts delivery. Earlier frames are queued; if the queue is full, the socket is closed. */
  listen: (listener: ProxiedSocketListener) => void;
  send: (frame: string | Buffer) => void;
  ping: () => void;
  /** Resolves when most of the sent data was written, or the client disconnected. */
  drained: () => Promise<void>;
  pause: () => void;
  resume: () => void;
  /** Called before this node closes the socket, although the session at the owning node may continue. */
  ending?: (() => void) | undefined;
  /** `code`: a close code that may be sent. */
  close: (code: number, reason: string) => void;
  /** Resolves when the socket is closed for any reason. */
  closed: Promise<void>;
};

/** @returns true if another node handles the socket; false: no other node has the room */
export type ProxySocket = (roomId: string, socket: ProxiedSocket) => boolean | Promise<boolean>;
