// Console files at `/`: strict content security policy, hashed files cached forever, the page never.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Request, RequestHandler, Response } from 'express';
import express from 'express';

/** Files with a content hash in their name (default folder of Vite). */
const hashedFile = /[/\\]assets[/\\][^/\\]+-[\w-]{8,}\.\w+$/;
const host = /^[\w.-]+(:\d{1,5})?$|^\[[\da-fA-F:.]+\](:\d{1,5})?$/;

/** `addresses`: SVC_HOST of every node to which the console may open a websocket. */
export function consoleFiles(folder: string, addresses: () => readonly string[]): RequestHandler {
  const files = express.static(folder, {
    index: 'index.html',
    dotfiles: 'ignore',
    redirect: false,
    cacheControl: false,
    lastModified: false,
    fallthrough: true,
    setHeaders,
  });
  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    const before = { policy: response.getHeader('content-security-policy'), cache: response.getHeader('cache-control') };
    response.setHeader('content-security-policy', contentPolicy(request, addresses()));
    files(request, response, (error?: unknown) => {
      response.setHeader('content-security-policy', before.policy ?? '');
      response.setHeader('cache-control', before.cache ?? '');
      next(error);
    });
  };
}

function setHeaders(response: Response, path: string): void {
  const isHashed = hashedFile.test(path);
  response.setHeader('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
  // In an image all files have the same time, and the page of two releases may have the same size. Only the content differs.
  if (!isHashed) response.setHeader('etag', `"${createHash('sha256').update(readFileSync(path)).digest('base64url').slice(0, 22)}"`);
  response.setHeader('permissions-policy', 'camera=(self), microphone=(self), display-capture=(self)');
}

/** Not every browser includes websockets of the same origin in `'self'` (CSP 3, section 6.7.2.8), so they are listed. */
function contentPolicy(request: Request, addresses: readonly string[]): string {
  const named = addresses.map((address) => address.split('/', 1)[0] ?? '');
  const hosts = new Set([request.headers.host ?? '', ...named].filter((each) => host.test(each)));
  const sockets = [...hosts].flatMap((each) => [`ws://${each}`, `wss://${each}`]);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["connect-src 'self'", ...sockets].join(' '),
    "img-src 'self' data:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
  ].join('; ');
}
