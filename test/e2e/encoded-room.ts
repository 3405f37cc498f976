// Encoded room: an encoder and a player of other projects in a Room, through the Ingress at a pod that does not own it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { goWhep, goWhip } from '../../tools/test-runner/go-programs.mjs';
import { type KubeJson, readSecret } from '../kit/kube/read-objects.ts';
import { makeTracks } from '../kit/media/media-files.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { assertPlayed, type Program, startProgram, untilSize } from '../media/whip-kit.ts';
import { openDoor } from './ingress-client.ts';
import type { Installed } from './installed.ts';

export const equipment = { peers: [{ name: 'camera' }, { name: 'screen' }] };

const tone = 660;
/** Longer than the test. */
const fileSeconds = 400;
/** Some seconds of video. */
const enough = 40_000;

export class EncodedRoom {
  readonly #folder: string;
  readonly #encoder: Program;
  readonly #player: Program;

  private constructor(folder: string, encoder: Program, player: Program) {
    this.#folder = folder;
    this.#encoder = encoder;
    this.#player = player;
  }

  /**
   * Publishes to and plays a Room with `equipment`; returns when some seconds were played.
   * @param through path of a pod, for example `/n/0`
   */
  static async start(t: TestContext, installed: Installed, room: string, through: string): Promise<EncodedRoom> {
    const [folder, door] = await Promise.all([makeResources(t), openDoor(t, installed)]);
    const [video, audio] = [join(folder, 'video.ivf'), join(folder, 'audio.ogg')];
    await makeTracks(video, audio, tone, { seconds: fileSeconds });
    const secret = await readSecret(installed.cluster.server, `${room}-peers`, installed.namespace);
    const start = (program: string, path: string, files: readonly string[], tokens: Record<string, string | undefined>) => {
      const args = ['-url', `${door}${through}/${path}/${room}`, '-video', files[0] ?? '', '-audio', files[1] ?? ''];
      return startProgram(t, program, args, 'SIGINT', { ...process.env, ...tokens });
    };
    const encoder = start(goWhip, 'whip', [video, audio], { WHIP_TOKEN: secret?.['camera.token'] });
    const played = [join(folder, 'played.ivf'), join(folder, 'played.ogg')];
    const player = start(goWhep, 'whep', played, { WHEP_TOKEN: secret?.['screen.token'] });
    const started = new EncodedRoom(folder, encoder, player);
    await started.#played(1);
    return started;
  }

  /** Media of all sessions so far are exchanged with the published UDP ports of these pods, in this order. */
  assertAddresses(pods: readonly KubeJson[]): void {
    for (const program of [this.#encoder, this.#player]) {
      const used = [...program.output().matchAll(/^connected to (\S+):(\d+)$/gm)];
      assert.equal(used.length, pods.length, program.output());
      for (const [index, [, address, port]] of used.entries()) {
        const { spec, status } = pods[index];
        const ports = spec.containers[0].ports.map(({ containerPort }: KubeJson) => containerPort);
        assert.equal(address, status.hostIP);
        assert.ok(ports.includes(Number(port)), `${port} is one of ${ports}`);
      }
    }
  }

  /** Waits until both programs have connected again, without any action. */
  async cameBack(): Promise<void> {
    await this.#played(2);
  }

  /** Ends both programs and checks what was played before and after the reconnect. */
  async end(): Promise<void> {
    await Promise.all([this.#encoder.stop(), this.#player.stop()]);
    for (const name of ['played', 'played-2'])
      await assertPlayed({ video: join(this.#folder, `${name}.ivf`), audio: join(this.#folder, `${name}.ogg`) }, tone);
  }

  async #played(session: 1 | 2): Promise<void> {
    const name = session === 1 ? 'played.ivf' : 'played-2.ivf';
    await untilSize(join(this.#folder, name), enough, [this.#encoder, this.#player]);
  }
}
