// Options of a file component.
import { z } from 'zod';
import { kube, matches, staysBelow } from '../core/kube.ts';
import { integer, type OptionRule } from './option.ts';

/** Defaults for options that are omitted or null. */
export const fileDefaults = { framerate: 30 } as const;

export const fileOptionsSchema = z
  .strictObject({
    filePath: z
      .string()
      .max(1024)
      .register(kube, {
        rules: [
          matches(/^[^/\p{Cc}][^\p{Cc}]*\.(ogg|h264)$/u, "must be the path of an .ogg or .h264 file, not beginning with '/'"),
          staysBelow("must stay below file_component_sources and must not contain '..'"),
        ],
      })
      .meta({ description: 'An .ogg (Opus) or .h264 file on the server, below file_component_sources.' }),
    framerate: integer(1, 120)
      .nullable()
      .optional()
      .meta({ description: 'Frames per second; video only.', default: fileDefaults.framerate }),
  })
  .meta({ id: 'FileOptions', description: 'Plays a media file into the room once.' });

export const fileRules: readonly OptionRule[] = [
  {
    option: 'framerate',
    rule: "!has(self.filePath) || self.filePath.endsWith('.h264')",
    message: 'is valid for .h264 files only',
  },
];
