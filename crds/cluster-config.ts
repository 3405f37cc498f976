// Reloadable settings of the nodes, as a MediaCluster contains them: the tree of api/settings without what comes from Secrets.
import { z } from 'zod';
import type { Setting, SettingTree } from '../api/core/setting.ts';
import { type ReloadableTree, reloadableSettings } from '../api/settings/reloadable.ts';
import { iceUrl } from '../api/settings/values.ts';
import { defaultText } from '../api/settings/variables.ts';
import { secretKeyRef, withRules } from './schema.ts';

const iceServer = withRules(
  z
    .object({
      urls: z.array(iceUrl).min(1).max(8).meta({ description: 'stun:, stuns:, turn: or turns: URLs.' }),
      username: z.string().max(512).optional().meta({ description: 'TURN user name.' }),
      credential: z
        .object({ secretRef: secretKeyRef.meta({ description: 'Secret and key of the credential.' }) })
        .optional()
        .meta({ description: 'TURN credential, from a Secret.' }),
    })
    .meta({ description: 'An RTCIceServer.' }),
  {
    rule: "!self.urls.exists(url, url.startsWith('turn')) || (has(self.username) && has(self.credential))",
    message: 'needs username and credential, because one of its URLs is a TURN URL',
  },
);

/** Settings that contain secrets, with references to Secrets instead. */
const withReferences = { iceServers: z.array(iceServer).max(16) };

type Replaced = typeof withReferences;
type ConfigOf<Tree> = {
  [Name in keyof Tree as Tree[Name] extends { fromSecret: true } ? never : Name]?:
    | (Name extends keyof Replaced
        ? z.infer<Replaced[Name]>
        : Tree[Name] extends { settings: infer Settings }
          ? ConfigOf<Settings>
          : Tree[Name] extends { schema: infer Schema extends z.ZodType }
            ? z.input<Schema>
            : never)
    | undefined;
};
export type ClusterConfig = ConfigOf<ReloadableTree>;

export const clusterConfigSchema = configOf(reloadableSettings).meta({
  description: 'Reloadable settings of the nodes (docs/reference/configuration.md); secrets are referenced.',
}) as z.ZodObject as unknown as z.ZodType<ClusterConfig, ClusterConfig>;

function configOf(tree: SettingTree): z.ZodObject {
  const fields = Object.entries(tree).flatMap(([name, each]): (readonly [string, z.ZodType])[] => {
    if ('settings' in each) return [[name, configOf(each.settings).optional().meta({ description: each.doc })]];
    if (each.fromSecret) return [];
    const schema = name in withReferences ? withReferences[name as keyof Replaced] : inputOf(each.schema);
    return [[name, (each.cluster?.required ? schema : schema.optional()).meta({ description: descriptionOf(each) })]];
  });
  return z.object(Object.fromEntries(fields));
}

/** What is written, before it is transformed. */
function inputOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) return inputOf(schema.in as z.ZodType);
  return schema instanceof z.ZodNullable ? inputOf(schema.unwrap() as z.ZodType).nullable() : schema;
}

function descriptionOf(setting: Setting): string {
  if (setting.cluster?.doc !== undefined) return setting.cluster.doc;
  const omitted = setting.image ?? setting.derived ?? defaultText(setting);
  const doc = setting.doc.replaceAll('`none`', '`null`');
  return omitted === undefined ? doc : `${doc.replace(/\.$/, '')}; ${omitted} if omitted.`;
}
