// Describes why a pod failed, before the operator deletes it and its status with it. Pure.
import type { ClusterContext } from '../cluster-context.ts';
import type { ObservedPod } from '../observed-objects.ts';

/** Of the end of a termination message. An Event has 1024 bytes in all. */
const maxLines = 5;
const maxLineLength = 120;
/** Shorter values occur in normal text. */
const minSecretLength = 6;

type Secrets = ClusterContext['secrets'];

/** Reason and message of the pod, then exit code, reason and last lines of each container that ended. */
export function failureText({ status = {} }: Pick<ObservedPod, 'status'>, secrets: Secrets): string {
  const { reason, message, containerStatuses = [] } = status;
  const ends = containerStatuses.flatMap(({ name, state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    if (!ended) return [];
    const why = ended.reason === undefined ? '' : ` (${ended.reason})`;
    const lines = lastLines(redacted(ended.message ?? '', secrets));
    return [`Container ${name} ended with exit code ${ended.exitCode ?? 'unknown'}${why}${lines === '' ? '' : `: ${lines}`}`];
  });
  const ofPod = [reason, message && redacted(message, secrets)].filter((text) => text).join(': ');
  return [...(ofPod === '' ? [] : [ofPod]), ...ends].map((text) => text.replace(/[^.]$/, '$&.')).join(' ') || 'Kubernetes gave no reason.';
}

/** The end of a text in one line; it may be output of the container. */
export function lastLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(-maxLines)
    .map((line) => line.trim().slice(0, maxLineLength))
    .join(' | ');
}

/** A node prints no secret, but another image may: values of the Secrets of the cluster never reach an Event or a status. */
export function redacted(text: string, secrets: Secrets): string {
  const values = [...secrets.values()].flatMap((data) => Object.values(data).flatMap((value) => [value, ...value.split('\n')]));
  const hidden = values.filter((value) => value.length >= minSecretLength).sort((one, other) => other.length - one.length);
  return hidden.reduce((shown, value) => shown.replaceAll(value, '[redacted]'), text);
}
