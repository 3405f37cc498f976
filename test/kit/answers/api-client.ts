// REST client of the tests: compares every response with the OpenAPI document.
import { checkResponse } from './openapi.ts';

/** `body` is the parsed JSON, or the text of other types; undefined if empty. It has no static type, because tests assert its content. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert the content of a response.
export type ApiAnswer = { status: number; headers: Headers; body: any };

export type ApiRequest = {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged instead of `json`. */
  text?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  timeoutMs?: number;
};

const defaultTimeoutMs = 30_000;

export type ApiClient = {
  request: (method: string, path: string, request?: ApiRequest) => Promise<ApiAnswer>;
  get: (path: string) => Promise<ApiAnswer>;
  post: (path: string, json?: unknown) => Promise<ApiAnswer>;
  patch: (path: string, json?: unknown) => Promise<ApiAnswer>;
  delete: (path: string) => Promise<ApiAnswer>;
};

/** `baseUrl`: for example `http://127.0.0.1:5002`, with the path of SVC_HOST if that is tested. Without `token` no token is sent. */
export function apiClient(baseUrl: string, token?: string): ApiClient {
  const request: ApiClient['request'] = async (method, path, { json, text, headers, timeoutMs = defaultTimeoutMs } = {}) => {
    const response = await fetch(baseUrl + path, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...((text ?? json) !== undefined && { body: text ?? JSON.stringify(json) }),
    });
    const answer = { status: response.status, headers: response.headers, body: await bodyOf(response) };
    checkResponse(method, path.split('?', 1)[0] ?? '/', answer.status, answer.body);
    return answer;
  };
  return {
    request,
    get: (path) => request('GET', path),
    post: (path, json) => request('POST', path, json === undefined ? {} : { json }),
    patch: (path, json) => request('PATCH', path, { json }),
    delete: (path) => request('DELETE', path),
  };
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
}
