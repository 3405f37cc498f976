// Parent death signal: child processes end with this process, even if it is killed.
import { existsSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/**
 * Command prefix: the kernel kills the child when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG). The process id stays that
 * of the command. Empty if util-linux is not installed.
 */
export const parentDeathSignalCommand: readonly string[] = existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
