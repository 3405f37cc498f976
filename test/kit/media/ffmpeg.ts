// ffmpeg of a test: prints only errors.
import { type CommandResult, runCommand } from '../processes/command.ts';

/** @param args inputs and outputs. @throws Error with the output if it fails or takes longer than `timeoutMs`, 60 s */
export function ffmpeg(args: readonly string[], timeoutMs?: number): Promise<CommandResult> {
  return runCommand(['ffmpeg', '-v', 'error', '-nostdin', ...args], timeoutMs === undefined ? {} : { timeoutMs });
}
