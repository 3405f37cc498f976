// Websocket of a LiveKit client without media: sends and receives messages of their protocol.
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { JoinRequest, SignalRequest, SignalResponse, WrappedJoinRequest, WrappedJoinRequest_Compression } from '@livekit/protocol';
import { WebSocket } from 'ws';
import { eventually } from '../eventually.ts';

type Response = SignalResponse['message'];
export type Case = Exclude<Response['case'], undefined>;
export type MessageOf<Name extends Case> = Extract<Response, { case: Name }>['value'];
type Request = NonNullable<ConstructorParameters<typeof SignalRequest>[0]>['message'];

/** As browsers send it in the address of the websocket. */
export function joinRequestText(request: ConstructorParameters<typeof JoinRequest>[0]): string {
  const joinRequest = gzipSync(new JoinRequest(request).toBinary());
  return Buffer.from(new WrappedJoinRequest({ joinRequest, compression: WrappedJoinRequest_Compression.GZIP }).toBinary()).toString(
    'base64url',
  );
}

export class LiveKitSocket {
  readonly webSocket: WebSocket;
  readonly messages: Response[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Messages before this index were returned by waitFor(). */
  readonly #seen = new Map<Case, number>();

  private constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    webSocket.on('message', (data: Buffer) => this.messages.push(SignalResponse.fromBinary(new Uint8Array(data)).message));
    this.closed = new Promise((resolve) => webSocket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
  }

  /** `url`: of the node. `query`: further parameters. */
  static async open(url: string, token: string, query: Record<string, string> = {}, path = '/rtc'): Promise<LiveKitSocket> {
    const parameters = new URLSearchParams({ access_token: token, ...query });
    const socket = new LiveKitSocket(new WebSocket(`${url.replace(/^http/, 'ws')}${path}?${parameters}`));
    await once(socket.webSocket, 'open');
    return socket;
  }

  /** With one peer connection. */
  static openSingle(url: string, token: string, request: ConstructorParameters<typeof JoinRequest>[0]): Promise<LiveKitSocket> {
    return LiveKitSocket.open(url, token, { join_request: joinRequestText(request) }, '/rtc/v1');
  }

  send(message: Request): void {
    this.webSocket.send(new SignalRequest({ message }).toBinary());
  }

  /** The next message of this case that satisfies the condition. */
  async waitFor<Name extends Case>(name: Name, condition: (value: MessageOf<Name>) => boolean = () => true): Promise<MessageOf<Name>> {
    const found = await eventually(
      () => `${name} among ${JSON.stringify(this.messages.map((message) => message.case))}`,
      () => {
        const from = this.#seen.get(name) ?? 0;
        const at = this.messages.findIndex(
          (message, index) => index >= from && message.case === name && condition(message.value as MessageOf<Name>),
        );
        if (at >= 0) this.#seen.set(name, at + 1);
        const message = this.messages[at];
        return message && { message };
      },
    );
    return found.message.value as MessageOf<Name>;
  }
}
