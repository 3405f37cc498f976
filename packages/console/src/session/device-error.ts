// Device errors: maps an error of getUserMedia to a message and advice.
export type DeviceKind = 'camera' | 'microphone';

/** `help`: advice for the user; undefined if there is none. */
export type DeviceError = { reason: 'refused' | 'missing' | 'busy' | 'insecure' | 'failed'; message: string; help: string | undefined };

export const insecureProblem: DeviceError = {
  reason: 'insecure',
  message: 'Camera and microphone need HTTPS (or localhost).',
  help: 'You can still join to watch, listen and chat.',
};

/** @param refusedBySystem the page has the permission of the browser, so the operating system denied access */
export function deviceErrorMessage(kind: DeviceKind, error: unknown, refusedBySystem = false): DeviceError {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError' && refusedBySystem) {
    return {
      reason: 'refused',
      message: `Your operating system blocks the browser from using the ${kind}.`,
      help: 'Allow it in the privacy settings of the system, then choose “Try again”.',
    };
  }
  if (name === 'NotAllowedError') {
    return {
      reason: 'refused',
      message: `Permission denied for the ${kind}.`,
      help: `Click the icon left of the address, allow the ${kind} for this page, then choose “Try again”, or continue without it.`,
    };
  }
  if (name === 'NotFoundError' || name === 'OverconstrainedError') {
    return {
      reason: 'missing',
      message: `No ${kind} found.`,
      help: 'Connect one and it will be used automatically, or continue without it.',
    };
  }
  if (name === 'NotReadableError' || name === 'AbortError') {
    return {
      reason: 'busy',
      message: `The ${kind} is in use by another application or not responding.`,
      help: 'Close other applications that use it, then choose “Try again”.',
    };
  }
  return { reason: 'failed', message: `Could not open the ${kind}.`, help: 'Choose another device or try again.' };
}
