// Devices dialog: changes camera, microphone and speaker while in a room.

import { Dialog } from '../components/dialog.tsx';
import { DeviceChoice } from '../lobby/device-choice.tsx';
import type { LocalMedia } from './local-media.ts';
import '../lobby/lobby.css';

export function DevicesDialog({ media, onClose }: { media: LocalMedia; onClose: () => void }) {
  return (
    <Dialog title="Devices" onClose={onClose}>
      <DeviceChoice media={media} />
      <div className="dialog-actions">
        <button type="button" className="button primary" data-testid="devices-close" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
