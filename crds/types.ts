// TypeScript types of both resources, as the API server stores them.
import { z } from 'zod';
import type { MediaClusterSpec, MediaClusterStatus } from './media-cluster.ts';
import { mediaClusterSpecSchema, mediaClusterStatusSchema } from './media-cluster.ts';
import type { RoomSpec, RoomStatus } from './room.ts';
import { roomSpecSchema, roomStatusSchema } from './room.ts';

export const apiGroup = 'mediarooms.dev';
export const apiVersion = `${apiGroup}/v1alpha1`;

export const roomSchema = z.object({ spec: roomSpecSchema, status: roomStatusSchema.optional() });
export const mediaClusterSchema = z.object({ spec: mediaClusterSpecSchema, status: mediaClusterStatusSchema.optional() });

export type { MediaClusterSpec, MediaClusterStatus, RoomSpec, RoomStatus };
