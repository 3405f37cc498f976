// Icons: drawn on a grid of 24, in the color of the text.
import type { ReactNode } from 'react';
import logo from '../assets/logo.svg';

export function icon(...shapes: ReactNode[]) {
  return () => (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {shapes}
    </svg>
  );
}

const slash = <path key="slash" d="M4 4l16 16" />;
const camera = [<rect key="body" x="3" y="6.5" width="12" height="11" rx="2.5" />, <path key="lens" d="M15 11l5-3v8l-5-3" />];
const microphone = [
  <rect key="body" x="9" y="3.5" width="6" height="11" rx="3" />,
  <path key="stand" d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v2.5" />,
];

export const CameraIcon = icon(...camera);
export const CameraOffIcon = icon(...camera, slash);
export const MicIcon = icon(...microphone);
export const MicOffIcon = icon(...microphone, slash);
export const ScreenIcon = icon(
  <rect key="frame" x="3" y="4.5" width="18" height="12" rx="2.5" />,
  <path key="up" d="M12 13.5v-5m-2.5 2.3L12 8.3l2.5 2.5M8.5 20h7" />,
);
export const LeaveIcon = icon(<path key="door" d="M14 4.5H7.5a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2H14M10.5 12H20m-3-3.2L20.2 12 17 15.2" />);
export const LinkIcon = icon(
  <path key="a" d="M10 14.5a4 4 0 0 0 5.7 0l3-3a4 4 0 1 0-5.7-5.7l-1 1" />,
  <path key="b" d="M14 9.5a4 4 0 0 0-5.7 0l-3 3a4 4 0 1 0 5.7 5.7l1-1" />,
);
export const TrashIcon = icon(<path key="bin" d="M4.5 6.5h15M9.5 6.5v-2h5v2M6.5 6.5l.8 13h9.4l.8-13M10.2 10.5v5.5M13.8 10.5v5.5" />);
export const PlusIcon = icon(<path key="plus" d="M12 5v14M5 12h14" />);
export const PeopleIcon = icon(
  <circle key="head" cx="9" cy="8.5" r="3.2" />,
  <path key="rest" d="M3 19a6 6 0 0 1 12 0M15.5 5.6a3.2 3.2 0 0 1 0 5.8M17.5 14a6 6 0 0 1 3.5 5" />,
);
export const ComponentIcon = icon(
  <rect key="frame" x="3.5" y="4.5" width="17" height="15" rx="2.5" />,
  <path key="play" d="M10 8.8v6.4l5-3.2z" />,
);
export const BackIcon = icon(<path key="arrow" d="M20 12H5m5.5-5.5L5 12l5.5 5.5" />);

export function Brand() {
  return (
    <span className="brand">
      <img className="brand-mark" src={logo} alt="" width="28" height="28" />
      <span className="brand-name">Mediarooms</span>
    </span>
  );
}
export const SystemThemeIcon = icon(
  <rect key="frame" x="3.5" y="4.5" width="17" height="12" rx="2.2" />,
  <path key="foot" d="M9 20h6M12 16.5V20" />,
);
export const LightThemeIcon = icon(
  <circle key="sun" cx="12" cy="12" r="3.8" />,
  <path key="rays" d="M12 3.2v2M12 18.8v2M3.2 12h2M18.8 12h2M5.8 5.8l1.4 1.4M16.8 16.8l1.4 1.4M18.2 5.8l-1.4 1.4M7.2 16.8l-1.4 1.4" />,
);
export const DarkThemeIcon = icon(<path key="moon" d="M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7z" />);
export const CopyIcon = icon(
  <rect key="front" x="8.5" y="8.5" width="11" height="11" rx="2" />,
  <path key="back" d="M15.5 5.5v-.2a1.8 1.8 0 0 0-1.8-1.8H6.3a1.8 1.8 0 0 0-1.8 1.8v7.4a1.8 1.8 0 0 0 1.8 1.8h.2" />,
);
export const SearchIcon = icon(<circle key="glass" cx="10.8" cy="10.8" r="6.3" />, <path key="grip" d="M15.6 15.6l4.4 4.4" />);
export const BookIcon = icon(
  <path key="cover" d="M5 5.5A2 2 0 0 1 7 3.5h12v14H7a2 2 0 0 0-2 2zM5 19.5a2 2 0 0 0 2 2h12v-4" />,
  <path key="line" d="M9 8h6" />,
);
export const CloseIcon = icon(<path key="cross" d="M6 6l12 12M18 6L6 18" />);
