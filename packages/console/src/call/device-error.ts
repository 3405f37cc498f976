// Why a camera or a microphone cannot be had, and what to do about it: a decision on what the browser says.
export type DeviceKind = 'camera' | 'microphone';

/** `help`: what whoever sits there can do; undefined where nothing helps. */
export type DeviceError = { reason: 'refused' | 'missing' | 'busy' | 'insecure' | 'failed'; message: string; help: string | undefined };

export const insecureProblem: DeviceError = {
  reason: 'insecure',
  message: 'Browsers give camera and microphone to pages on https or localhost only.',
  help: 'You can still join, to watch, listen and write.',
};

/** @param refusedBySystem the page has the browser's permission, so that the refusal came from the operating system */
export function deviceErrorMessage(kind: DeviceKind, error: unknown, refusedBySystem = false): DeviceError {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError' && refusedBySystem) {
    return {
      reason: 'refused',
      message: `The system does not let the browser use the ${kind}.`,
      help: `Allow it in the privacy settings of the system, then choose “Try again”.`,
    };
  }
  if (name === 'NotAllowedError') {
    return {
      reason: 'refused',
      message: `The browser does not allow the ${kind}.`,
      help: `Click the icon left of the address, allow the ${kind} for this page, then choose “Try again”. You can also go on without it.`,
    };
  }
  if (name === 'NotFoundError' || name === 'OverconstrainedError') {
    return {
      reason: 'missing',
      message: `No ${kind} was found.`,
      help: 'Plug one in: it is taken at once. You can also go on without it.',
    };
  }
  if (name === 'NotReadableError' || name === 'AbortError') {
    return {
      reason: 'busy',
      message: `The ${kind} is in use by another program, or it does not answer.`,
      help: 'Close other programs that use it, then choose “Try again”.',
    };
  }
  return { reason: 'failed', message: `The ${kind} could not be opened.`, help: 'Choose another one, or try again.' };
}
