// Device toggles: turn microphone and camera on and off, in the lobby and in the room.

import { CameraIcon, CameraOffIcon, MicIcon, MicOffIcon } from '../components/icons.tsx';
import { Toggle } from '../components/toggle.tsx';
import { useStore } from '../hooks/store.ts';
import type { LocalMedia } from './local-media.ts';

export function DeviceToggles({ media }: { media: LocalMedia }) {
  const { microphoneOn, camera } = useStore(media);
  return (
    <>
      <Toggle
        on={microphoneOn}
        label="Microphone"
        testId="toggle-mic"
        onIcon={<MicIcon />}
        offIcon={<MicOffIcon />}
        onToggle={() => media.toggleMicrophone()}
      />
      <Toggle
        on={camera !== undefined}
        label="Camera"
        testId="toggle-camera"
        onIcon={<CameraIcon />}
        offIcon={<CameraOffIcon />}
        onToggle={() => media.toggleCamera()}
      />
    </>
  );
}
