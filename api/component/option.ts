// Options that component types have in common.
import { z } from 'zod';
import { kube, type Rule } from '../core/kube.ts';
import { ServiceError } from '../errors.ts';
import { idSchema } from '../id.ts';

/** Maximum number of origins of a component in manual mode. */
export const maxOrigins = 1000;

export function integer(least: number, most: number, rule = `to be an integer from ${least} to ${most}`) {
  return z.int({ error: rule }).min(least, rule).max(most, rule);
}

export const trueOrFalse = z.boolean({ error: 'to be true or false' }).nullable().optional();
export const subscribeMode = z.enum(['auto', 'manual'], { error: 'to be auto or manual' }).nullable().optional();
export const origins = z
  .array(idSchema, { error: 'to be a list of ids' })
  .max(maxOrigins, `to have at most ${maxOrigins} ids`)
  .register(kube, { set: true })
  .nullable()
  .optional()
  .meta({
    description: 'With subscribeMode manual: ids of peers and components to receive from the start; they may join later.',
  });

/** A rule in a Room if the option is set; `self` is the options, the message continues the name of the option. */
export type OptionRule = Rule & { option: string };

export const originsRule: OptionRule = {
  option: 'origins',
  rule: "(has(self.subscribeMode) && self.subscribeMode == 'manual')",
  message: 'needs subscribeMode manual',
};

type Subscription = { origins?: string[] | null | undefined; subscribeMode?: 'auto' | 'manual' | null | undefined };

/** @throws ServiceError `bad_request` if the component receives all tracks anyway */
export function originsOf({ origins, subscribeMode }: Subscription): string[] {
  if (origins && origins.length > 0 && subscribeMode !== 'manual')
    throw new ServiceError('bad_request', 'Option origins requires subscribeMode manual: otherwise all tracks are received', {
      field: 'options.origins',
    });
  return origins ?? [];
}
