// TypeScript types of both resources, as the API server stores them.
import { z } from 'zod';
import type { MediaClusterSpec, MediaClusterStatus } from './media-cluster.ts';
import { mediaClusterSpecSchema, mediaClusterStatusSchema } from './media-cluster.ts';
import type { RoomSpec, RoomStatus } from './room.ts';
import { roomSpecSchema, roomStatusSchema, v1alpha1RoomSpecSchema } from './room.ts';

export const apiGroup = 'mediarooms.dev';
export const apiVersions = { Room: `${apiGroup}/v1alpha2`, MediaCluster: `${apiGroup}/v1alpha1` } as const;

export const roomSchema = z.object({ spec: roomSpecSchema, status: roomStatusSchema.optional() });
/** The version before the current one, which stored objects and manifests may have. */
export const v1alpha1RoomSchema = roomSchema.extend({ spec: v1alpha1RoomSpecSchema });
export const mediaClusterSchema = z.object({ spec: mediaClusterSpecSchema, status: mediaClusterStatusSchema.optional() });

export type { MediaClusterSpec, MediaClusterStatus, RoomSpec, RoomStatus };
