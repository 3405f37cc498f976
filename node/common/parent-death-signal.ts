// Child processes that end with this one, however it ends.
import { existsSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/**
 * Put before the command of a child: the kernel kills that when the thread that started it is gone (prctl(2), PR_SET_PDEATHSIG). The
 * process id stays that of the command. Empty where util-linux is not there.
 */
export const parentDeathSignalCommand: readonly string[] = existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
